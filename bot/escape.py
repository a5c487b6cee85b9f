"""Any text made harmless inside GitHub's Markdown, and lengths as GitHub counts them. Layout never belongs here.

GitHub links mentions, issue numbers and addresses after it has rendered the Markdown, so a backslash or an entity does
not stop them: a zero-width space does. Inside code it links nothing.
"""

import re
import unicodedata
from typing import Final

BREAK: Final = "\u200b"
"""Zero-width space: shown as nothing, and not part of any name."""
_LINKED: Final = re.compile(r"(?<=@)|(?<=#)|(?<=:)(?=//)|(?<=www)(?=\.)|(?<=gh-)(?=\d)", re.IGNORECASE)
"""Places inside what GitHub would make a link of."""
_SPECIAL: Final = re.compile(r"([\\`*_\[\]|~<>&$])")
_AT_THE_START: Final = re.compile(r"^(\d*)([-+=#.):])")
"""What makes a list, a heading, a rule or a quote of a line."""
_BACKTICKS: Final = re.compile("`+")
_SHORTENED: Final = " […]"
_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9.:-]+(/[A-Za-z0-9._/-]*)?", re.ASCII)


class Safe(str):
    """Markdown that was made safe; everything else is escaped where a template prints it."""

    __slots__ = ()


def clean(text: str) -> str:
    """`text` without control, bidirectional and other invisible characters; tabs and newlines stay."""
    return "".join(
        char
        for char in text
        if char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    )


def one_line(text: str, limit: int = 300) -> str:
    """`text` cleaned, on one line, cut after `limit` characters."""
    joined = " ".join(clean(text).split())
    return joined if len(joined) <= limit else joined[:limit].rstrip() + _SHORTENED


def md(text: str, limit: int = 300) -> Safe:
    """`text` as prose of one line that formats nothing, links nothing and mentions nobody; safe in a table."""
    broken = _LINKED.sub(BREAK, one_line(text, limit))
    return Safe(_AT_THE_START.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", broken)))


def code(text: str, limit: int = 300) -> Safe:
    """`text` as inline code of one line, for use outside tables."""
    line = one_line(text, limit)
    if not line:
        return Safe("")
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line[0] in "` " or line[-1] in "` " else ""
    return Safe(f"{ticks}{pad}{line}{pad}{ticks}")


def cell(text: str, limit: int = 300) -> Safe:
    """`text` as inline code of one line, for use inside a table: there a bar ends the cell even in code.

    A backslash of the text's own before a bar would undo the escape, so the two are kept apart.
    """
    return Safe(code(text, limit).replace("\\|", f"\\{BREAK}|").replace("|", "\\|"))


def fence(text: str, info: str = "text") -> Safe:
    """`text` as a code block whose fence is longer than any run of backticks inside."""
    body = clean(text).strip("\n")
    ticks = "`" * max(3, _longest_run(body) + 1)
    return Safe(f"{ticks}{info}\n{body}\n{ticks}")


def link(url: str | None, words: str) -> Safe:
    """`words`, leading to `url` when that is a plain address of ours."""
    return Safe(f"[{md(words)}]({url})") if url and _ADDRESS.fullmatch(url) else md(words)


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def units(text: str) -> int:
    """UTF-16 code units of `text`: never fewer than its characters. Which unit GitHub counts is open."""
    return len(text) + sum(char > "\uffff" for char in text)
