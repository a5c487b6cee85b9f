"""The entry point of the functional test."""

import argparse
import pprint
import time

import ray

from nemo_rl.algorithms.grpo import grpo_train, setup
from nemo_rl.config import load, nested


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    arguments, overrides = parser.parse_known_args()
    print(f"Loaded configuration from: {arguments.config}")
    print(f"Overrides: {overrides}")
    config = load(arguments.config, overrides)
    print("Applied CLI overrides\nFinal config:")
    pprint.pprint(nested(config))
    print(f"📊 Using log directory: {config['logger.log_dir']}/exp_001", flush=True)
    ray.init(include_dashboard=False, object_store_memory=80 * 1024**2, num_gpus=config["cluster.gpus_per_node"])
    try:
        grpo_train(config, *setup(config))
    finally:
        time.sleep(1.0)  # the workers' last lines travel through Ray's log monitor
        ray.shutdown()


if __name__ == "__main__":
    main()
