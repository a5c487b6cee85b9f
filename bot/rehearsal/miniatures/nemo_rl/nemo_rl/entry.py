"""What every entry point does first: options, configuration, its dump, Ray."""

import argparse
import os
import pprint
import time
from pathlib import Path

import ray

from nemo_rl.config import load, nested


def start(default_config, train):
    """Parse, print, and call `train` with the configuration on a Ray of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default=str(default_config))
    arguments, overrides = parser.parse_known_args()
    config = load(arguments.config, overrides)
    print(f"Loaded configuration from: {arguments.config}")
    print(f"Overrides: {overrides}")
    print("Applied CLI overrides\nFinal config:")
    pprint.pprint(nested(config))
    config["logger.log_dir"] = next_experiment(config["logger.log_dir"])
    print(f"📊 Using log directory: {config['logger.log_dir']}")
    if config["checkpointing.enabled"]:
        print(f"📊 Using checkpoint directory: {config['checkpointing.checkpoint_dir']}")
    os.sys.stdout.flush()
    ray.init(include_dashboard=False, object_store_memory=80 * 1024**2, num_gpus=config["cluster.gpus_per_node"])
    try:
        train(config)
    finally:
        time.sleep(1.0)  # the workers' last lines travel through Ray's log monitor
        ray.shutdown()


def next_experiment(folder):
    """exp_001, exp_002, ... below the log folder."""
    number = len(list(Path(folder).glob("exp_*"))) + 1
    return f"{folder}/exp_{number:03d}"
