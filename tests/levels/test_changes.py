"""Diff texts and what is read of them."""

import time

import pytest

from levels.changes import Patch, Source, Status, from_source, parse_diff, unquote

HEAD = "diff --git a/a.py b/a.py\n"
BODY = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@ def f():\n x\n-y\n+z\n"


def only(text: str) -> Patch:
    patches, doubt = parse_diff(text)
    assert doubt is None
    assert len(patches) == 1
    return patches[0]


@pytest.mark.parametrize(
    ("text", "path", "previous", "status"),
    [
        pytest.param(HEAD + "index 1..2 100644\n" + BODY, "a.py", None, Status.MODIFIED, id="modified"),
        pytest.param(
            HEAD + "new file mode 100644\n--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+z\n",
            "a.py",
            None,
            Status.ADDED,
            id="added",
        ),
        pytest.param(
            HEAD + "deleted file mode 100644\n--- a/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-z\n",
            "a.py",
            None,
            Status.REMOVED,
            id="removed",
        ),
        pytest.param(
            "diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n",
            "new",
            "old",
            Status.RENAMED,
            id="pure-rename",
        ),
        pytest.param(
            "diff --git a/x y b/x y\nold mode 100644\nnew mode 100755\n", "x y", None, Status.MODIFIED, id="mode"
        ),
        pytest.param(
            'diff --git "a/\\303\\244.py" "b/\\303\\244.py"\n'
            '--- "a/\\303\\244.py"\n+++ "b/\\303\\244.py"\n@@ -1 +1 @@\n-a\n+b\n',
            "ä.py",
            None,
            Status.MODIFIED,
            id="quoted",
        ),
        pytest.param("commit 1\n\n    message\n\n" + HEAD + BODY, "a.py", None, Status.MODIFIED, id="git-show"),
    ],
)
def test_names_and_status(text: str, path: str, previous: str | None, status: Status) -> None:
    patch = only(text)
    assert (patch.path, patch.previous_path, patch.status, patch.doubt) == (path, previous, status, None)


def test_lines_and_section_of_a_hunk() -> None:
    hunks = only(HEAD + BODY).hunks
    assert hunks is not None
    assert [(h.old_start, h.new_start, h.section, h.lines) for h in hunks] == [(1, 1, "def f():", (" x", "-y", "+z"))]


def test_a_line_that_looks_like_a_header_stays_in_its_hunk() -> None:
    text = HEAD + "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,1 @@\n--- a/evil\n-diff --git a/docs b/docs\n+@@ -1 +1 @@\n"
    hunks = only(text).hunks
    assert hunks is not None
    assert hunks[0].lines == ("--- a/evil", "-diff --git a/docs b/docs", "+@@ -1 +1 @@")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "diff --git a/m b/m\nindex " + "1" * 40 + ".." + "2" * 40 + " 160000\n--- a/m\n+++ b/m\n@@ -1 +1 @@\n"
            "-Subproject commit 1\n+Subproject commit 2\n",
            id="diff",
        ),
        pytest.param(
            "diff --git a/m b/m\n--- a/m\n+++ b/m\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n", id="text"
        ),
    ],
)
def test_a_gitlink_is_seen(text: str) -> None:
    assert only(text).gitlink


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        pytest.param(HEAD + "Binary files a/a.py and b/a.py differ\n", "binary change", id="binary"),
        pytest.param(HEAD + "--- a/a.py\n+++ b/a.py\n@@ -1,9 +1,9 @@\n x\n", "a hunk is shorter", id="cut-off"),
        pytest.param(HEAD + "--- a/a.py\n+++ b/a.py\n@@ -x +1 @@\n x\n", "cannot be read", id="bad-header"),
    ],
)
def test_doubts_of_one_file(text: str, doubt: str) -> None:
    assert doubt in (only(text).doubt or "")


def test_a_text_that_is_no_diff_is_a_doubt() -> None:
    assert parse_diff("hello\n") == ((), "no `diff --git` line in the diff")
    assert parse_diff("") == ((), None)


@pytest.mark.parametrize(
    ("source", "hunks", "doubt"),
    [
        pytest.param(Source(path="a", patch="@@ -1 +1 @@\n-x\n+y", lines=2), 1, None, id="patch"),
        pytest.param(
            Source(path="a", patch="@@ -1 +1 @@\n-x\n+y\nrubbish", lines=2), None, "not part of a hunk", id="rubbish"
        ),
        pytest.param(Source(path="a", lines=900), None, "no patch", id="left-out-by-github"),
        pytest.param(Source(path="a", lines=0, status=Status.RENAMED), 0, None, id="pure-rename"),
        pytest.param(Source(path="a.py", lines=0, status=Status.ADDED), 0, None, id="empty-file"),
        pytest.param(Source(path="a.so", lines=0), None, "0 changed lines and no patch", id="binary"),
        pytest.param(Source(path="m", gitlink=True, lines=2), None, None, id="gitlink"),
        pytest.param(Source(path="a", status=Status.UNKNOWN), None, None, id="path-only"),
    ],
)
def test_entries_of_a_file_list(source: Source, hunks: int | None, doubt: str | None) -> None:
    patch = from_source(source)
    assert (None if patch.hunks is None else len(patch.hunks)) == hunks
    assert (doubt in (patch.doubt or "")) if doubt else patch.doubt is None


def test_a_hostile_diff_takes_linear_time() -> None:
    text = HEAD + "--- a/a.py\n+++ b/a.py\n" + "@@ -1 +1 @@\n-x\n+y\n" * 100_000 + "@@ " * 100_000
    start = time.monotonic()
    parse_diff(text)
    assert time.monotonic() - start < 10


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("plain", "plain", id="plain"),
        pytest.param('"a\\tb"', "a\tb", id="tab"),
        pytest.param('"\\"', "?", id="cut-off-escape"),
        pytest.param('"', '"', id="one-quote"),
    ],
)
def test_unquote(text: str, name: str) -> None:
    assert unquote(text) == name
