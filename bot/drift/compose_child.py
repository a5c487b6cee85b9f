"""Composes one configuration with the suite's own loader. Started as a program; imports nothing of ours and no torch.

stdin: {"loader": "hydra", "folder": DIR, "name": NAME, "overrides": [...]}
    or {"loader": FILE of the suite's loader, "config": FILE, "overrides": [...]}
stdout: {"keys": {dotted key: value}, "base": [dotted keys before the overrides]} or {"error": TEXT}
"""

import json
import runpy
import sys
from typing import Any


def flat(value: object, prefix: str = "") -> dict[str, Any]:
    """Dotted keys of nested mappings, each with its value; mappings themselves too."""
    found: dict[str, Any] = {}
    if prefix:
        found[prefix] = value if not isinstance(value, (dict, list)) else None
    if isinstance(value, dict):
        for key, inner in value.items():
            found.update(flat(inner, f"{prefix}.{key}" if prefix else str(key)))
    return found


def by_hydra(asked: dict[str, Any]) -> tuple[Any, Any]:
    """The way verl's own entry points compose. Source: verl-project/verl: verl/trainer/main_ppo.py@1dda039b."""
    from hydra import compose, initialize_config_dir  # noqa: PLC0415 - only one of the two loaders is asked
    from omegaconf import OmegaConf  # noqa: PLC0415 - its absence is part of the answer

    with initialize_config_dir(config_dir=asked["folder"], version_base=None):
        base = OmegaConf.to_container(compose(config_name=asked["name"]), resolve=False)
        whole = OmegaConf.to_container(compose(config_name=asked["name"], overrides=asked["overrides"]), resolve=False)
    return base, whole


def by_file(asked: dict[str, Any]) -> tuple[Any, Any]:
    """The suite's loader, loaded from its file: the package around it would import torch.

    Source: NVIDIA-NeMo/RL: nemo_rl/utils/config.py@7ea279abfbeb698b092856d0dab61e7cf39bc909.
    """
    from omegaconf import OmegaConf  # noqa: PLC0415 - its absence is part of the answer

    loader = runpy.run_path(asked["loader"], run_name="suite_config_loader")
    base = OmegaConf.to_container(loader["load_config"](asked["config"]), resolve=False)
    whole = loader["parse_hydra_overrides"](loader["load_config"](asked["config"]), asked["overrides"])
    return base, OmegaConf.to_container(whole, resolve=False)


def main() -> None:
    """Read what is asked, print what was found."""
    asked = json.load(sys.stdin)
    try:
        base, whole = by_hydra(asked) if asked["loader"] == "hydra" else by_file(asked)
        answer = {"keys": {key: repr(value) for key, value in flat(whole).items()}, "base": sorted(flat(base))}
    except Exception as error:  # noqa: BLE001 - whatever a loader raises is the answer
        answer = {"error": f"{type(error).__name__}: {error}"[:2000]}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
