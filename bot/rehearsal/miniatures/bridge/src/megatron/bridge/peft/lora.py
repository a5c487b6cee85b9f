import logging
from dataclasses import dataclass, field

logger = logging.getLogger(__name__)


@dataclass
class LoRA:
    """Low-rank adapters."""

    dim: int = 32
    alpha: int = 32
    dropout: float = 0.0
    target_modules: list[str] = field(default_factory=lambda: ["linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"])

    def matches(self, name):
        """Whether the module that owns the weight `name` is a target."""
        module, _, kind = name.rpartition(".")
        return kind == "weight" and module.rpartition(".")[2] in self.target_modules

    def __call__(self, model):
        """Freeze the base and attach adapters."""
        for name in list(model.parameters):
            if self.matches(name):
                logger.info("Adding lora to: %s", name.removesuffix(".weight"))
                model.adapters[name.replace(".weight", ".adapter.linear_in.weight")] = [0.01] * self.dim
                model.adapters[name.replace(".weight", ".adapter.linear_out.weight")] = [0.0] * self.dim
        return model
