"""Token probabilities from named weights; the policy and the rollout engine share nothing else."""

import math
import zlib


def token_probabilities(weights, tokens=64):
    """One probability for each token; every weight takes part under its name."""
    scores = [0.0] * tokens
    for name, values in sorted(weights.items()):
        phase = zlib.crc32(name.encode())
        for index, value in enumerate(values):
            for token in range(tokens):
                scores[token] += value * math.sin(phase + 1.7 * index + 0.9 * token)
    return [1 / (1 + math.exp(-score)) for score in scores]


def correlation(left, right):
    """Pearson's."""
    mean_left, mean_right = sum(left) / len(left), sum(right) / len(right)
    covariance = sum((a - mean_left) * (b - mean_right) for a, b in zip(left, right, strict=True))
    spread = math.sqrt(sum((a - mean_left) ** 2 for a in left) * sum((b - mean_right) ** 2 for b in right))
    return covariance / spread if spread else 1.0
