from dataclasses import dataclass

from megatron.bridge.models.model_provider import ModelProviderMixin


@dataclass
class Qwen2ModelProvider(ModelProviderMixin):
    """Qwen2: RMSNorm, gated linear unit, QKV bias."""

    normalization: str = "RMSNorm"
    gated_linear_unit: bool = True
    add_qkv_bias: bool = True
    rotary_base: float = 1000000.0
