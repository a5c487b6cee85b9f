"""The lines around the first error, read again from the log. What they mean never belongs here.

The judge reads a log once and keeps no lines; this walks to one line and keeps a few around it, so memory stays small
whatever the length of the log or of a line.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import BinaryIO, Final

import msgspec

from levels.log_lines import CHUNK_BYTES, clean
from levels.verdict import FirstError, LegVerdict

BEFORE: Final = 9
AFTER: Final = 10
MAX_CHARS: Final = 300
_ROOM: Final = 4_000
"""Bytes of a line that are looked at: colours and redraws take more of them than are shown."""

OpenLog = Callable[[str], AbstractContextManager[BinaryIO] | None]
"""Name of a log to the opened file; None where there is none of that name."""


def around(stream: BinaryIO, number: int) -> tuple[str, ...]:
    """Up to 20 physical lines about line `number` (1-based), each `NUMBER: text`, cleaned and cut."""
    first, last = max(1, number - BEFORE), number + AFTER
    kept: dict[int, bytes] = {}
    line = 1
    while line <= last and (chunk := stream.read(CHUNK_BYTES)):
        ends = chunk.count(b"\n")
        if line + ends < first:
            line += ends
            continue
        for index, part in enumerate(chunk.split(b"\n")):
            if index:
                line += 1
            if first <= line <= last:
                kept[line] = (kept.get(line, b"") + part[:_ROOM])[:_ROOM]
    if not kept.get(max(kept, default=0)):
        kept.pop(max(kept, default=0), None)
    return tuple(f"{at}: {_shown(text)}" for at, text in sorted(kept.items()))


def _shown(data: bytes) -> str:
    """The last redraw of the line, as text."""
    parts = [part for part in data.split(b"\r") if part.strip()]
    return clean(parts[-1] if parts else b"")[:MAX_CHARS].rstrip()


def with_excerpt(verdict: LegVerdict, open_log: OpenLog) -> LegVerdict:
    """The verdict with the lines around its first error; unchanged where that error stands in no log."""
    error = verdict.first_error
    if error is None or error.log is None or error.line is None:
        return verdict
    try:
        opened = open_log(error.log)
        if opened is None:
            return verdict
        with opened as stream:
            lines = around(stream, error.line)
    except OSError:
        # The verdict stands without the excerpt; that the log cannot be read is told where it was judged.
        return verdict
    changed: FirstError = msgspec.structs.replace(error, around=lines)
    return msgspec.structs.replace(verdict, first_error=changed)
