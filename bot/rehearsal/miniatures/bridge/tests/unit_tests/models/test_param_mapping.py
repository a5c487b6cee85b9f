from megatron.bridge.models.conversion.param_mapping import AutoMapping
from megatron.bridge.models.qwen.qwen2_bridge import Qwen2Bridge

MAPPING = AutoMapping("decoder.layers.*.qkv.weight", ("layers.*.q", "layers.*.k"))


def test_wildcard_is_resolved():
    assert MAPPING.match("decoder.layers.7.qkv.weight").hf_params == ("layers.7.q", "layers.7.k")


def test_round_trip():
    value = MAPPING.hf_to_megatron([[1.0, 2.0], [3.0, 4.0]])
    assert MAPPING.megatron_to_hf(value) == {"layers.*.q": [1.0, 2.0], "layers.*.k": [3.0, 4.0]}


def test_other_names_do_not_match():
    assert MAPPING.match("decoder.layers.x.qkv.weight") is None


def test_qwen2_knows_the_output_layer():
    assert Qwen2Bridge().mapping_registry().resolve("output_layer.weight").hf_params == ("lm_head.weight",)
