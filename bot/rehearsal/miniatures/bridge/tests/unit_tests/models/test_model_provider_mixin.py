import pytest

from megatron.bridge.models.qwen.qwen_provider import Qwen2ModelProvider


def provider(**sizes):
    return Qwen2ModelProvider(num_layers=2, hidden_size=4, vocab_size=16, **sizes)


def test_provide_builds_every_layer():
    model = provider().provide()
    assert {name.split(".")[2] for name in model.parameters if name.startswith("decoder.layers")} == {"0", "1"}


def test_finalize_refuses_an_uneven_pipeline():
    with pytest.raises(ValueError, match="divisible"):
        provider(pipeline_model_parallel_size=3).finalize()


def test_qwen_defaults():
    assert provider().normalization == "RMSNorm"
    assert provider().rotary_base == 1000000.0
