"""What the GPU machine may ask of a log while the leg goes on. A preview is never published: the judge reads again."""

from typing import BinaryIO

from levels.causes import first_cause
from levels.logs import read_log
from levels.signatures import Knowledge


def broke_by(stream: BinaryIO, knowledge: Knowledge, *, bridge_root: str | None) -> str | None:
    """Id of the signature that the first cause of a broken run has; null when no signature knows it."""
    facts = read_log(stream, knowledge)
    cause = first_cause(facts.last, knowledge, done_line=None, bridge_root=bridge_root)
    return cause.signature or None if cause else None
