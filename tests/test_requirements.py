"""Every sentence of the procedures has a row, every row a place and a test, and without the place the test is red.

The mutations run as a seeded sample; `pytest -m exhaustive` runs them all.
"""

import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from levels.requirements import Row, load
from tests.tools.sentences import FILES, sentences, short

ROOT = Path(__file__).parents[1]
ROWS = load().rows
PLACED = [row for row in ROWS if row.open is None]
SAMPLE = random.Random(20261201).sample(PLACED, 3)  # noqa: S311 - a sample, no secret
COPIED = ("levels", "action", "bot", "tests", "tools", "examples", ".github", "pyproject.toml", "README.md")


@pytest.mark.parametrize("suite", list(FILES))
def test_every_sentence_has_one_row(suite: str) -> None:
    known = [short(item) for item in sentences(suite)]
    listed = [name for row in ROWS for name in (row.verl if suite == "verl" else row.nemo_rl)]
    assert sorted(listed) == sorted(set(known)), "a sentence is missing, unknown, or listed twice"
    assert len(known) > 180


def test_ids_stand_once() -> None:
    assert len({row.id for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_row_has_a_place_and_a_test(row: Row) -> None:
    if row.open is not None:
        assert (row.file, row.key, row.test) == (None, None, None)
        return
    assert row.file is not None
    assert row.key is not None
    assert row.test is not None
    file, _, function = row.test.partition("::")
    assert (ROOT / file).is_file()
    assert not function or f"def {function}(" in (ROOT / file).read_text(encoding="utf-8")
    assert removed(row) != (ROOT / row.file).read_text(encoding="utf-8")


def removed(row: Row) -> str:
    """The file's text without the place that `row` names."""
    assert row.file is not None
    assert row.key is not None
    text = (ROOT / row.file).read_text(encoding="utf-8")
    if row.file.endswith(".py"):
        found = re.subn(rf"^(\s*)def {row.key}\(", rf"\1def {row.key}_is_gone(", text, flags=re.MULTILINE)
        assert found[1] == 1, f"{row.file} has {found[1]} functions {row.key}"
        return found[0]
    data: Any = yaml.safe_load(text)
    *parents, last = row.key.split(".")
    where = data
    for name in parents:
        where = entry(where, name)
    entry(where, last)
    if isinstance(where, dict):
        del where[last]
    else:
        where.remove(entry(where, last))
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True)


def entry(where: Any, name: str) -> Any:  # noqa: ANN401 - YAML
    if isinstance(where, dict):
        return where[name]
    for item in where:
        if name in (item.get("id"), item.get("suite"), item.get("key"), item.get("boundary")) or (
            name.isdecimal() and item.get("number") == int(name)
        ):
            return item
    return where[int(name)]


def is_red(row: Row, folder: Path) -> bool:
    """Whether the row's test fails in a copy of the project without the row's place."""
    assert row.file is not None
    assert row.test is not None
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", ".hypothesis")
            shutil.copytree(source, folder / name, ignore=ignored, symlinks=True)
        else:
            shutil.copy(source, folder / name)
    (folder / row.file).write_text(removed(row), encoding="utf-8")
    options = ("-q", "-x", "-p", "no:randomly", "-p", "no:xdist", "-m", "not ray and not act and not exhaustive")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, row.test],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "UPDATE_GOLDEN"))},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode in (1, 2, 4)


@pytest.mark.parametrize("row", SAMPLE, ids=lambda row: row.id)
def test_without_the_place_the_test_is_red(row: Row, tmp_path: Path) -> None:
    assert is_red(row, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", PLACED, ids=lambda row: row.id)
def test_without_any_place_its_test_is_red(row: Row, tmp_path: Path) -> None:
    assert is_red(row, tmp_path)
