"""Which of Bridge's own tests a change calls for, beside the focused ones of every level. Which exist, the runner sees.

Patterns are relative to the Bridge root and made of a path's own parts; a part with other characters names no test.
Source: NVIDIA-NeMo/Megatron-Bridge: tests/@067f987df03b8355b03192d88d70f1709fedf51a, and the procedures' *Bridge Checks
First*: "Include any model-specific tests added by the change", *Minimum Bridge-side evidence for a new model/provider*.
"""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Final

from levels.changes import Change, Status
from levels.model import CheckGroup, Trait

MAX_PATTERNS: Final = 60
_PACKAGE: Final = "src/megatron/bridge/"
_UNIT: Final = "tests/unit_tests/"
_FUNCTIONAL: Final = "tests/functional_tests/test_groups/models/"
_PLAIN: Final = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$")
_COMMON: Final = frozenset({"__init__", "common", "config", "configs", "model", "models", "provider", "utils"})
"""Names that a test in another folder may have without being about this file."""


def groups_for(changes: Iterable[Change], traits: frozenset[Trait]) -> tuple[CheckGroup, ...]:
    """The groups of tests that `changes` call for, each with its reason; none for a change outside the package."""
    listed = [change for change in changes if _plain(change.path)]
    own = _model_specific(listed)
    folders = _families(listed)
    added = [change for change in listed if change.status is Status.ADDED and _is_bridge(change.path)]
    groups = [own] if own else []
    if added:
        groups += _new_family(_families(added))
    elif traits & {Trait.VLM, Trait.AUDIO} and folders:
        groups += _multimodal(folders)
    return tuple(groups)


def _plain(path: str) -> bool:
    return all(_PLAIN.match(part) for part in path.split("/"))


def _is_bridge(path: str) -> bool:
    return path.startswith(f"{_PACKAGE}models/") and path.endswith("_bridge.py")


def _model_specific(changes: list[Change]) -> CheckGroup | None:
    patterns: dict[str, None] = {}
    for change in changes:
        patterns.update(dict.fromkeys(_of(change)))
    if not patterns:
        return None
    return CheckGroup(
        id="model-specific",
        title="tests of the changed files",
        tests=tuple(patterns)[:MAX_PATTERNS],
        needed=False,
        because="the procedures ask for the model-specific tests of the change beside the focused ones",
    )


def _of(change: Change) -> list[str]:
    """Patterns of the tests of one changed file."""
    path = PurePosixPath(change.path)
    if change.path.startswith(_UNIT) and path.name.startswith("test_") and path.suffix == ".py":
        return [] if change.status is Status.REMOVED else [change.path]
    if not change.path.startswith(_PACKAGE) or path.suffix != ".py":
        return []
    inside = PurePosixPath(change.path.removeprefix(_PACKAGE)).parent
    own = f"{_UNIT}{inside}/test_{path.stem}*.py" if path.stem != "__init__" else f"{_UNIT}{inside}/test_*.py"
    return [own] if path.stem in _COMMON else [own, f"{_UNIT}**/test_{path.stem}.py"]


def _families(changes: Iterable[Change]) -> tuple[str, ...]:
    """Folders of model families that were touched: `qwen_vl`, `exaone/exaone45`."""
    found: dict[str, None] = {}
    for change in changes:
        inside = change.path.removeprefix(f"{_PACKAGE}models/")
        parts = PurePosixPath(inside).parts
        if inside != change.path and len(parts) > 1:
            found[parts[0]] = None
            if len(parts) > 2:  # noqa: PLR2004 - a family in a family's folder
                found[parts[1]] = None
    return tuple(found)


def _new_family(folders: tuple[str, ...]) -> list[CheckGroup]:
    """The procedures' minimum evidence, but for the smoke, which is the leg itself."""
    because = "the change adds a model family: the procedures name this as minimum evidence"
    unit = tuple(f"{_UNIT}models/{name}/" for name in folders)
    functional = tuple(f"{_FUNCTIONAL}{name}/" for name in folders)
    return [
        CheckGroup(
            id="provider-config",
            title="provider and configuration unit tests",
            tests=tuple(f"{root}**/test_*{word}*.py" for root in unit for word in ("provider", "bridge", "config")),
            needed=True,
            because=because,
        ),
        CheckGroup(
            id="mapping",
            title="parameter mapping tests",
            tests=(f"{_UNIT}models/test_param_mapping.py", *(f"{root}**/test_*bridge*.py" for root in unit)),
            needed=True,
            because=because,
        ),
        CheckGroup(
            id="conversion",
            title="HF to Megatron import or roundtrip on a small model",
            tests=tuple(f"{root}**/test_*{word}*.py" for root in functional for word in ("conversion", "roundtrip")),
            needed=True,
            because=because,
        ),
        CheckGroup(
            id="generation",
            title="generation or logits comparison",
            tests=tuple(
                f"{root}**/test_*{word}*.py" for root in functional for word in ("generation", "inference", "logits")
            ),
            needed=False,
            because=f"{because}, when available",
        ),
    ]


def _multimodal(folders: tuple[str, ...]) -> list[CheckGroup]:
    because = "the smoke is text only: the procedures pair it with the model's conversion and inference tests"
    functional = tuple(f"{_FUNCTIONAL}{name}/" for name in folders)
    return [
        CheckGroup(
            id=name,
            title=title,
            tests=tuple(f"{root}**/test_*{word}*.py" for root in functional for word in words),
            needed=False,
            because=because,
        )
        for name, title, words in (
            ("conversion", "conversion tests", ("conversion", "roundtrip")),
            ("generation", "inference tests", ("generation", "inference", "logits")),
        )
    ]
