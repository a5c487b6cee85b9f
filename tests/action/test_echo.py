"""Lines of untrusted programs on the job's output."""

import pytest

from action.echo import LINES_PER_SECOND, MAX_LINE, Echo, inert


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain", "plain", id="plain"),
        pytest.param("::error::x", ": :error: :x", id="command"),
        pytest.param("  ::set-output name=a::b", "  : :set-output name=a: :b", id="after-blanks"),
        pytest.param("text ##[command]x", "text # #[command]x", id="old-style-anywhere"),
        pytest.param("\x1b[31mred\x1b[0m", "red", id="colour"),
        pytest.param("\x1b]0;title\x07after", "after", id="window-title"),
        pytest.param(":\x1b[0m:error::x", ": :error: :x", id="command-hidden-by-a-code"),
        pytest.param(":\x00:stop-commands::t", ": :stop-commands: :t", id="command-hidden-by-a-nul"),
        pytest.param("a\u202eb\u2028c", "abc", id="direction-and-line-separators"),
        pytest.param("a\x9b31mb", "a31mb", id="c1-control"),
    ],
)
def test_inert(text: str, shown: str) -> None:
    assert inert(text) == shown


def test_long_lines_are_cut() -> None:
    assert len(inert("x" * 10_000_000)) < MAX_LINE + 10


class Clock:
    """Seconds that move when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_flood_is_throttled_and_counted() -> None:
    clock, lines = Clock(), list[str]()
    echo = Echo("train", lines.append, clock=clock)
    echo.feed(b"".join(b"line %d\n" % number for number in range(1000)))
    assert len(lines) == LINES_PER_SECOND
    clock.now = 2.0
    echo.feed(b"next\n")
    assert lines[-2:] == ["| [990 more lines are only in the log of train]", "| next"]


def test_pieces_are_joined_and_carriage_returns_split() -> None:
    lines: list[str] = []
    echo = Echo("train", lines.append, clock=Clock())
    for piece in (b"ab", b"c\r50%\r", b"\xff\n", b"rest"):
        echo.feed(piece)
    echo.close()
    assert lines == ["| abc", "| 50%", "| \ufffd", "| rest"]


def test_a_line_without_end_takes_no_memory() -> None:
    lines: list[str] = []
    echo = Echo("train", lines.append, clock=Clock())
    for _ in range(1000):
        echo.feed(b"y" * 65_536)
    assert len(echo._rest) <= 4 * MAX_LINE
    echo.close()
    assert lines[0].startswith("| yyy")


def test_silence_still_shows_progress() -> None:
    clock, lines = Clock(), list[str]()
    echo = Echo("train", lines.append, clock=clock)
    for clock.now in (1.0, 61.0, 62.0, 125.0):
        echo.tick(3600)
    assert lines == [
        "bridge-e2e: train: 61 s of at most 3600 s, 0 bytes of log",
        "bridge-e2e: train: 125 s of at most 3600 s, 0 bytes of log",
    ]
