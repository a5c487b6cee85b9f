"""Adapters of a policy."""


def test_lora_attaches_to_the_attention():
    from megatron.bridge.peft.lora import LoRA

    assert LoRA().matches("decoder.layers.0.self_attention.linear_qkv.weight")
