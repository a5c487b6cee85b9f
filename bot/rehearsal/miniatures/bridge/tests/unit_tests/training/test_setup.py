from megatron.bridge.peft.lora import LoRA
from megatron.bridge.models.qwen.qwen_provider import Qwen2ModelProvider
from megatron.bridge.training.utils.train_utils import calc_grad_norm


def test_lora_attaches_to_the_linear_layers():
    model = LoRA(dim=4)(Qwen2ModelProvider(num_layers=1, hidden_size=4, vocab_size=16).provide())
    assert len(model.adapters) == 8


def test_grad_norm():
    assert calc_grad_norm([3.0, 4.0]) == 5.0
