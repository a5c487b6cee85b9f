import json
from pathlib import Path

from megatron.bridge.models.qwen.qwen2_bridge import Qwen2Bridge

BRIDGES = {"Qwen2ForCausalLM": Qwen2Bridge}


class AutoBridge:
    """Picks the bridge of a checkpoint by its architecture."""

    def __init__(self, path, hf_config, bridge):
        self.path = path
        self.hf_config = hf_config
        self.bridge = bridge

    @classmethod
    def from_hf_pretrained(cls, path):
        """Read config.json."""
        hf_config = json.loads((Path(path) / "config.json").read_text())
        architecture = hf_config["architectures"][0]
        if architecture not in BRIDGES:
            raise ValueError(f"Model architecture '{architecture}' is not yet supported")
        return cls(str(path), hf_config, BRIDGES[architecture]())

    def to_megatron_provider(self):
        """The provider with the checkpoint's own sizes."""
        return self.bridge.provider_bridge(self.hf_config)

    def load_hf_weights(self, model, hf_path=None):
        """Copy the checkpoint's weights into `model`."""
        path = str(hf_path or self.path)
        hf_state = json.loads((Path(path) / "weights.json").read_text())
        self.bridge.load_weights_hf_to_megatron(path, hf_state, model)

    def save_hf_weights(self, model, path):
        """The whole model in Hugging Face format below `path`."""
        Path(path).mkdir(parents=True, exist_ok=True)
        (Path(path) / "weights.json").write_text(json.dumps(self.export_hf_weights(model)))

    def save_hf_adapter(self, model, path):
        """The adapters alone below `path`."""
        Path(path).mkdir(parents=True, exist_ok=True)
        (Path(path) / "adapter_model.json").write_text(json.dumps(model.adapters))
        print(f"Streaming adapter weights {'━' * 21} 100% 0:00:00 ({len(model.adapters)}/{len(model.adapters)})")

    def export_hf_weights(self, model):
        """The weights under their Hugging Face names."""
        return self.bridge.export_weights(model)
