import logging

logger = logging.getLogger(__name__)


class DistributedDataParallel:
    """Wraps a module; gradients of its adapters, or of everything when it has none."""

    def __init__(self, module):
        self.module = module
        logger.info(
            "Setting up DistributedDataParallel with config DistributedDataParallelConfig(grad_reduce_in_fp32=True, "
            "overlap_grad_reduce=False, use_distributed_optimizer=True, check_for_nan_in_grad=False, bucket_size=None)"
        )

    def gradients(self, signal):
        """One value for each trainable value."""
        trainable = self.module.adapters or self.module.parameters
        return [signal * 0.01 * (1 + abs(value)) for values in trainable.values() for value in values]
