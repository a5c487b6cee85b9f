"""Which functions a patch changes, and which patches change nothing."""

import difflib

import pytest

from levels.changes import Hunk, Patch, Status
from levels.units import change_of, units_of

OLD = '''"""Module."""

import os
from x import (
    a,
)

LIMIT = 1


class Bridge(Base):
    """Class."""

    field: int = 1

    def load(self, path):
        """Load.

        Long.
        """
        # a comment
        if path:
            return os.stat(path)
        return a(1, 2)

    def save(self):
        return LIMIT
'''


def patch(old: str, new: str, *, context: int = 10_000, status: Status = Status.MODIFIED, path: str = "m.py") -> Patch:
    """The patch of one file as git writes it, with git's default sections (lines that begin at column 0)."""
    before, after = old.splitlines(), new.splitlines()
    hunks = []
    for group in difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(context):
        lines: list[str] = []
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [" " + line for line in before[i1:i2]]
                continue
            lines += ["-" + line for line in before[i1:i2]] + ["+" + line for line in after[j1:j2]]
        start = group[0][1]
        section = next((line for line in reversed(before[:start]) if line[:1].isalpha()), "")
        hunks.append(
            Hunk(old_start=start + bool(before), new_start=group[0][3] + 1, section=section, lines=tuple(lines))
        )
    return Patch(path=path, status=status, hunks=tuple(hunks))


def scopes(given: Patch) -> list[str]:
    return [unit.scope for unit in units_of(given)]


@pytest.mark.parametrize(
    ("before", "after", "whole", "partial"),
    [
        pytest.param("# a comment", "# another", [], ["Bridge.?"], id="comment-below-a-cut-off-string"),
        pytest.param("        Long.", "        Longer.", [], [], id="docstring-in-view"),
        pytest.param("        return LIMIT", "        # why\n        return LIMIT", [], [], id="comment"),
        pytest.param('"""Class."""', '"""A class."""', [], [], id="docstring"),
        pytest.param("a(1, 2)", "a(\n            1,\n            2,\n        )", [], ["Bridge.?"], id="layout"),
        pytest.param("return LIMIT", "return LIMIT  # why", [], ["Bridge.save"], id="trailing-comment"),
        pytest.param("return LIMIT", "return 2", ["Bridge.save"], ["Bridge.save"], id="method"),
        pytest.param("a(1, 2)", "a(1, 3)", ["Bridge.load"], ["Bridge.?"], id="method-out-of-view"),
        pytest.param("field: int = 1", "field: int = 2", ["Bridge"], ["Bridge.?"], id="class-body"),
        pytest.param("LIMIT = 1", "LIMIT = 2", ["<module>"], ["<module>"], id="module"),
        pytest.param("    a,\n", "    a,\n    b,\n", ["<imports>"], ["<imports>"], id="imports"),
    ],
)
def test_scopes(before: str, after: str, whole: list[str], partial: list[str]) -> None:
    new = OLD.replace(before, after, 1)
    assert scopes(patch(OLD, new)) == whole
    assert scopes(patch(OLD, new, context=2)) == partial


def test_a_docstring_that_is_cut_off_counts_as_code() -> None:
    assert scopes(patch(OLD, OLD.replace("        Long.", "        Longer."), context=1)) == ["Bridge.?"]


def test_indentation_is_code() -> None:
    old = "def f(a):\n    if a:\n        x()\n        y()\n"
    assert scopes(patch(old, "def f(a):\n    if a:\n        x()\n    y()\n")) == ["f"]


def test_a_statement_that_moves_is_code() -> None:
    assert scopes(patch("def f():\n    x()\n    y()\n    z()\n", "def f():\n    y()\n    z()\n    x()\n")) == ["f"]


def test_a_new_file_shows_every_definition() -> None:
    found = scopes(patch("", OLD, status=Status.ADDED))
    assert found == ["<imports>", "<module>", "Bridge", "Bridge.load", "Bridge.save"]


def test_a_file_that_is_no_python_any_more_counts_as_code() -> None:
    assert scopes(patch("x = 1\n", "x = = 1\n")) == ["<module>"]


def test_a_hash_inside_an_open_string_counts_as_code() -> None:
    hunk = Hunk(old_start=50, new_start=50, section="def f():", lines=('     x = """', "-# 1", "+# 2", "     y"))
    assert scopes(Patch(path="m.py", hunks=(hunk,))) == ["<module>"]


@pytest.mark.parametrize(
    ("section", "line", "scope"),
    [
        pytest.param("def save(self):", "        x = 1", "save", id="in-the-method"),
        pytest.param("def save(self):", "    x = 1", "?", id="after-the-method"),
        pytest.param("def save(path):", "    x = 1", "save", id="in-the-function"),
        pytest.param("def save(path):", "x = 1", "<module>", id="after-the-function"),
        pytest.param("class A(B):", "        x = 1", "A.?", id="some-method"),
        pytest.param("", "    x = 1", "<module>", id="no-section"),
    ],
)
def test_the_section_of_a_hunk(section: str, line: str, scope: str) -> None:
    hunk = Hunk(old_start=50, new_start=50, section=section, lines=("+" + line,))
    assert scopes(Patch(path="m.py", hunks=(hunk,))) == [scope]


def test_files_that_are_not_python_have_one_unit() -> None:
    assert scopes(patch("a: 1\n", "a: 2\n", path="x.yaml")) == ["<module>"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("(" * 5_000, id="parentheses"),
        pytest.param("x = " + "-" * 20_000 + "1", id="unary"),
        pytest.param("\n".join(" " * i + "if x:" for i in range(99)), id="nesting"),
        pytest.param("\0", id="nul"),
        pytest.param('"""', id="quotes"),
    ],
)
def test_hostile_code_never_raises(text: str) -> None:
    assert change_of(patch("", text, status=Status.ADDED)).path == "m.py"
