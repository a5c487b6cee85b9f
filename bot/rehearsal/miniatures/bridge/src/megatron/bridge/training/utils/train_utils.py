import math


def calc_grad_norm(gradients):
    """L2 norm over all gradients."""
    return math.sqrt(sum(value * value for value in gradients))
