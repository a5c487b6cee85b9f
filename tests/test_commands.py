"""What our texts tell people to type exists and is understood."""

import argparse
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from action import __main__ as action_main
from bot import plan_cli
from bot.rehearsal import cli as rehearsal_cli
from bot.view import LegView
from levels import __main__ as levels_main
from levels.catalogue import load
from levels.cli import COMMANDS
from levels.model import Suite
from levels.plan import Choice, Selection, build_legs

ROOT = Path(__file__).resolve().parents[1]
TEXTS = ("README.md", "CHANGELOG.md", "action", "bot", "levels", "examples", "tools", "requirements")
SUFFIXES = {".md", ".py", ".yaml", ".yml", ".j2", ".sh", ""}
PARSERS: dict[str, tuple[Callable[[], argparse.ArgumentParser], bool]] = {
    "run": (action_main.parser, True),
    "judge": (levels_main.parser, True),
    "plan": (plan_cli.parser, False),
    "rehearse": (rehearsal_cli.parser, False),
}
"""Command to its parser, and whether that parser reads the command's own name too."""


def shipped() -> Iterator[tuple[str, str]]:
    """Name and text of every file that people read or our programs print from."""
    for name in TEXTS:
        path = ROOT / name
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file() and file.suffix in SUFFIXES and "__pycache__" not in file.parts:
                yield str(file.relative_to(ROOT)), file.read_text(encoding="utf-8")


def test_every_command_that_a_text_names_exists() -> None:
    named = {(file, word) for file, text in shipped() for word in re.findall(r"`bridge-e2e ([a-z][a-z-]*)", text)}
    assert {word for _, word in named} >= {"catalogue", "rehearse"}
    assert sorted((file, word) for file, word in named if word not in COMMANDS) == []


def understood(line: str) -> None:
    """Parse one command line. Raises: SystemExit, as argparse does."""
    program, command, *rest = shlex.split(line, comments=True)
    assert program == "bridge-e2e"
    parser, with_name = PARSERS[command]
    parser().parse_args([command, *rest] if with_name else rest)


def examples() -> Iterator[object]:
    """Every line of the README and of a `--help` that starts with our program."""
    sources = {"README": (ROOT / "README.md").read_text(encoding="utf-8")}
    sources |= {name: parser().format_help() for name, (parser, _) in PARSERS.items()}
    sources["judge"] = levels_main.EXAMPLES["judge"]
    for name, text in sources.items():
        for line in re.findall(r"^ *(bridge-e2e .*?)$", re.sub(r"\\\n *", "", text), re.MULTILINE):
            command = line.split()[1]
            if command in PARSERS and "..." not in line:
                cut = re.split(r"  +", line)[0]
                yield pytest.param(cut, id=f"{name}: {cut[:60]}")


@pytest.mark.parametrize("line", list(examples()))
def test_an_example_is_understood(line: str) -> None:
    understood(line)


@pytest.mark.parametrize(
    ("suite", "variants", "shows"),
    [
        pytest.param(Suite.VERL, (), "--level 0 --bridge", id="plain"),
        pytest.param(Suite.VERL, ("rule-reward", "eager"), "--variant rule-reward --variant eager", id="two-variants"),
    ],
)
def test_the_reproduce_command_of_a_comment_is_understood(suite: Suite, variants: tuple[str, ...], shows: str) -> None:
    catalogue = load()
    level = catalogue.level(suite, 0)
    choice = Choice(suite=suite, level=0, title=level.title, reasons=(), gpus=level.gpus, minutes=level.minutes)
    (leg,) = build_legs(
        catalogue,
        Selection(chosen=(choice,), skipped=()),
        bridge_repository="https://github.com/o/r.git",
        bridge_commit="a" * 40,
        mcore_commit=None,
        variants={suite: variants},
    )
    view = LegView(
        leg=leg, verdict=None, proves=(), does_not_prove=(), limitations=(), text="", pull_request=7
    ).reproduce
    assert shows in view
    understood(view.splitlines()[-1])
