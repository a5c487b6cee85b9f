"""Reads commits, trees and diffs out of a git directory by plumbing commands. It never writes there."""

import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from bot.rehearsal.state import ChangedFile, Commit, Entry, Person

MAX_COMMITS: Final = 50
"""Older history is not served: a rehearsal's repositories are small."""
MAX_PATCH_LINES: Final = 3_000
"""GitHub leaves the patch out of very large files; its own limit is not documented."""
MAX_BLOB_BYTES: Final = 1024 * 1024
STATUS: Final[dict[str, Literal["added", "removed", "modified", "renamed", "copied", "changed"]]] = {
    "A": "added",
    "D": "removed",
    "M": "modified",
    "R": "renamed",
    "C": "copied",
    "T": "changed",
}
KINDS: Final[dict[str, Literal["file", "dir", "symlink", "submodule"]]] = {
    "040000": "dir",
    "120000": "symlink",
    "160000": "submodule",
}
EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
COMMIT_FIELDS: Final = ("%H", "%T", "%P", "%an", "%ae", "%at", "%cn", "%ce", "%ct", "%B")


def git(git_dir: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """Standard output of one git command.

    Raises:
        subprocess.CalledProcessError: with git's own words.

    """
    command = ["git", "-C", str(git_dir), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=True).stdout


def resolve(git_dir: Path, revision: str) -> str:
    """The commit that a revision names, 40 hex digits."""
    return git(git_dir, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").decode().strip()


def branches(git_dir: Path) -> dict[str, str]:
    """Branch names and their commits."""
    rows = git(git_dir, "for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads").decode().split("\n")
    return {name: sha for sha, _, name in (row.partition(" ") for row in rows if row)}


def _person(name: str, email: str, seconds: str) -> Person:
    return Person(name=name, email=email, date=datetime.fromtimestamp(int(seconds), UTC))


def commits(git_dir: Path, tips: Sequence[str], known: frozenset[str] = frozenset()) -> dict[str, Commit]:
    """The newest commits reachable from `tips` that are not `known`."""
    fields = "%x1f".join(COMMIT_FIELDS)
    output = git(git_dir, "log", "-z", f"--max-count={MAX_COMMITS}", f"--format={fields}", *tips, "--")
    found = {}
    for row in output.decode(errors="replace").split("\0"):
        if not row or row[:40] in known:
            continue
        sha, tree_id, parents, *people, message = row.split("\x1f", len(COMMIT_FIELDS) - 1)
        found[sha] = Commit(
            sha=sha,
            tree=tree_id,
            parents=parents.split(),
            message=message.strip("\n"),
            author=_person(*people[:3]),
            committer=_person(*people[3:]),
            files=diff(git_dir, parents.split()[0] if parents else EMPTY_TREE, sha),
        )
    return found


def tree(git_dir: Path, sha: str) -> dict[str, Entry]:
    """Every path of a commit. A directory, a submodule and a file missing from a partial clone have size 0."""
    entries = {}
    for row in git(git_dir, "ls-tree", "-r", "-t", "-l", "-z", sha).decode(errors="replace").split("\0"):
        if row:
            facts, _, path = row.partition("\t")
            mode, _, blob, size = facts.split()
            entries[path] = Entry(kind=KINDS.get(mode, "file"), sha=blob, size=int(size) if size.isdigit() else 0)
    return entries


def blobs(git_dir: Path, ids: Sequence[str]) -> dict[str, bytes]:
    """Bytes of the named blobs; those above the size limit, or missing from a partial clone, are left out."""
    output = git(git_dir, "cat-file", "--batch", stdin="".join(f"{one}\n" for one in ids).encode())
    found, position = {}, 0
    while position < len(output):
        end = output.index(b"\n", position)
        blob, kind, *size = output[position:end].decode().split()
        position = end + 1
        if kind == "missing":
            continue
        content = output[position : position + int(size[0])]
        position += len(content) + 1
        if len(content) <= MAX_BLOB_BYTES:
            found[blob] = content
    return found


def _patches(git_dir: Path, base: str, head: str) -> list[str]:
    """Hunks of every file in the order of the raw listing; a type change has two entries."""
    text = git(git_dir, "diff-tree", "-r", "-M", "-p", "--no-ext-diff", "--no-color", "--submodule=short", base, head)
    patches: list[list[str]] = []
    for line in text.decode(errors="replace").split("\n"):
        if line.startswith("diff --git "):
            patches.append([])
        elif patches and (patches[-1] or line.startswith("@@ ")):
            patches[-1].append(line)
    return ["\n".join(lines).removesuffix("\n") for lines in patches]


def _count(patch: str, sign: str) -> int:
    return sum(line.startswith(sign) for line in patch.split("\n"))


def diff(git_dir: Path, base: str, head: str) -> list[ChangedFile]:
    """Changed files between two commits or trees, with renames found as GitHub finds them."""
    raw = git(git_dir, "diff-tree", "-r", "-M", "--raw", "-z", "--no-abbrev", base, head).decode(errors="replace")
    tokens = iter(raw.split("\0"))
    patches = iter(_patches(git_dir, base, head))
    files = []
    for header in tokens:
        if not header.startswith(":"):
            continue
        _, _, old, new, letter = header.split()
        first = next(tokens)
        moved = letter[0] in "RC"
        patch = next(patches, "")
        if letter[0] == "T":
            patch = f"{patch}\n{next(patches, '')}"
        files.append(
            ChangedFile(
                filename=next(tokens) if moved else first,
                previous_filename=first if moved else None,
                status=STATUS[letter[0]],
                sha=old if letter[0] == "D" else new,
                additions=_count(patch, "+"),
                deletions=_count(patch, "-"),
                patch=patch if patch and patch.count("\n") < MAX_PATCH_LINES else None,
            )
        )
    return files
