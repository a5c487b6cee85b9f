"""A comment's Markdown as the lines that a reader sees as prose. What a line means never belongs here."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER: Final = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_PLAIN: Final = frozenset({"text", "text_special"})
_BREAKS: Final = frozenset({"softbreak", "hardbreak"})


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a top-level paragraph."""

    text: str
    """The line as written text; code, images and HTML leave nothing."""
    plain: bool
    """False when it holds code, a link, an image, HTML or emphasis."""


def visible_lines(body: str) -> tuple[Line, ...]:
    """The lines of the top-level paragraphs of `body`: no code, quotes, lists, tables, headings or HTML comments."""
    tokens = _PARSER.parse(body)
    paragraphs = (
        inline for opened, inline in pairwise(tokens) if opened.type == "paragraph_open" and opened.level == 0
    )
    return tuple(line for inline in paragraphs for line in _lines(inline.children or []))


def _lines(children: list[Token]) -> list[Line]:
    lines: list[list[Token]] = [[]]
    links = 0
    for token in children:
        links += {"link_open": 1, "link_close": -1}.get(token.type, 0)
        if token.type in _BREAKS:
            lines.append([])
        elif links == 0 or token.type == "link_open":
            lines[-1].append(token)
    return [_line(tokens) for tokens in lines]


def _line(tokens: list[Token]) -> Line:
    text = "".join(token.content for token in tokens if token.type in _PLAIN)
    starts_plain = bool(tokens) and tokens[0].type in _PLAIN
    plain = all(token.type in _PLAIN for token in tokens)
    return Line(text=text if starts_plain else "", plain=plain)
