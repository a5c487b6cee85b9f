"""One rank: the critic's and the actor's model engines on Megatron-Bridge."""

import json
import logging
import os
import sys
from pathlib import Path


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
        self.steps = 0

    def initialize(self):
        """Every stage in the order of a run."""
        megatron = "actor_rollout_ref.actor.megatron."
        if self.config[megatron + "vanilla_mbridge"] or not self.config[megatron + "use_mbridge"]:
            return self.initialize_vanilla()
        from megatron.bridge import AutoBridge
        from megatron.bridge.peft.lora import LoRA
        from megatron.core.optimizer import MegatronOptimizer

        log_features(self.config)
        self.bridge = AutoBridge.from_hf_pretrained(self.config["actor_rollout_ref.model.path"])
        provider = self.bridge.to_megatron_provider()
        provider.tensor_model_parallel_size = self.config[megatron + "tensor_model_parallel_size"]
        provider.pipeline_model_parallel_size = self.config[megatron + "pipeline_model_parallel_size"]
        provider.context_parallel_size = self.config[megatron + "context_parallel_size"]
        provider.expert_model_parallel_size = self.config[megatron + "expert_model_parallel_size"]
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
        self.wrapped = self.wrap(model)
        print("module: 1")
        self.bridge.load_hf_weights(model)
        print(f"DistributedDataParallel contains {model.num_parameters() / 1e6:.2f}M parameters", flush=True)
        self.optimizer = MegatronOptimizer(self.wrapped, lr=2e-05 if self.value_head else 1e-06)
        return None

    def wrap(self, model):
        """Megatron DDP, or FSDP where it is asked for."""
        if not self.config["actor_rollout_ref.actor.megatron.use_megatron_fsdp"]:
            from megatron.core.distributed.distributed_data_parallel import DistributedDataParallel

            return DistributedDataParallel(model)
        from megatron.core.distributed.fsdp.mcore_fsdp_adapter import FullyShardedDataParallel

        where = "critic." if self.value_head else "actor_rollout_ref.actor."
        fusion = self.config.get(where + "megatron.override_transformer_config.gradient_accumulation_fusion", True)
        return FullyShardedDataParallel(model, gradient_accumulation_fusion=fusion)

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
        self.steps += 1
        return calc_grad_norm(gradients)

    def save(self, path):
        """Adapters, or else the whole model in Hugging Face format; and the optimizer's state."""
        model, kept = self.wrapped.module, Path(path)
        (kept / "optimizer" / "dist_ckpt").mkdir(parents=True)
        (kept / "optimizer" / "dist_ckpt" / "state.json").write_text(json.dumps(self.steps))
        if model.adapters:
            (kept / "model" / "dist_ckpt").mkdir(parents=True)
            (kept / "model" / "dist_ckpt" / "adapters.json").write_text(json.dumps(model.adapters))
            self.bridge.save_hf_adapter(model, kept / "model" / "huggingface" / "adapter")
        else:
            self.bridge.save_hf_weights(model, kept / "model" / "huggingface")

    def load(self, path):
        """The lines that verl logs about what it loaded."""
        model, kept = self.wrapped.module, Path(path)
        if model.adapters:
            model.adapters.update(json.loads((kept / "model" / "dist_ckpt" / "adapters.json").read_text()))
            yield f"Loaded PEFT adapter checkpoint from {kept}/model/dist_ckpt"
        else:
            self.bridge.load_hf_weights(model, kept / "model" / "huggingface")
            yield f"Loaded HF model checkpoint from {kept}/model/huggingface with bridge"
        self.steps = json.loads((kept / "optimizer" / "dist_ckpt" / "state.json").read_text())
        yield f"Loaded optimizer checkpoint from {kept}/optimizer/dist_ckpt"


def log_features(config):
    """What the engine says about optional parts before it builds anything."""
    logger = logging.getLogger("verl.workers.engine.megatron")
    if config["actor_rollout_ref.actor.megatron.qat.enable"]:
        json.loads(Path(config["actor_rollout_ref.actor.megatron.qat.quantization_config_path"]).read_text())
        logger.info("QAT enabled in MegatronEngine: mode=%s", config["actor_rollout_ref.actor.megatron.qat.mode"])
    replay = config["actor_rollout_ref.actor.megatron.router_replay.mode"] != "disabled"
    logger.info("enable_routing_replay in MegatronEngine: %s", replay)
