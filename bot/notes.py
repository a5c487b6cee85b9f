"""What a check run remembers for later runs, inside its `text`. Whom to believe never belongs here.

Only notes on check runs that our own app wrote are read (bot/board.py): anybody may write a text.
"""

import re
from typing import Final, Literal

import msgspec

from levels.conclusion import GateState
from levels.model import Attribution, Boundary, Id, Outcome, Record, Suite
from levels.plan import Leg, Waiver
from levels.verdict import LegVerdict

_NOTE: Final = re.compile(r"<!-- bridge-e2e:note (\{.*\}) -->\n?\Z")
FINAL: Final = frozenset({GateState.SUPERSEDED, GateState.CANCELLED, GateState.QUEUE_LIMIT})
"""States that a report of the same attempt leaves alone: somebody or something ended it, and that was said."""


class LegNote(Record, frozen=True, kw_only=True):
    """One leg; the fields from `outcome` on are those of its verdict, null while there is none."""

    leg: Id
    suite: Suite
    level: int
    variants: tuple[Id, ...]
    title: str
    key: str | None = None
    """Digest of all that decides about the leg; see bot/proofs.py."""
    outcome: Outcome | None = None
    boundary: Boundary | None = None
    category: str = ""
    attribution: Attribution | None = None
    comparison: Literal["new", "shared-with-base", "fixed", "not-compared"] = "not-compared"
    proof: Literal["full", "log-only", "none"] = "none"


class Note(Record, frozen=True, kw_only=True):
    """What a check run remembers. The required check has `legs`, the check of a leg has `leg`."""

    version: Literal[1] = 1
    state: GateState
    ask: str = ""
    """The command that asks for the same once more."""
    legs: tuple[Id, ...] = ()
    left: tuple[str, ...] = ()
    """Levels that the rules ask for and the request did not."""
    uncovered: tuple[str, ...] = ()
    """Levels that the rules ask for and this release does not have."""
    proven: tuple[str, ...] = ()
    """Levels that an earlier run on this commit had proven."""
    waivers: tuple[Waiver, ...] = ()
    leg: LegNote | None = None


def write(note: Note) -> str:
    """The note as a text that shows nothing. No value of it can end the comment that it stands in."""
    line = msgspec.json.encode(note).decode()
    for sign, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("--", "-\\u002d")):
        line = line.replace(sign, escaped)
    return f"<!-- bridge-e2e:note {line} -->\n"


def read(text: str) -> Note | None:
    """The note in `text`; null when there is none that this version understands."""
    found = _NOTE.search(text)
    if found is None:
        return None
    try:
        return msgspec.json.decode(found[1], type=Note)
    except (msgspec.DecodeError, RecursionError):
        return None


def of_leg(leg: Leg, key: str | None, judged: LegVerdict | None = None) -> LegNote:
    """What is remembered of a planned leg, and of its verdict when there is one."""
    planned = LegNote(leg=leg.id, suite=leg.suite, level=leg.level, variants=leg.variants, title=leg.title, key=key)
    if judged is None:
        return planned
    return msgspec.structs.replace(
        planned,
        outcome=judged.outcome,
        boundary=judged.boundary,
        category=judged.category,
        attribution=judged.attribution,
        comparison=judged.comparison,
        proof=judged.proof,
    )


def verdict_of(note: LegNote) -> LegVerdict | None:
    """The verdict that is remembered, with all that only people read left empty; null when there was none."""
    if note.outcome is None:
        return None
    return LegVerdict(
        leg=note.leg,
        suite=note.suite,
        level=note.level,
        variants=note.variants,
        title=note.title,
        outcome=note.outcome,
        sentence="",
        boundary=note.boundary,
        category=note.category,
        attribution=note.attribution,
        comparison=note.comparison,
        first_error=None,
        proof=note.proof,
        model="",
        requested="",
        criteria=(),
        deliverables=(),
        bridge_state="",
        suite_state="",
        command="",
        key_lines=(),
        limitations=(),
        follow_ups=(),
    )
