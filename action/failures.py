"""Failing tests in pytest's own output: which, where the last frame lies, what was raised. No judging."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from levels.evidence import MAX_FAILURES, CheckFailure

_SECTION: Final = re.compile(r"^_{3,100} (.{1,300}?) _{3,100}$")
_PLACE: Final = re.compile(r"^([^\s:][^:]{0,1000}):(\d{1,7}): (?:in .{1,300}|[A-Za-z_][\w.]{0,200})$")
_END: Final = re.compile(r"^=+ (short test summary|warnings summary|slowest)")
_MAX_LINE: Final = 2_000


def failures_of(lines: Iterable[str]) -> tuple[CheckFailure, ...]:
    """The first failures of a run.

    Source: pytest-dev/pytest: src/_pytest/_code/code.py, `ReprFileLocation.toterminal` prints `path:line: Error` last.
    """
    return tuple(islice(_failures(line.rstrip()[:_MAX_LINE] for line in lines), MAX_FAILURES))


def _failures(lines: Iterator[str]) -> Iterator[CheckFailure]:
    test, file, error = "", None, ""
    for line in lines:
        section = _SECTION.match(line)
        if section or _END.match(line):
            if test:
                yield CheckFailure(test=test, file=file, error=error)
            test, file, error = section[1] if section else "", None, ""
        elif line.startswith("E  ") and not error:
            error = line[1:].strip()
        elif place := _PLACE.match(line):
            file = place[1]
    if test:
        yield CheckFailure(test=test, file=file, error=error)
