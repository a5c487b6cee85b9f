"""Supervised fine-tuning, the entry point of the resume functional."""

from pathlib import Path

from nemo_rl.algorithms.sft import train
from nemo_rl.entry import start

if __name__ == "__main__":
    start(Path(__file__).parent / "configs" / "sft.yaml", train)
