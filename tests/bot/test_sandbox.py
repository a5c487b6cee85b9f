"""The child that reads patches: whatever it does, the answer is no smaller than the paths."""

import sys
import time
from pathlib import Path

import pytest

from bot.parse_changes import Request
from bot.sandbox import analyse
from levels.changes import Source, Status

ROOT = Path(__file__).parents[2]
REQUEST = Request(sources=(Source(path="src/a.py", patch="@@ -1 +1 @@\n-x\n+y", lines=2),))


def child(code: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-c", code)


def test_a_patch_is_read() -> None:
    analysis = analyse(REQUEST)
    assert analysis.doubts == ()
    assert [unit.lines for unit in analysis.changes[0].units or ()] == [("x", "y")]


@pytest.mark.parametrize(
    ("code", "doubt"),
    [
        pytest.param("raise SystemExit(3)", "exit code 3", id="exit"),
        pytest.param("import os; os.abort()", "signal 6", id="crash"),
        pytest.param("print('nonsense')", "no answer", id="nonsense"),
        pytest.param("", "no answer", id="silence"),
    ],
)
def test_a_child_that_fails_leaves_the_paths_and_a_doubt(code: str, doubt: str) -> None:
    analysis = analyse(REQUEST, command=child(code))
    assert [change.path for change in analysis.changes] == ["src/a.py"]
    assert doubt in (analysis.changes[0].doubt or "")


def test_a_child_that_stalls_is_not_waited_for() -> None:
    analysis = analyse(REQUEST, command=child("import time; time.sleep(60)"), timeout=1)
    assert analysis.changes[0].doubt == "reading the patches took more than 1 s"


def test_a_diff_that_cannot_be_read_leaves_a_doubt_about_everything() -> None:
    analysis = analyse(Request(diff="diff --git"), command=child("raise SystemExit(3)"))
    assert analysis.changes == ()
    assert analysis.doubts


def test_hostile_code_ends_within_the_limits() -> None:
    hostile = Source(path="src/a.py", status=Status.ADDED, patch="@@ -0,0 +1 @@\n+" + "(" * 200_000, lines=1)
    start = time.monotonic()
    analysis = analyse(Request(sources=(hostile,)))
    assert time.monotonic() - start < 40
    assert [change.path for change in analysis.changes] == ["src/a.py"]


@pytest.mark.parametrize(
    ("code", "doubt"),
    [
        pytest.param("while True: pass", "signal", id="processor"),
        pytest.param("x = bytearray(1 << 33)", "exit code 1", id="memory"),
        pytest.param("open('/tmp/x-never', 'wb').write(b'1' * 100000)", "ended with", id="disk"),
    ],
)
def test_the_limits_hold(code: str, doubt: str) -> None:
    limited = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from bot.parse_changes import limit; limit(1)\n{code}"
    assert doubt in (analyse(REQUEST, command=child(limited)).changes[0].doubt or "")
