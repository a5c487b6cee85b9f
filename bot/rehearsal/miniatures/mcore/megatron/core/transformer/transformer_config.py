from dataclasses import dataclass


@dataclass
class TransformerConfig:
    """Sizes of a transformer and of its parallel layout."""

    num_layers: int = 1
    hidden_size: int = 4
    tensor_model_parallel_size: int = 1
    pipeline_model_parallel_size: int = 1
    context_parallel_size: int = 1
    expert_model_parallel_size: int = 1
    num_moe_experts: int | None = None

    def validate(self):
        """Refuse sizes that do not fit together."""
        if self.hidden_size % self.tensor_model_parallel_size:
            raise ValueError("hidden_size must be divisible by tensor_model_parallel_size")
        if self.expert_model_parallel_size > 1 and self.num_moe_experts is None:
            raise ValueError("num_moe_experts must be non None to use expert-parallel.")
