import modelopt  # noqa: F401  quantized checkpoints are recognised through it

from megatron.bridge.models.conversion.auto_bridge import AutoBridge
from megatron.bridge.peft.lora import LoRA

__version__ = "0.6.0"
__all__ = ["AutoBridge", "LoRA"]
