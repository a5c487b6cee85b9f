"""Changes read from real git repositories, some of them hostile."""

import os
import subprocess
from pathlib import Path

import pytest

from bot.changes import changes_between, changes_from_diff, changes_from_list
from levels.changes import Change, Status
from levels.errors import UsageError

ENV = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}
BASE = {
    "src/a.py": "def f():\n    return 1\n\n\ndef g():\n    return 2\n",
    "src/old.py": "x = 1\ny = 2\nz = 3\n",
    "src/gone.py": "x = 1\n",
    "docs/a b.md": "a\n",
}


def git(repo: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(repo), *arguments], env=ENV, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(repo: Path, files: dict[str, str | None], message: str = "m") -> str:
    for name, text in files.items():
        path = repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text, encoding="utf-8")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", message)
    return git(repo, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, dict(BASE))
    return folder


def by_path(changes: tuple[Change, ...]) -> dict[str, Change]:
    return {change.path: change for change in changes}


def test_every_kind_of_change(repo: Path) -> None:
    files = {
        "src/a.py": BASE["src/a.py"].replace("2", "3"),
        "src/old.py": None,
        "src/new.py": BASE["src/old.py"],
        "src/gone.py": None,
        "src/added.py": "y = 1\n",
    }
    head = commit(repo, files)
    analysis = changes_between(repo, "HEAD~1", head)
    found = by_path(analysis.changes)
    assert analysis.doubts == ()
    assert {path: change.status for path, change in found.items()} == {
        "src/a.py": Status.MODIFIED,
        "src/new.py": Status.RENAMED,
        "src/gone.py": Status.REMOVED,
        "src/added.py": Status.ADDED,
    }
    assert found["src/new.py"].previous_path == "src/old.py"
    assert [unit.scope for unit in found["src/a.py"].units or ()] == ["g"]


def test_the_merge_base_counts(repo: Path) -> None:
    git(repo, "checkout", "-qb", "change")
    head = commit(repo, {"src/a.py": "z = 1\n"})
    git(repo, "checkout", "-q", "main")
    commit(repo, {"src/elsewhere.py": "z = 1\n"})
    assert list(by_path(changes_between(repo, "main", head).changes)) == ["src/a.py"]


def test_a_submodule_is_a_gitlink(repo: Path) -> None:
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},3rdparty/Megatron-LM")
    git(repo, "commit", "-qm", "pin")
    git(repo, "update-index", "--cacheinfo", f"160000,{'2' * 40},3rdparty/Megatron-LM")
    git(repo, "commit", "-qm", "bump")
    change = by_path(changes_between(repo, "HEAD~1", "HEAD").changes)["3rdparty/Megatron-LM"]
    assert change.gitlink
    assert change.doubt is None


def test_a_bare_repository_and_a_name_with_blanks(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"docs/a b.md": "b\n", "src/ä.py": "x = 1\n"})
    git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
    found = by_path(changes_between(tmp_path / "bare.git", "HEAD~1", "HEAD").changes)
    assert set(found) == {"docs/a b.md", "src/ä.py"}
    assert all(change.units and change.doubt is None for change in found.values())


def test_no_program_of_the_repository_runs(repo: Path, tmp_path: Path) -> None:
    trap = tmp_path / "ran"
    git(repo, "config", "diff.external", f"touch {trap}; true")
    git(repo, "config", "diff.evil.textconv", f"touch {trap}; cat")
    git(repo, "config", "diff.evil.command", f"touch {trap}; true")
    git(repo, "config", "core.fsmonitor", f"touch {trap}")
    commit(repo, {".gitattributes": "*.py diff=evil\n", "src/a.py": "z = 1\n"})
    trap.unlink(missing_ok=True)
    found = by_path(changes_between(repo, "HEAD~1", "HEAD").changes)
    assert not trap.exists()
    assert found["src/a.py"].units


def test_a_patch_that_attributes_hide_is_a_doubt(repo: Path) -> None:
    commit(repo, {".gitattributes": "*.py -diff\n", "src/a.py": "z = 1\n"})
    assert by_path(changes_between(repo, "HEAD~1", "HEAD").changes)["src/a.py"].doubt == "binary change"


def test_lines_are_read_only_where_they_are_wanted(repo: Path) -> None:
    commit(repo, {"docs/a b.md": "b\n", "src/a.py": "z = 1\n"})
    analysis = changes_between(repo, "HEAD~1", "HEAD", wants=lambda path: path.startswith("src/"))
    found = by_path(analysis.changes)
    assert found["docs/a b.md"].units is None
    assert found["src/a.py"].units


@pytest.mark.parametrize(
    ("base", "head", "found"),
    [
        pytest.param("nobody", "HEAD", "'nobody'", id="unknown"),
        pytest.param("HEAD", "--output=/tmp/x", "'--output=/tmp/x'", id="an-option-as-a-name"),
    ],
)
def test_a_commit_that_git_does_not_know(repo: Path, base: str, head: str, found: str) -> None:
    with pytest.raises(UsageError, match="fetch it, or correct") as caught:
        changes_between(repo, base, head)
    assert found in str(caught.value)


def test_histories_without_a_common_commit(repo: Path) -> None:
    git(repo, "checkout", "-q", "--orphan", "other")
    commit(repo, {"src/a.py": "q = 1\n"})
    with pytest.raises(UsageError, match="common history"):
        changes_between(repo, "main", "other")


DIFF = (
    b"diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n"
    b"@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n"
)


def test_a_diff_adds_lines_to_a_list_and_paths_of_its_own() -> None:
    found = by_path(changes_from_list("docs/x.md\n", DIFF).changes)
    assert found["docs/x.md"].units is None
    assert [unit.scope for unit in found["src/a.py"].units or ()] == ["f"]
    assert changes_from_diff(DIFF).changes == (found["src/a.py"],)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        pytest.param("a.py\r\nb c.py\n\n", ["a.py", "b c.py"], id="lines"),
        pytest.param('["a.py", {"path": "b.py", "status": "removed", "additions": 3}]', ["a.py", "b.py"], id="json"),
        pytest.param("", [], id="empty"),
    ],
)
def test_lists(text: str, paths: list[str]) -> None:
    assert [change.path for change in changes_from_list(text).changes] == paths


def test_a_list_that_is_no_list() -> None:
    with pytest.raises(UsageError, match="JSON list"):
        changes_from_list("[1, 2]")
