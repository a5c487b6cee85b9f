"""A flat `key: value` file on top of the one that `defaults` names, and Hydra-like overrides; unknown keys are refused."""

import sys
from pathlib import Path


def parse_value(text):
    """null, true, false, whole numbers; anything else is text."""
    known = {"null": None, "true": True, "True": True, "false": False, "False": False}
    if text in known:
        return known[text]
    return int(text) if text.lstrip("-").isdigit() else text


def read(path):
    """The file, and before it the one that it starts from."""
    config = {}
    for line in Path(path).read_text().splitlines():
        key, _, value = line.partition(": ")
        if key == "defaults":
            config = read(Path(path).parent / value)
        else:
            config[key] = parse_value(value)
    return config


def load(path, overrides):
    """The file with the overrides applied, in order."""
    config = read(path)
    for override in overrides:
        name, _, value = override.partition("=")
        key = name.lstrip("+")
        if key not in config and not name.startswith("+"):
            sys.exit(
                f"omegaconf.errors.ConfigAttributeError: Key '{key.rpartition('.')[2]}' is not in struct\n    full_key: {key}"
            )
        config[key] = parse_value(value)
    return config


def nested(config):
    """The dotted keys as nested dictionaries."""
    tree = {}
    for key, value in sorted(config.items()):
        *parents, leaf = key.split(".")
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
        node[leaf] = value
    return tree
