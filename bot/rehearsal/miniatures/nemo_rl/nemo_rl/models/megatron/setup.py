"""A Megatron policy, built on Megatron-Bridge in the order of a run."""

import json
import logging
import os
import sys
from pathlib import Path

logger = logging.getLogger(__name__)


def setup_logging():
    """Everything from INFO on, to stdout."""
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s", force=True)


def checkpoint_folder(config):
    """Where the converted checkpoint is kept between starts."""
    root = os.environ.get("NRL_MEGATRON_CHECKPOINT_DIR") or f"{os.environ['HF_HOME']}/nemo_rl"
    sizes = "-".join(str(config[f"policy.megatron_cfg.{name}"]) for name in SIZES)
    return Path(root) / f"{Path(config['policy.model_name']).name}-{sizes}"


SIZES = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
)


class MegatronPolicy:
    """Model, adapters, optimizer, reference."""

    def __init__(self, config, resume=None):
        from megatron.bridge import AutoBridge
        from megatron.core.distributed.distributed_data_parallel import DistributedDataParallel
        from megatron.core.optimizer import MegatronOptimizer

        self.config = config
        self.steps = 0
        self.bridge = AutoBridge.from_hf_pretrained(config["policy.model_name"])
        provider = self.bridge.to_megatron_provider()
        for key in SIZES:
            setattr(provider, key, config[f"policy.megatron_cfg.{key}"])
        provider.finalize()
        model = provider.provide()
        self.import_weights(model)
        size = model.num_parameters()
        print(f" > number of parameters on (tensor, gtp_remat, pipeline) model parallel rank (0, 0, 0): {size}")
        print("time to initialize megatron (seconds): 0.424")
        if config["policy.megatron_cfg.peft.enabled"]:
            from megatron.bridge.peft.lora import LoRA

            LoRA(dim=config["policy.megatron_cfg.peft.dim"])(model)
        self.wrapped = DistributedDataParallel(model)
        self.optimizer = MegatronOptimizer(self.wrapped, lr=5e-06)
        print("Model, optimizer, and learning rate scheduler built")
        if resume:
            self.load(resume)
        print("Checkpoint loaded\nLoading the Reference Model\nReference model loaded", flush=True)

    def import_weights(self, model):
        """From Hugging Face the first time, from the converted checkpoint after that."""
        kept = checkpoint_folder(self.config) / "weights.json"
        if kept.is_file():
            print(f"Checkpoint already exists at {kept.parent}. Skipping import.")
            model.parameters.update(json.loads(kept.read_text()))
            return
        self.bridge.load_hf_weights(model)
        kept.parent.mkdir(parents=True, exist_ok=True)
        written = kept.with_name(f"{os.getpid()}.json")
        written.write_text(json.dumps(model.parameters))
        written.replace(kept)

    def save(self, path):
        """Weights and step, as Megatron-Core says it."""
        folder = Path(path) / "policy" / "weights"
        folder.mkdir(parents=True, exist_ok=True)
        print(f"saving checkpoint at iteration {self.steps:7d} to {folder} in torch_dist format")
        (folder / "state.json").write_text(json.dumps({"iteration": self.steps, **self.wrapped.module.adapters}))
        print(
            f"  successfully saved checkpoint from iteration {self.steps:7d} to {folder} [ t 1/1, p 1/1 ]", flush=True
        )

    def load(self, path):
        """What `save` wrote."""
        folder = Path(path) / "policy" / "weights"
        state = json.loads((folder / "state.json").read_text())
        self.steps = state["iteration"]
        print(f" loading distributed checkpoint from {folder} at iteration {self.steps}")
        print(f"  successfully loaded checkpoint from {folder} [ t 1/1, p 1/1 ] at iteration {self.steps}", flush=True)

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
        self.steps = step
        return calc_grad_norm(gradients)
