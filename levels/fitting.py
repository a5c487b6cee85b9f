"""A Verdict short enough to be handed on. What a verdict means never belongs here.

Its texts quote evidence, which is hostile, and the next job's shell gets the line in a variable: one that is too long
stops that shell before it could close a check.
"""

from typing import Final

import msgspec

from levels.documents import MAX_BYTES, MAX_LINE, encode_line
from levels.verdict import Verdict

ROOMS: Final = (2_000, 600, 300, 150)
"""Characters that a text keeps, tried in order. A repository's name has up to 140, ids and commits have fewer."""
MAX_ITEMS: Final = 40
"""Entries that a list keeps; more than a suite has levels."""
SHORTENED: Final = "texts of this verdict were cut to fit into a job output; the evidence holds them whole"


def line_of(verdict: Verdict) -> str:
    """The verdict on one line of at most `MAX_LINE` bytes: outcomes stay, long texts are cut and that is said."""
    line = encode_line(verdict)
    for room in ROOMS:
        if _fits(verdict, line):
            break
        verdict = _shortened(verdict, room)
        line = encode_line(verdict)
    return line


def _shortened(verdict: Verdict, room: int) -> Verdict:
    cut = msgspec.convert(_cut(msgspec.to_builtins(verdict), room), Verdict)
    said = (tuple(dict.fromkeys((*leg.limitations, SHORTENED))) for leg in cut.legs)
    legs = tuple(msgspec.structs.replace(leg, limitations=text) for leg, text in zip(cut.legs, said, strict=True))
    return msgspec.structs.replace(cut, legs=legs)


def _fits(verdict: Verdict, line: str) -> bool:
    return len(line.encode()) <= MAX_LINE and len(msgspec.json.encode(verdict)) <= MAX_BYTES["verdict"]


def _cut(value: object, room: int) -> object:
    match value:
        case str():
            return value if len(value) <= room else value[: room - 1] + "…"
        case list() | tuple():
            return [_cut(item, room) for item in value[:MAX_ITEMS]]
        case dict():
            return {key: _cut(item, room) for key, item in value.items()}
        case _:
            return value
