"""Bytes of a wrapper's log to clean lines with their writer. What a line means never belongs here.

Memory is bounded: a physical line keeps its first `MAX_LINE_BYTES`, whatever its length.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

import msgspec

from levels.model import Record

CHUNK_BYTES: Final = 1 << 18
MAX_LINE_BYTES: Final = 1 << 16
MAX_SEGMENTS: Final = 64
"""Of the redraws of one progress bar, the first and the last are kept."""

# Patterns of our own, run on every line: each is anchored or starts with a literal, so that `re` is linear on them too.
_ANSI: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_INVISIBLE: Final = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Control characters, and those that hide or reorder text."""
_LABEL: Final = re.compile(r"^(?:\d{1,5}: |\[[a-z][a-z0-9 _.-]{0,40}\] )")
"""`0: ` of `srun --label`, `[mcore 2step] ` of NeMo-RL's resume functional."""
_ACTOR: Final = re.compile(
    r"^\((?P<name>[A-Za-z_][\w.:-]*)?(?P<rank>\[rank=\d+\])? ?(?:pid=(?P<pid>\d+))?(?:, ip=(?P<ip>[\w.:]+))?"
    r"(?P<scale>[+]\d+\w*)?\) ?"
)
_REPEATED: Final = re.compile(r" ?\[repeated (\d+)x across cluster\].*$")
_NOT_LABELS: Final = frozenset({"[prompt] ", "[response] ", "[score] ", "[ground_truth] ", "[preflight] ", "[runner] "})


class Line(Record, frozen=True, kw_only=True):
    """One line, or one redraw of a progress bar, without colours."""

    number: int
    """1-based physical line of the file."""
    raw: str
    """The text with its prefixes; this is what people search for in the file."""
    text: str
    """The text without label, actor prefix and repeat mark."""
    label: str = ""
    actor: str = ""
    """`MegatronPolicyWorker`, `raylet`; empty for the wrapper and the driver."""
    pid: str = ""
    repeated: int = 0
    cut: bool = False

    @property
    def source(self) -> tuple[str, str, str]:
        """Who wrote it: lines of one traceback share this."""
        return (self.label, self.actor, self.pid)


class Tail(msgspec.Struct):
    """What reading to the end has found out about the file as a whole."""

    size_bytes: int = 0
    lines: int = 0
    ends_with_newline: bool = True


def read_lines(stream: BinaryIO, tail: Tail) -> Iterator[Line]:
    """The lines of `stream`, in order; `tail` is complete when the iterator is exhausted."""
    for number, (data, cut) in enumerate(_physical(stream, tail), start=1):
        tail.lines = number
        for segment in _redraws(data):
            yield parse_line(segment, number, cut=cut)


def _physical(stream: BinaryIO, tail: Tail) -> Iterator[tuple[bytes, bool]]:
    kept: list[bytes] = []
    held = 0
    seen = False
    cut = False
    while chunk := stream.read(CHUNK_BYTES):
        tail.size_bytes += len(chunk)
        tail.ends_with_newline = chunk.endswith(b"\n")
        start = 0
        while True:
            end = chunk.find(b"\n", start)
            part = chunk[start : end if end >= 0 else len(chunk)]
            room = MAX_LINE_BYTES - held
            kept.append(part[:room])
            held += min(len(part), room)
            cut = cut or len(part) > room
            if end < 0:
                seen = seen or bool(part)
                break
            yield b"".join(kept), cut
            kept, held, seen, cut, start = [], 0, False, False, end + 1
    if seen:
        yield b"".join(kept), cut


def _redraws(data: bytes) -> list[bytes]:
    parts = data.rstrip(b"\r").split(b"\r")
    if len(parts) > MAX_SEGMENTS:
        parts = parts[: MAX_SEGMENTS // 2] + parts[-MAX_SEGMENTS // 2 :]
    return [part for part in parts if part] or [b""]


def clean(data: bytes) -> str:
    """`data` as text without ANSI codes and other control characters."""
    text = data.decode("utf-8", "replace")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return text if text.isprintable() else _INVISIBLE.sub(" ", text)


def parse_line(data: bytes, number: int, *, cut: bool = False) -> Line:
    """One segment as a `Line`; a redraw without prefix of its own keeps none."""
    raw = clean(data)
    rest, label = _strip_label(raw)
    actor = pid = ""
    if rest.startswith("(") and (match := _ACTOR.match(rest)) and (match["name"] or match["pid"]):
        actor, pid, rest = match["name"] or "", match["pid"] or "", rest[match.end() :]
        if match["scale"] is None and not match["pid"] and actor not in _ACTORS_WITHOUT_PID:
            actor, pid, rest = "", "", raw[len(label) :]
    repeated = 0
    if "across cluster]" in rest and (match := _REPEATED.search(rest)):
        repeated, rest = int(match[1]), rest[: match.start()]
    return Line(number=number, raw=raw, text=rest, label=label, actor=actor, pid=pid, repeated=repeated, cut=cut)


_ACTORS_WITHOUT_PID: Final = frozenset({"raylet", "autoscaler", "gcs_server"})


def _strip_label(raw: str) -> tuple[str, str]:
    match = _LABEL.match(raw)
    if not match or match[0] in _NOT_LABELS:
        return raw, ""
    return raw[match.end() :], match[0]
