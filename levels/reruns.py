"""Remedies that are a rerun, as commands that can be pasted. What broke is decided elsewhere."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final

import msgspec

from levels.catalogue import parse
from levels.model import Boundary, Id, Record, Suite

FOLDERS: Final = "--bridge DIR --suite-repo DIR --out DIR"
"""The reader's own folders; the parser takes any word for DIR."""


class Rerun(Record, frozen=True, kw_only=True):
    """One rerun. The fields are explained on top of reruns.yaml."""

    id: Id
    says: str
    suites: tuple[Suite, ...]
    levels: tuple[int, ...]
    categories: tuple[str, ...] = ()
    boundaries: tuple[Boundary, ...] = ()
    criteria: tuple[Id, ...] = ()
    level: int | None
    variants: tuple[Id, ...] = ()
    model: bool = False
    source: str


class Reruns(Record, frozen=True, kw_only=True):
    """The whole of reruns.yaml."""

    version: Annotated[int, msgspec.Meta(ge=1, le=1)]
    reruns: tuple[Rerun, ...]


class Broke(Record, frozen=True, kw_only=True):
    """What a leg broke at."""

    suite: Suite
    level: int
    variants: tuple[Id, ...] = ()
    boundary: Boundary | None
    category: str
    """Of the signature, or the id of the criterion that decided."""


def load(root: Path | None = None) -> Reruns:
    """The reruns in `root` (default: the file beside this module).

    Raises:
        ConfigError: with file and key path.

    """
    where = root if root is not None else files("levels")
    return parse((where / "reruns.yaml").read_text(encoding="utf-8"), Reruns, path="reruns.yaml")


@cache
def known() -> Reruns:
    """The reruns beside this module, read once."""
    return load()


def follow_ups(broke: Broke) -> tuple[str, ...]:
    """A sentence with its commands for each rerun that is a remedy of what broke."""
    return tuple(
        f"{rerun.says}: " + " or ".join(f"`{command}`" for command in commands(rerun, broke))
        for rerun in known().reruns
        if _applies(rerun, broke)
    )


def _applies(rerun: Rerun, broke: Broke) -> bool:
    if broke.suite not in rerun.suites or broke.level not in rerun.levels:
        return False
    same = rerun.level == broke.level and set(rerun.variants) <= set(broke.variants)
    named = broke.category in (*rerun.categories, *rerun.criteria)
    return not same and (named or broke.boundary in rerun.boundaries)


def commands(rerun: Rerun, broke: Broke) -> tuple[str, ...]:
    """The command of a GPU machine, and the comment where that says the same: it names no variant and no folder."""
    number = broke.level if rerun.level is None else rerun.level
    names = dict.fromkeys((*(broke.variants if number == broke.level else ()), *rerun.variants))
    variants = "".join(f" --variant {name}" for name in names)
    model = " --model DIR" if rerun.model else ""
    machine = f"bridge-e2e run --suite {broke.suite.value} --level {number}{variants}{model} {FOLDERS}"
    comment = () if names or rerun.model else (f"/run-e2e suite={broke.suite.value} level={number}",)
    return (machine, *comment)
