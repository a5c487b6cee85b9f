"""Writes a checkpoint of the same architecture with other sizes and random weights."""

import argparse
import json
import random
from pathlib import Path

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("--hf_model_path", "--new_config_path", "--output_path"):
        parser.add_argument(option, required=True, type=Path)
    args = parser.parse_args()
    config = json.loads((args.hf_model_path / "config.json").read_text())
    config.update(json.loads(args.new_config_path.read_text()))
    noise = random.Random(3)
    known = json.loads((args.hf_model_path / "weights.json").read_text())
    weights = {name: [noise.uniform(-0.2, 0.2) for _ in values] for name, values in known.items()}
    args.output_path.mkdir(parents=True)
    (args.output_path / "weights.json").write_text(json.dumps(weights))
    (args.output_path / "config.json").write_text(json.dumps(config))
    print(f"Random model initialized and saved to {args.output_path}")
