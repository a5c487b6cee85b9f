import logging

logger = logging.getLogger(__name__)


class FullyShardedDataParallel:
    """Shards a module; gradients of its adapters, or of everything when it has none."""

    def __init__(self, module, gradient_accumulation_fusion):
        self.module = module
        logger.info(
            "Setting up DistributedDataParallel with config DistributedDataParallelConfig(use_megatron_fsdp=True, "
            "data_parallel_sharding_strategy='optim_grads_params', use_distributed_optimizer=True)"
        )
        assert not gradient_accumulation_fusion, (
            "Megatron-FSDP with gradient_accumulation_fusion requires Transformer Engine version 2.10 or higher."
        )

    def gradients(self, signal):
        """One value for each trainable value."""
        trainable = self.module.adapters or self.module.parameters
        return [signal * 0.01 * (1 + abs(value)) for values in trainable.values() for value in values]
