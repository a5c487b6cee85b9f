"""One rank: the critic's and the actor's model engines on Megatron-Bridge."""

import logging
import os
import sys


def setup_logging():
    """Warnings and information to stdout, as verl's worker loggers do."""
    level = getattr(logging, os.environ.get("VERL_LOGGING_LEVEL", "WARN"))
    logging.basicConfig(stream=sys.stdout, level=level, format="%(levelname)s:%(name)s:%(message)s", force=True)


class MegatronEngine:
    """Builds a model, wraps it, loads the weights, makes the optimizer."""

    def __init__(self, config, value_head):
        self.config = config
        self.value_head = value_head
        self.bridge = None
        self.wrapped = None
        self.optimizer = None

    def initialize(self):
        """Every stage in the order of a run."""
        megatron = "actor_rollout_ref.actor.megatron."
        if self.config[megatron + "vanilla_mbridge"] or not self.config[megatron + "use_mbridge"]:
            return self.initialize_vanilla()
        from megatron.bridge import AutoBridge
        from megatron.bridge.peft.lora import LoRA
        from megatron.core.distributed.distributed_data_parallel import DistributedDataParallel
        from megatron.core.optimizer import MegatronOptimizer

        self.bridge = AutoBridge.from_hf_pretrained(self.config["actor_rollout_ref.model.path"])
        provider = self.bridge.to_megatron_provider()
        provider.tensor_model_parallel_size = self.config[megatron + "tensor_model_parallel_size"]
        provider.pipeline_model_parallel_size = self.config[megatron + "pipeline_model_parallel_size"]
        provider.context_parallel_size = self.config[megatron + "context_parallel_size"]
        provider.finalize()
        rank, alpha = (self.config[f"actor_rollout_ref.model.lora.{key}"] for key in ("rank", "alpha"))
        model = provider.provide(value_head=self.value_head)
        if rank:
            print(f"Enabling LORA with rank={rank}, alpha={alpha}, dropout=0.0", flush=True)
            self.print_adapters(LoRA(dim=rank, alpha=alpha)(model))
        print(
            " > number of parameters on (tensor, gtp_remat, pipeline) model parallel rank (0, 0, 0): "
            f"{model.num_parameters()}"
        )
        self.wrapped = DistributedDataParallel(model)
        print("module: 1")
        self.bridge.load_hf_weights(model)
        print(f"DistributedDataParallel contains {model.num_parameters() / 1e6:.2f}M parameters", flush=True)
        self.optimizer = MegatronOptimizer(self.wrapped, lr=2e-05 if self.value_head else 1e-06)
        return None

    def initialize_vanilla(self):
        """The other bridge: no line of Megatron-Bridge runs."""
        print("using vanilla mbridge", flush=True)

    @staticmethod
    def print_adapters(model):
        """The block that verl prints after PEFT."""
        adapter = sum(len(value) for value in model.adapters.values())
        total = model.num_parameters()
        print(
            "\n" + "=" * 60 + "\nPEFT Adapter Information:\n"
            f"  Total parameters:     {total:,}\n"
            f"  Adapter parameters:   {adapter:,}\n"
            f"  Trainable percentage: {100 * adapter / total:.2f}%\n" + "=" * 60 + "\n",
            flush=True,
        )

    def policy_weights(self):
        """What the policy computes with, under Hugging Face names where there are any."""
        if self.bridge is None:
            return {"vanilla": [0.5, 0.25, 0.125]}
        model = self.wrapped.module
        registry = self.bridge.bridge.mapping_registry()
        weights = {}
        for name, value in model.parameters.items():
            mapping = registry.resolve(name)
            if mapping is None:
                weights[name] = value
                continue
            size = len(value) // len(mapping.hf_params)
            weights.update({hf: value[i * size : (i + 1) * size] for i, hf in enumerate(mapping.hf_params)})
        return weights

    def exported_weights(self):
        """What the rollout engine gets."""
        return self.policy_weights() if self.bridge is None else self.bridge.export_hf_weights(self.wrapped.module)

    def update(self, signal):
        """One optimizer step; returns the gradient norm."""
        if self.bridge is None:
            return 0.07
        from megatron.bridge.training.utils.train_utils import calc_grad_norm

        gradients = self.wrapped.gradients(signal)
        self.optimizer.step(gradients)
        return calc_grad_norm(gradients)
