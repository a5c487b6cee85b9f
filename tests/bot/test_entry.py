"""The command line and the composite action: what is started, with which code it ends."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.__main__ import guarded, main
from bot.outputs import log_line, text_of

ROOT = Path(__file__).parents[2]


def start(*arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """The zone as workflows start it, in an environment of its own."""
    code = f"import sys, runpy; sys.path.insert(0, {str(ROOT)!r}); runpy.run_module('bot', run_name='__main__')"
    return subprocess.run(
        [sys.executable, "-I", "-c", code, *arguments],
        env={"PATH": os.environ["PATH"], **environ},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "code", "stream", "text"),
    [
        pytest.param(["--help"], 0, "out", "rehearse", id="help"),
        pytest.param([], 2, "err", "usage:", id="nothing"),
        pytest.param(["explode"], 2, "err", "usage:", id="unknown"),
    ],
)
def test_commands(arguments: list[str], code: int, stream: str, text: str, capsys: Any) -> None:  # noqa: ANN401 - pytest's fixture
    assert main(arguments) == code
    captured = capsys.readouterr()
    assert text in getattr(captured, stream)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param(["plan", "--event", "x", "--help"], "$GITHUB_EVENT_PATH", id="plan-event"),
        pytest.param(["plan", "--help"], "--paths-from", id="plan-repository"),
        pytest.param(["receipt", "--help"], "exit codes", id="receipt"),
        pytest.param(["report", "--help"], "--dry-run", id="report"),
    ],
)
def test_every_command_has_help(arguments: list[str], text: str) -> None:
    done = start(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert text in done.stdout


def test_plan_of_a_repository_is_the_other_plan() -> None:
    done = start("plan", "--repo", "x")
    assert done.returncode == 2
    assert "--base" in done.stderr


def crash(_: object) -> int:
    message = "a bug"
    raise ZeroDivisionError(message)


def interrupt(_: object) -> int:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("run", "code"), [(crash, 70), (interrupt, 130), (lambda _: 3, 3)])
def test_how_a_command_ends(run: Any, code: int) -> None:  # noqa: ANN401 - a function
    assert guarded([], run) == code


def test_an_ignored_event_needs_no_token(tmp_path: Path) -> None:
    output = tmp_path / "output"
    event = ROOT / "tests" / "fixtures" / "payloads" / "issue_comment.edited.json"
    done = start("plan", "--event", str(event), "--event-name", "issue_comment", GITHUB_OUTPUT=str(output))
    assert done.returncode == 0
    assert "decision=ignored\nsmoke=[]\ndeep=[]\n" in output.read_text()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("plain", "plain", id="plain"),
        pytest.param("a\n::set-output name=x::y", "a : :set-output name=x: :y", id="workflow-command"),
        pytest.param("##[add-mask]x", "## [add-mask]x", id="old-workflow-command"),
        pytest.param("\x1b[31mred", " [31mred", id="terminal"),
    ],
)
def test_a_log_line_is_no_command(text: str, expected: str) -> None:
    assert log_line(text) == expected


def test_outputs_are_one_line_each() -> None:
    assert text_of({"a": "1", "b": "[]"}) == "a=1\nb=[]\n"


def test_the_action_passes_nothing_but_its_own_path() -> None:
    action = yaml.safe_load((ROOT / "bot" / "action.yml").read_text())
    (step,) = action["runs"]["steps"]
    assert "inputs" not in action
    assert "${{" not in step["run"]
    assert step["env"] == {"ACTION_PATH": "${{ github.action_path }}"}


def test_a_current_venv_is_kept(tmp_path: Path) -> None:
    for name in ("bot/install.sh", "requirements/bot.lock"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").mkdir()
    digest = hashlib.sha256((tmp_path / "requirements" / "bot.lock").read_bytes()).hexdigest()
    (tmp_path / ".venv" / ".bot-lock").write_text(digest + "\n")
    command = ["bash", str(tmp_path / "bot" / "install.sh")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "up to date" in done.stdout
