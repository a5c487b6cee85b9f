"""Untrusted lines on the job's own output: inert, short and few. Whole logs never belong here."""

import os
import re
import sys
import time
from collections.abc import Callable
from typing import Final

MAX_LINE: Final = 300
LINES_PER_SECOND: Final = 10
PROGRESS_SECONDS: Final = 60
# Fixed alternatives without nesting: linear on any input.
_ANSI: Final = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def inert(text: str) -> str:
    """`text` as one short line that neither a terminal nor the Actions runner obeys.

    Source: actions/runner: src/Runner.Common/ActionCommand.cs - `::` counts after leading blanks, `##[` anywhere.
    """
    plain = _CONTROL.sub("", _ANSI.sub("", text[: 4 * MAX_LINE])).replace("\t", " ").replace("\n", " ")
    plain = plain.replace("::", ": :").replace("##[", "# #[")
    return plain if len(plain) <= MAX_LINE else plain[:MAX_LINE] + " ..."


def say(line: str) -> None:
    """Print at once; a reader that went away must not cost us the evidence."""
    try:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Echo:
    """Prints a process's lines, at most `LINES_PER_SECOND`, and says how many it left out."""

    def __init__(
        self, label: str, write: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`write` gets one finished line at a time; `clock` gives seconds."""
        self._label = label
        self._write = write
        self._clock = clock
        self._start = self._progress = self._window = clock()
        self._in_window = self._left_out = self._bytes = 0
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the process's output."""
        self._bytes += len(chunk)
        *lines, rest = (self._rest + chunk).replace(b"\r", b"\n").split(b"\n")
        self._rest = rest[: 4 * MAX_LINE]
        for line in lines:
            if line.strip():
                self._line(line)

    def _line(self, line: bytes) -> None:
        now = self._clock()
        if now - self._window >= 1:
            self._window, self._in_window = now, 0
        if self._in_window >= LINES_PER_SECOND:
            self._left_out += 1
            return
        self._in_window += 1
        self._say_left_out()
        self._write("| " + inert(line[: 4 * MAX_LINE].decode("utf-8", "replace")))

    def tick(self, limit_seconds: float) -> None:
        """Print a progress line when the last one is a minute old."""
        now = self._clock()
        if now - self._progress >= PROGRESS_SECONDS:
            self._progress = now
            done = f"{now - self._start:.0f} s of at most {limit_seconds:.0f} s"
            self._write(f"bridge-e2e: {self._label}: {done}, {self._bytes} bytes of log")

    def close(self) -> None:
        """Print what is left."""
        if self._rest.strip():
            self._line(self._rest)
        self._say_left_out()

    def _say_left_out(self) -> None:
        if self._left_out:
            self._write(f"| [{self._left_out} more lines are only in the log of {self._label}]")
            self._left_out = 0
