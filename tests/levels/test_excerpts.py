"""Twenty lines around the first error: bounded, clean, and from the right place."""

import io
import json
from collections.abc import Callable
from typing import BinaryIO

import pytest

from levels.__main__ import main
from levels.excerpts import AFTER, BEFORE, MAX_CHARS, around, with_excerpt
from levels.log_lines import CHUNK_BYTES
from tests.levels.judging import CASES, case, judged

TWENTY = BEFORE + AFTER + 1


def log(count: int, text: Callable[[int], str] = lambda number: f"line {number}") -> BinaryIO:
    return io.BytesIO("".join(f"{text(number)}\n" for number in range(1, count + 1)).encode())


@pytest.mark.parametrize(
    ("count", "number", "first", "last"),
    [
        pytest.param(100, 50, 41, 60, id="in-the-middle"),
        pytest.param(100, 1, 1, 11, id="first-line"),
        pytest.param(100, 100, 91, 100, id="last-line"),
        pytest.param(1, 1, 1, 1, id="only-line"),
        pytest.param(200_000, 150_000, 149_991, 150_010, id="behind-many-chunks"),
    ],
)
def test_the_lines_around_one(count: int, number: int, first: int, last: int) -> None:
    assert around(log(count), number) == tuple(f"{at}: line {at}" for at in range(first, last + 1))


def test_a_line_beyond_the_end_has_none() -> None:
    assert around(log(3), 500) == ()
    assert around(io.BytesIO(b""), 1) == ()


def test_long_lines_and_colours_are_bounded() -> None:
    lines = around(
        log(40, lambda number: f"\x1b[31m{number}\x1b[0m " + "x" * (2 * CHUNK_BYTES if number == 20 else 9_000)), 20
    )
    assert len(lines) == TWENTY
    assert all(len(line) <= MAX_CHARS + 10 for line in lines)
    assert not any("\x1b" in line for line in lines)
    assert lines[BEFORE].startswith("20: 20 x")


def test_of_a_progress_bar_the_last_redraw_is_shown() -> None:
    assert around(io.BytesIO(b"a 1%\ra 2%\ra 3%\nb\n"), 2) == ("1: a 3%", "2: b")


@pytest.mark.parametrize("name", sorted(path.parent.name for path in CASES.glob("*/run.log")))
def test_the_first_error_of_every_case_stands_in_its_excerpt(name: str) -> None:
    verdict = with_excerpt(judged(name).leg, lambda _: (CASES / name / "run.log").open("rb"))
    error = verdict.first_error
    if error is None or error.line is None:
        return
    assert len(error.around) <= TWENTY
    shown = next(line for line in error.around if line.startswith(f"{error.line}: "))
    # A long line is cut before a text that stands late in it.
    assert error.text.strip()[:80].rstrip() in "\n".join(error.around) or len(shown) >= MAX_CHARS


def gone(name: str) -> BinaryIO:
    raise FileNotFoundError(name)


def test_a_log_that_is_gone_leaves_the_verdict_as_it_is() -> None:
    leg = judged("v-shape-mismatch-qkv").leg
    assert with_excerpt(leg, lambda _: None) == leg
    assert with_excerpt(leg, gone) == leg


def test_judge_prints_the_excerpt(capsys: pytest.CaptureFixture[str]) -> None:
    name = "v-shape-mismatch-qkv"
    about = case(name)
    argv = ["judge", "--log", str(CASES / name / "run.log"), "--suite", "verl", "--level", str(about["level"])]
    main([*argv, "--exit-code", "1", "--bridge-checks", "assumed", "--json", "-"])
    error = json.loads(capsys.readouterr().out)["leg"]["first_error"]
    assert len(error["around"]) > AFTER
    assert error["frame"]["owner"] == "bridge"
    assert error["frame"]["line"] > 0
