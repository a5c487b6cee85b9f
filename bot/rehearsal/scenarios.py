"""Scenarios: small edits of the miniature trees, as data. What should come of them never belongs here.

A scenario's name is for people. The product sees trees, and no path or variable of a rehearsal holds the name.
"""

from collections.abc import Sequence
from importlib.resources import files
from typing import Literal

from levels.catalogue import parse
from levels.errors import UsageError
from levels.model import Record

Tree = Literal["pull-request", "base", "mcore", "verl", "nemo-rl", "image"]


class Edit(Record, frozen=True, kw_only=True):
    """One change of one file: `old`, which must be there, becomes `new`; or it becomes `text` or a copy; or it goes."""

    tree: Tree
    file: str
    old: str | None = None
    new: str = ""
    text: str | None = None
    copy: str | None = None
    """A folder of the miniatures that is put at `file`."""
    delete: bool = False


class Scenario(Record, frozen=True, kw_only=True):
    """A named set of edits."""

    id: str
    says: str
    """What is wrong in these trees, for people."""
    edits: tuple[Edit, ...] = ()
    phase_seconds: int | None = None
    """A shorter time limit for the wrapper than the level's."""


class Scenarios(Record, frozen=True, kw_only=True):
    """The whole of scenarios.yaml."""

    version: Literal[1]
    scenarios: tuple[Scenario, ...]


def load() -> tuple[Scenario, ...]:
    """Every scenario, in the file's order.

    Raises:
        ConfigError: when the file is not right.

    """
    text = (files("bot.rehearsal") / "scenarios.yaml").read_text(encoding="utf-8")
    return parse(text, Scenarios, path="bot/rehearsal/scenarios.yaml").scenarios


def named(name: str, known: Sequence[Scenario] | None = None) -> Scenario:
    """The scenario called `name`.

    Raises:
        UsageError: when there is none.

    """
    candidates = load() if known is None else known
    for scenario in candidates:
        if scenario.id == name:
            return scenario
    raise UsageError(
        doing="looking up a scenario",
        found=name,
        expected="one of " + ", ".join(scenario.id for scenario in candidates),
        next_step="choose one of these",
    )
