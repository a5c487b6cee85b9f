import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from bot.escape import cell, clean, code, fence, link, md, one_line, units

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = st.text(alphabet=st.sampled_from("@#`|\\[]()<>!*_~$:/.w \n-ab1\u202e\u200b\u0000é😀"), max_size=80) | st.text(
    max_size=80
)
LINKS = re.compile(r"@\w|#\d|GH-\d|https?://|www\.", re.IGNORECASE)


def flat(text: str) -> list[Token]:
    """Inline tokens of the whole text."""
    return [child for token in PARSER.parse(text) for child in token.children or []]


@given(HOSTILE)
@example("@NVIDIA/everyone #1 GH-2 https://x.y www.x.y a@b.c")
@example("<img src=x onerror=alert(1)> [a](javascript:x) ![b](c)")
@example("&lt;b&gt; &#64;octocat")
def test_prose_formats_links_and_mentions_nothing(text: str) -> None:
    safe = md(text)
    tokens = flat(f"before {safe} after")
    assert {token.type for token in tokens} <= {"text", "text_special"}
    shown = "".join(token.content for token in tokens)
    assert not LINKS.search(shown.removeprefix("before ").removesuffix(" after"))


@given(HOSTILE)
@example("- a")
@example("1. a")
@example("1) a")
@example("# a")
@example("+ a")
@example("===")
@example("---")
@example("> a")
@example("a: b")
def test_prose_is_a_paragraph_also_at_the_start_of_a_line(text: str) -> None:
    for before in ("", "before\n"):
        safe = md(text)
        kinds = {token.type for token in PARSER.parse(f"{before}{safe}")}
        assert kinds <= {"paragraph_open", "inline", "paragraph_close"}


@given(HOSTILE)
def test_code_is_one_code_span(text: str) -> None:
    safe = code(text)
    if safe:
        tokens = flat(f"a {safe} b")
        assert [token.type for token in tokens] == ["text", "code_inline", "text"]


@given(HOSTILE)
@example("a\\|@nvidia")
@example("a\\\\|b")
def test_a_cell_stays_in_its_cell(text: str) -> None:
    table = f"| a | b |\n|---|---|\n| {cell(text)} | {md(text)} |\n"
    cells = [token for token in PARSER.parse(table) if token.type == "td_open"]
    assert len(cells) == 2
    assert {token.type for token in flat(table)} <= {"text", "text_special", "code_inline"}


@given(HOSTILE)
@example("```\n````\n@x")
def test_a_fence_holds_all_of_its_text(text: str) -> None:
    tokens = PARSER.parse(f"before\n\n{fence(text)}\n\nafter")
    assert [token.type for token in tokens] == [
        "paragraph_open",
        "inline",
        "paragraph_close",
        "fence",
        "paragraph_open",
        "inline",
        "paragraph_close",
    ]


@given(st.text(max_size=100))
def test_nothing_invisible_is_left(text: str) -> None:
    assert not {char for char in clean(text) if unicodedata.category(char) in {"Cc", "Cf"}} - {"\n", "\t"}


@given(st.text(max_size=100))
def test_units_are_those_of_utf_16(text: str) -> None:
    assert units(text) == len(text.encode("utf-16-le", "surrogatepass")) // 2


def test_long_text_is_cut_between_characters() -> None:
    assert one_line("😀" * 10, 4) == "😀😀😀😀 […]"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param(
            "https://github.com/o/r/actions/runs/7", "[run](https://github.com/o/r/actions/runs/7)", id="ours"
        ),
        pytest.param("http://127.0.0.1:80/o/r", "[run](http://127.0.0.1:80/o/r)", id="rehearsal"),
        pytest.param("javascript:alert(1)", "run", id="script"),
        pytest.param("https://x.y/) [z](https://evil", "run", id="breaks-out"),
        pytest.param(None, "run", id="none"),
    ],
)
def test_a_link_leads_to_a_plain_address(url: str | None, expected: str) -> None:
    assert link(url, "run") == expected
