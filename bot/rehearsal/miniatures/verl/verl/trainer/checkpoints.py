"""Where checkpoints lie and which one a start continues from; who writes into them is the workers' business."""

import os

TRACKER = "latest_checkpointed_iteration.txt"


def folder(config):
    """The experiment's folder, relative to where verl was started."""
    return os.path.join("checkpoints", config["trainer.project_name"], config["trainer.experiment_name"])


def step_folder(config, step):
    """One step's folder."""
    return os.path.join(folder(config), f"global_step_{step}")


def remember(config, step):
    """Name the newest step, once it is whole."""
    with open(os.path.join(folder(config), TRACKER), "w", encoding="utf-8") as file:
        file.write(str(step))


def latest(config):
    """The newest step that was saved, or None."""
    tracker = os.path.join(os.getcwd(), folder(config), TRACKER)
    if not os.path.exists(tracker):
        print("Checkpoint tracker file does not exist: %s", tracker)
        return None
    with open(tracker, encoding="utf-8") as file:
        return int(file.read())
