"""The sizes that a policy takes from its configuration."""

from nemo_rl.models.megatron.setup import SIZES


def test_every_size_is_a_provider_field():
    from megatron.bridge.models.qwen.qwen_provider import Qwen2ModelProvider

    assert all(hasattr(Qwen2ModelProvider(), name) for name in SIZES)


def test_qkv_has_a_bias():
    from megatron.bridge.models.qwen.qwen_provider import Qwen2ModelProvider

    assert Qwen2ModelProvider().add_qkv_bias
