"""The answer to one criterion, and what all criteria share. Which criteria there are never belongs here."""

import msgspec

from levels.causes import Cause
from levels.log_stages import Note
from levels.skips import Skip
from levels.subject import PhaseView
from levels.verdict import Met


class Answer(msgspec.Struct):
    """The state of one criterion, with the lines to show for it."""

    met: Met
    found: str
    source: str
    lines: tuple[Note, ...] = ()
    """Lines of the log that show it; the first is the one to quote."""
    cause: Cause | None = None
    log_name: str | None = None
    skip: Skip | None = None
    """What was left out, where that decides: its boundary, attribution and remedy say more than the criterion's."""


def at(phase: PhaseView, note: Note | None) -> str:
    """Where `note` stands, as people write it: `run-train.log:120`; a value of metrics.json has no line."""
    if note is None:
        return phase.log_name
    return f"{phase.log_name}:{note.line}" if note.line else f"metrics of {phase.id}"


def under(path: str, root: str) -> bool:
    """Whether `path` is `root` or lies below it, by text alone."""
    root = root.rstrip("/")
    return path == root or path.startswith(root + "/")
