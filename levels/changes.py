"""Unified diff text to Changes: which files a pull request touches and which lines of them. Rules never stand here.

Everything here reads hostile text: one pass, bounded sizes, no regular expression. What cannot be read is said in
`Change.doubt`; nothing is guessed.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from levels.model import Record

MAX_DIFF_CHARACTERS: Final = 64_000_000
MAX_FILES: Final = 20_000
MAX_LINE: Final = 2_000
"""Longer lines are cut: no rule looks further."""
API_FILE_LIMIT: Final = 3_000
"""GitHub lists at most 3,000 files of a pull request. Source: GITHUB.md."""

GITLINK_MODE: Final = "160000"
_ESCAPES: Final = {"n": 10, "t": 9, "r": 13, '"': 34, "\\": 92, "a": 7, "b": 8, "f": 12, "v": 11}


class Status(StrEnum):
    """What happened to a file, in the words of GitHub's API."""

    ADDED = "added"
    MODIFIED = "modified"
    REMOVED = "removed"
    RENAMED = "renamed"
    UNKNOWN = "unknown"
    """Only the path is known."""


class Hunk(Record, frozen=True, kw_only=True):
    """One hunk. `lines` keep their first character: space, plus or minus."""

    old_start: int
    new_start: int
    section: str = ""
    """The text after the second `@@`: the enclosing class or function, when git found one."""
    lines: tuple[str, ...] = ()


class Patch(Record, frozen=True, kw_only=True):
    """One file of a diff. `hunks` is null when the text does not show them."""

    path: str
    previous_path: str | None = None
    status: Status = Status.MODIFIED
    gitlink: bool = False
    hunks: tuple[Hunk, ...] | None = None
    doubt: str | None = None
    """Why the hunks cannot be trusted to be complete."""


class Unit(Record, frozen=True, kw_only=True):
    """Changed code lines of one file that lie in one function, class body, import block or at module level."""

    scope: str
    """`AutoBridge.get_model`, `LoRA` (a class body), `<module>`, `<imports>`; `LoRA.?` when the method is unknown."""
    lines: tuple[str, ...]
    """Changed lines without comments, indentation and docstrings."""
    added: bool = True
    removed: bool = True


class Change(Record, frozen=True, kw_only=True):
    """One changed file as the rules see it."""

    path: str
    previous_path: str | None = None
    status: Status = Status.UNKNOWN
    gitlink: bool = False
    units: tuple[Unit, ...] | None = None
    """Null when no patch was given; empty when only comments, docstrings or formatting changed."""
    doubt: str | None = None
    """Why the patch could not be read; the rules then select more, never less."""

    @property
    def names(self) -> tuple[str, ...]:
        """The path, and the old path of a rename."""
        return (self.path,) if self.previous_path in {None, self.path} else (self.path, self.previous_path or "")


class Source(Record, frozen=True, kw_only=True):
    """What is known of one file before its patch is read: an entry of GitHub's file list, or of `git diff --raw`."""

    path: str
    previous_path: str | None = None
    status: Status = Status.MODIFIED
    gitlink: bool = False
    patch: str | None = None
    """Hunks only, as GitHub's API gives them; null when there are none or GitHub left them out."""
    lines: int | None = None
    """Changed lines by the list's own count; a file with lines and no patch is doubtful."""


def from_source(source: Source) -> Patch:
    """The patch of one entry of a file list; never raises."""
    hunks, doubt = (None, None) if source.patch is None else _hunks_of(source.patch)
    if source.patch is None and source.lines == 0 and _may_be_empty(source):
        hunks = ()
    elif source.patch is None and source.lines is not None and not source.gitlink:
        doubt = f"the file list shows {source.lines} changed lines and no patch"
    return Patch(
        path=source.path,
        previous_path=source.previous_path,
        status=source.status,
        gitlink=source.gitlink or _is_gitlink(hunks),
        hunks=hunks,
        doubt=doubt,
    )


def _may_be_empty(source: Source) -> bool:
    """A pure rename, or an empty Python file; anything else without lines is binary, or a mode that changed."""
    return source.status is Status.RENAMED or (
        source.path.endswith(".py") and source.status in {Status.ADDED, Status.REMOVED}
    )


def _hunks_of(text: str) -> tuple[tuple[Hunk, ...] | None, str | None]:
    reader = _Reader(text.split("\n"))
    hunks = tuple(reader.hunks())
    if not reader.at_end():
        return None, f"line {reader.position + 1} of the patch is not part of a hunk"
    return hunks, reader.doubt


def _is_gitlink(hunks: Sequence[Hunk] | None) -> bool:
    return bool(hunks) and all(
        line[1:].startswith("Subproject commit ") for hunk in hunks or () for line in hunk.lines if line.strip()
    )


def parse_diff(text: str) -> tuple[tuple[Patch, ...], str | None]:
    """The files of a `git diff` text in order, and why the list may be incomplete (null when it is not).

    Text before the first `diff --git` line is skipped: `git show` and mails have some.
    """
    if len(text) > MAX_DIFF_CHARACTERS:
        return (), f"the diff has {len(text)} characters, at most {MAX_DIFF_CHARACTERS} are read"
    reader = _Reader(text.split("\n"))
    patches: list[Patch] = []
    while reader.seek("diff --git "):
        if len(patches) == MAX_FILES:
            return tuple(patches), f"the diff has more than {MAX_FILES} files"
        patches.append(_parse_file(reader))
    if text.strip() and not patches:
        return (), "no `diff --git` line in the diff"
    return tuple(patches), None


class _Reader:
    """The lines of a diff with a position; every line is looked at a constant number of times."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self.position = 0
        self.doubt: str | None = None

    def peek(self) -> str | None:
        return self._lines[self.position] if self.position < len(self._lines) else None

    def at_end(self) -> bool:
        """Nothing but empty lines is left."""
        return all(not line for line in self._lines[self.position :])

    def seek(self, prefix: str) -> bool:
        """Move to the next line that starts with `prefix`."""
        while (line := self.peek()) is not None and not line.startswith(prefix):
            self.position += 1
        return line is not None

    def hunks(self) -> Iterator[Hunk]:
        """The hunks from here on; stops at the first line that belongs to none."""
        self.doubt = None
        while (line := self.peek()) is not None and line.startswith("@@ "):
            header = _hunk_header(line)
            if header is None:
                self.doubt = f"hunk header {line[:80]!r} cannot be read"
                return
            self.position += 1
            yield self._body(*header)

    def _body(self, old: tuple[int, int], new: tuple[int, int], section: str) -> Hunk:
        left, right = old[1], new[1]
        lines: list[str] = []
        while (left > 0 or right > 0) and (line := self.peek()) is not None:
            tag = line[:1] or " "
            if tag == "\\":
                self.position += 1
                continue
            if tag not in {" ", "+", "-"}:
                break
            left -= tag != "+"
            right -= tag != "-"
            lines.append(tag + line[1:MAX_LINE])
            self.position += 1
        if left > 0 or right > 0:
            self.doubt = "a hunk is shorter than its header says"
        while (line := self.peek()) is not None and line.startswith("\\"):
            self.position += 1
        return Hunk(old_start=old[0], new_start=new[0], section=section[:MAX_LINE], lines=tuple(lines))


def _hunk_header(line: str) -> tuple[tuple[int, int], tuple[int, int], str] | None:
    """`@@ -1,7 +1,8 @@ section` in parts; null for anything else."""
    parts = line.split(" ", 4)
    if len(parts) < 4 or parts[0] != "@@" or parts[3] != "@@":  # noqa: PLR2004 - the four words of a header
        return None
    old, new = _range(parts[1], "-"), _range(parts[2], "+")
    if old is None or new is None:
        return None
    return old, new, parts[4] if len(parts) > 4 else ""  # noqa: PLR2004 - same


def _range(word: str, sign: str) -> tuple[int, int] | None:
    start, comma, count = word.removeprefix(sign).partition(",")
    numbers = (start, count) if comma else (start, "1")
    if word[:1] != sign or not all(n.isascii() and n.isdigit() and len(n) <= 9 for n in numbers):  # noqa: PLR2004 - fits 32 bits
        return None
    return int(numbers[0]), int(numbers[1])


def _parse_file(reader: _Reader) -> Patch:
    first = reader.peek() or ""
    reader.position += 1
    header = _extended_header(reader)
    path, previous = _names(first, header)
    if path is None:
        return Patch(path="", hunks=None, doubt=f"file names in {first[:120]!r} cannot be read")
    binary = header.get("binary")
    hunks = tuple(reader.hunks())
    status = _status(header)
    return Patch(
        path=path,
        previous_path=previous if previous != path else None,
        status=status,
        gitlink=GITLINK_MODE in header.get("mode", "").split() or _is_gitlink(hunks),
        hunks=None if binary else hunks,
        doubt="binary change" if binary else reader.doubt,
    )


def _extended_header(reader: _Reader) -> Mapping[str, str]:
    """The lines between `diff --git` and the first hunk, by their first words."""
    found: dict[str, str] = {}
    while (line := reader.peek()) is not None and not line.startswith(("@@ ", "diff --git ")):
        for key in ("new file mode", "deleted file mode", "old mode", "new mode"):
            if line.startswith(key + " "):
                found["mode"] = f"{found.get('mode', '')} {line.rpartition(' ')[2]}"
                found[key] = line
        for key in ("rename from", "rename to", "copy from", "copy to", "---", "+++"):
            if line.startswith(key + " "):
                found[key] = line[len(key) + 1 :].rstrip("\t")
        if line.startswith("index ") and line.endswith(" " + GITLINK_MODE):
            found["mode"] = f"{found.get('mode', '')} {GITLINK_MODE}"
        if line.startswith(("Binary files ", "GIT binary patch")):
            found["binary"] = line
        reader.position += 1
        if line.startswith("+++ "):
            break
    return found


def _status(header: Mapping[str, str]) -> Status:
    if "new file mode" in header or "copy to" in header:
        return Status.ADDED
    if "deleted file mode" in header:
        return Status.REMOVED
    return Status.RENAMED if "rename to" in header else Status.MODIFIED


def _names(first: str, header: Mapping[str, str]) -> tuple[str | None, str | None]:
    """New and old path; a name that never existed on one side is taken from the other."""
    if "rename to" in header:
        return unquote(header["rename to"]), unquote(header.get("rename from", ""))
    if "copy to" in header:
        return unquote(header["copy to"]), None
    old, new = (_side(header.get(key), prefix) for key, prefix in (("---", "a/"), ("+++", "b/")))
    if new or old:
        return new or old, old or new
    rest = first.removeprefix("diff --git ")
    if rest.startswith('"'):
        closing = rest.find('" ')
        name = unquote(rest[: closing + 1]) if closing > 0 else None
    else:
        # Both halves are the same name: `a/x b/x`.
        name = rest[: len(rest) // 2] if rest[2 : len(rest) // 2] == rest[len(rest) // 2 + 3 :] else None
    plain = name.removeprefix("a/") if name else None
    return plain, plain


def _side(text: str | None, prefix: str) -> str | None:
    if text is None or text == "/dev/null":
        return None
    return unquote(text).removeprefix(prefix)


def unquote(text: str) -> str:
    r"""The name behind git's C-style quotes: `"a\303\244"` is `aä`; a name without quotes as it is."""
    if len(text) < 2 or not (text.startswith('"') and text.endswith('"')):  # noqa: PLR2004 - two quotes
        return text
    body, out, index = text[1:-1], bytearray(), 0
    while index < len(body):
        char = body[index]
        following = body[index + 1 : index + 2]
        octal = body[index + 1 : index + 4]
        if char != "\\":
            out += char.encode("utf-8", "surrogateescape")
            index += 1
        elif len(octal) == 3 and all(c in "01234567" for c in octal):  # noqa: PLR2004 - three octal digits
            out.append(int(octal, 8) & 255)
            index += 4
        else:
            out.append(_ESCAPES.get(following, ord("?")))
            index += 2
    return out.decode("utf-8", "replace")


STATUS_OF_LETTER: Final[Mapping[str, Status]] = {
    "A": Status.ADDED,
    "C": Status.ADDED,
    "M": Status.MODIFIED,
    "T": Status.MODIFIED,
    "D": Status.REMOVED,
    "R": Status.RENAMED,
}
"""Letters of `git diff --raw`."""
STATUS_OF_API: Final[Mapping[str, Status]] = {
    "added": Status.ADDED,
    "copied": Status.ADDED,
    "modified": Status.MODIFIED,
    "changed": Status.MODIFIED,
    "removed": Status.REMOVED,
    "renamed": Status.RENAMED,
    "unchanged": Status.MODIFIED,
}
"""Words of GitHub's file list. Source: octokit/openapi, schema `diff-entry`."""
