"""A tiny checkpoint and reward model for the miniature suites. Real weights never belong here."""

import json
import random
from pathlib import Path
from typing import Final

LAYERS: Final = 2
HIDDEN: Final = 8
VOCABULARY: Final = 64
PER_LAYER: Final = (
    "self_attn.q_proj",
    "self_attn.k_proj",
    "self_attn.v_proj",
    "self_attn.o_proj",
    "mlp.gate_proj",
    "mlp.up_proj",
    "mlp.down_proj",
    "input_layernorm",
    "post_attention_layernorm",
)


def make(store: Path, name: str, *, experts: int | None = None) -> Path:
    """The checkpoint `name` in the model store `store`: a configuration and named weights, the same every time.

    Args:
        store: the store's folder.
        name: organization and model.
        experts: how many a mixture-of-experts model has; null for a dense one.

    """
    folder = store / name
    folder.mkdir(parents=True)
    sizes = {"model.embed_tokens.weight": VOCABULARY, "model.norm.weight": HIDDEN}
    sizes |= {f"model.layers.{n}.{part}.weight": HIDDEN for n in range(LAYERS) for part in PER_LAYER}
    noise = random.Random(7)  # noqa: S311 - weights, not keys
    weights = {key: [noise.uniform(-0.2, 0.2) for _ in range(size)] for key, size in sizes.items()}
    config: dict[str, object] = {
        "architectures": ["Qwen2ForCausalLM"],
        "num_hidden_layers": LAYERS,
        "hidden_size": HIDDEN,
        "vocab_size": VOCABULARY,
        "tie_word_embeddings": True,
    }
    if experts is not None:
        config["num_experts"] = experts
    (folder / "weights.json").write_text(json.dumps(weights), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder
