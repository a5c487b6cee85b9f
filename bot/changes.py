"""What changed: from a git repository, a list of paths or a diff file to an Analysis. Levels never stand here.

Git runs on repositories that hold hostile commits: plumbing only, no hooks, filters, attributes, external diff or
textconv, no fetching, no configuration but the repository's own, with time and size limits.
"""

import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from bot.parse_changes import Analysis, Request
from bot.sandbox import analyse
from levels.changes import GITLINK_MODE, MAX_DIFF_CHARACTERS, STATUS_OF_LETTER, Source, Status
from levels.errors import UsageError

GIT_SECONDS: Final = 60
MAX_LIST_BYTES: Final = 16_000_000
WHOLE_FILE: Final = 1_000_000
"""Lines of context: functions and comments are told apart by the whole file."""
_HARDENED: Final = (
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.attributesFile=/dev/null",
    "-c", "core.fsmonitor=false",
    "-c", "core.quotePath=true",
    "-c", "diff.external=",
    "-c", "diff.renameLimit=5000",
    "-c", "diff.noprefix=false",
    "-c", "diff.mnemonicPrefix=false",
    "-c", "protocol.allow=never",
    "-c", "safe.directory=*",
    "--no-pager",
    "--literal-pathspecs",
    "--no-replace-objects",
)  # fmt: skip
_DIFF: Final = (
    "diff-tree", "-r", "--find-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "--no-color",
    "--no-relative", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
Wants = Callable[[str], bool]


def changes_between(
    repo: Path, base: str, head: str, *, wants: Wants | None = None, merge_base: bool = True
) -> Analysis:
    """What `head` changes since its merge base with `base` (or since `base` itself).

    Args:
        repo: a git repository, bare or not.
        base: a commit, branch or tag.
        head: the same.
        wants: whether the lines of a path are needed; by default those of every path.
        merge_base: whether to start at the merge base, as GitHub does.

    Raises:
        UsageError: when git knows no such commit, or no common history.

    """
    old, new = _commit(repo, base), _commit(repo, head)
    if merge_base:
        old = _merge_base(repo, old, new)
    entries = _entries(_listing(repo, old, new))
    wanted = [entry for entry in entries if not entry.gitlink and (wants is None or _any_name(entry, wants))]
    if not wanted:
        return analyse(Request(sources=entries))
    names = sorted({name for entry in wanted for name in (entry.path, entry.previous_path) if name})
    return _with_patches(repo, entries, {entry.path for entry in wanted}, [old, new, "--", *names])


def _listing(repo: Path, old: str, new: str) -> bytes:
    try:
        return _git(repo, [*_DIFF, "--raw", "-z", "--no-abbrev", old, new], limit=MAX_LIST_BYTES)
    except (_FailedError, _TooMuchError) as error:
        raise UsageError(
            doing=f"listing the files between {old[:12]} and {new[:12]}",
            found=str(error),
            expected="two complete trees",
            next_step="fetch both commits with their trees, or check --base",
        ) from error


def _any_name(entry: Source, wants: Wants) -> bool:
    return wants(entry.path) or bool(entry.previous_path and wants(entry.previous_path))


def _with_patches(repo: Path, entries: tuple[Source, ...], wanted: set[str], arguments: Sequence[str]) -> Analysis:
    try:
        diff = _git(repo, [*_DIFF, "-p", f"-U{WHOLE_FILE}", *arguments], limit=MAX_DIFF_CHARACTERS)
    except (_FailedError, _TooMuchError) as error:
        # A patch that is asked for and missing is a doubt of its file, and a doubt widens.
        lost = tuple(_lost(entry) if entry.path in wanted else entry for entry in entries)
        analysis = analyse(Request(sources=lost))
        return msgspec.structs.replace(analysis, doubts=(*analysis.doubts, f"the patches were not read: {error}"))
    text = diff.decode("utf-8", "replace")
    sources = tuple(_lost(entry) if entry.path in wanted else entry for entry in entries)
    return analyse(Request(sources=sources, diff=text))


def _lost(entry: Source) -> Source:
    """The entry such that, if the diff does not show it, it counts as unreadable."""
    return msgspec.structs.replace(entry, lines=1)


def _entries(raw: bytes) -> tuple[Source, ...]:
    """The files of `git diff-tree --raw -z`: `:mode mode sha sha STATUS`, path, and a second path after R or C."""
    words = iter(raw.decode("utf-8", "replace").split("\0"))
    found: list[Source] = []
    for word in words:
        if not word.startswith(":"):
            continue
        old_mode, new_mode, _, _, letter = word[1:].split(" ")
        first = next(words)
        second = next(words) if letter[0] in "RC" else None
        found.append(
            Source(
                path=second or first,
                previous_path=first if letter[0] == "R" else None,
                status=STATUS_OF_LETTER.get(letter[0], Status.MODIFIED),
                gitlink=GITLINK_MODE in {old_mode, new_mode},
            )
        )
    return tuple(found)


def _commit(repo: Path, revision: str) -> str:
    try:
        out = _git(repo, ["rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}"], limit=1000)
    except (_FailedError, _TooMuchError) as error:
        raise UsageError(
            doing=f"looking up {revision!r} in {repo}",
            found=str(error),
            expected="a commit, branch or tag of that repository",
            next_step="fetch it, or correct --repo, --base or --head",
        ) from error
    return out.decode().strip()


def _merge_base(repo: Path, old: str, new: str) -> str:
    try:
        return _git(repo, ["merge-base", old, new], limit=1000).decode().strip()
    except (_FailedError, _TooMuchError) as error:
        raise UsageError(
            doing=f"looking for the merge base of {old[:12]} and {new[:12]}",
            found=f"none ({error})",
            expected="two commits with a common history",
            next_step="fetch more history (the clone may be shallow)",
        ) from error


class _FailedError(Exception):
    """Git ended with an error."""


class _TooMuchError(Exception):
    """Git's output passed the limit, or its time."""


def _git(repo: Path, arguments: Sequence[str], *, limit: int) -> bytes:
    """The output of one git command.

    Raises:
        _FailedError: when git ends with an error.
        _TooMuchError: when it says more than `limit` bytes or takes too long.

    """
    environment = {
        "PATH": os.defpath + ":/usr/local/bin",
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
    # A file, not a pipe: git cannot block on us, and its size is known before a byte is read.
    with tempfile.TemporaryFile() as out:
        try:
            done = subprocess.run(
                ["git", "-C", str(repo), *_HARDENED, *arguments],
                stdout=out,
                stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                env=environment,
                timeout=GIT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise _TooMuchError(f"git took more than {GIT_SECONDS} s") from error
        except OSError as error:
            raise _FailedError(f"git cannot be started: {error}") from error
        if done.returncode:
            raise _FailedError(done.stderr.decode("utf-8", "replace").strip()[:300] or f"exit code {done.returncode}")
        size = out.seek(0, os.SEEK_END)
        if size > limit:
            raise _TooMuchError(f"git wrote {size} bytes, at most {limit} are read")
        out.seek(0)
        return out.read()


def changes_from_diff(diff: bytes) -> Analysis:
    """What a diff text shows."""
    return analyse(Request(diff=diff.decode("utf-8", "replace")))


def changes_from_list(text: str, diff: bytes | None = None) -> Analysis:
    """The changes of a list of paths, with the lines of `diff` where it shows the same path.

    Raises:
        UsageError: when `text` is neither one path a line nor a JSON list of paths.

    """
    sources = _listed(text)
    if diff is None:
        return analyse(Request(sources=sources))
    return analyse(Request(sources=sources, diff=diff.decode("utf-8", "replace")))


class _Named(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a JSON list that is more than a path; other fields are not read."""

    path: str
    previous_path: str | None = None
    status: Status = Status.UNKNOWN


def _listed(text: str) -> tuple[Source, ...]:
    if not text.lstrip().startswith("["):
        names = [line.removesuffix("\r") for line in text.split("\n")]
        return tuple(Source(path=name, status=Status.UNKNOWN) for name in names if name.strip())
    try:
        entries = msgspec.json.decode(text, type=list[str | _Named])
    except msgspec.DecodeError as error:
        raise UsageError(
            doing="reading the list of paths",
            found=str(error),
            expected='one path a line, or a JSON list such as ["docs/index.md"]',
            next_step="correct the file given to --paths-from",
        ) from error
    return tuple(
        Source(path=entry, status=Status.UNKNOWN)
        if isinstance(entry, str)
        else Source(path=entry.path, previous_path=entry.previous_path, status=entry.status)
        for entry in entries
    )
