"""GRPO with images or sound. Without --config it is the DTensor configuration, as in the real one."""

from pathlib import Path

from nemo_rl.algorithms.grpo import train
from nemo_rl.entry import start

if __name__ == "__main__":
    start(Path(__file__).parent / "configs" / "vlm_grpo_3B.yaml", train)
