"""The entry point of the GRPO functionals."""

from pathlib import Path

from nemo_rl.algorithms.grpo import train
from nemo_rl.entry import start

if __name__ == "__main__":
    start(Path(__file__).parent / "configs" / "grpo_math_1B_megatron.yaml", train)
