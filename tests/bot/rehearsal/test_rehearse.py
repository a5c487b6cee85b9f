"""`rehearse`: an event goes in, the real workflow files run, and the right thing stands on the embedded GitHub."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.rehearsal import build, cli, event, leftovers, payloads, repos, workspace
from bot.rehearsal.act import NOT_REHEARSED
from levels.errors import ExitCode

ROOT = Path(__file__).parents[3]
STICKY = "<!-- bridge-e2e:sticky -->"
pytestmark = pytest.mark.act


@dataclass(frozen=True, kw_only=True)
class Ended:
    code: int
    said: str
    out: Path

    @property
    def checks(self) -> dict[str, tuple[str, str | None]]:
        found = json.loads((self.out / "checks.json").read_text())
        return {one["name"]: (one["status"], one["conclusion"]) for one in found}

    @property
    def comment(self) -> str:
        return (self.out / "comment.md").read_text()


Rehearse = Callable[..., Ended]


@pytest.fixture
def rehearse(tmp_path: Path) -> Rehearse:
    def run(*arguments: str) -> Ended:
        """As a person starts it, in a process of its own."""
        before = set(Path(workspace.PARENT).glob("e2e-*"))
        out = tmp_path / "out"
        argv = [sys.executable, "-m", "bot", "rehearse", "--out", str(out), *arguments]
        env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(tmp_path)}
        done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=280)
        mine = {path for path in set(Path(workspace.PARENT).glob("e2e-*")) - before if (path / "product").exists()}
        assert mine == set(), "its working folder is gone"
        return Ended(code=done.returncode, said=done.stdout + done.stderr, out=out)

    return run


@pytest.fixture
def miniature(tmp_path: Path) -> repos.Repos:
    return repos.build(tmp_path / "recorded", (), "name: caller\n")


def record(tmp_path: Path, payload: dict[str, Any]) -> str:
    path = tmp_path / "payload.json"
    path.write_text(json.dumps(payload))
    return str(path)


@pytest.mark.ray
def test_a_label_on_a_right_change_ends_in_one_comment_and_green_checks(rehearse: Rehearse) -> None:
    ended = rehearse()
    assert ended.code == ExitCode.PASS, ended.said
    assert ended.checks == {
        "bridge-e2e": ("completed", "success"),
        "bridge-e2e / verl-0-lora-ddp": ("completed", "success"),
        "bridge-e2e / nemo-rl-0-grpo": ("completed", "success"),
    }
    assert ended.comment.count(STICKY) == 1
    assert "miniatures" in ended.said
    assert all(line.partition(":")[0][:60] in ended.said for line in NOT_REHEARSED)
    for name in ("plan.json", "verdict.json", "act.jsonl", "evidence"):
        assert (ended.out / name).exists()
        assert name in ended.said


@pytest.mark.ray
def test_a_change_that_breaks_its_provider_is_told_so(rehearse: Rehearse) -> None:
    ended = rehearse("--scenario", "fail-provider")
    assert ended.code == ExitCode.FAIL, ended.said
    assert ended.checks["bridge-e2e"] == ("completed", "failure")
    assert ended.checks["bridge-e2e / nemo-rl-0-grpo"] == ("completed", "failure")
    assert "hidden_size (8) must be divisible by num_attention_heads (3)" in ended.comment.replace("\\", "")


@pytest.mark.ray
def test_a_command_for_one_suite_in_an_image_that_shadows_the_checkout_is_blocked(rehearse: Rehearse) -> None:
    ended = rehearse("--suite", "verl", "--level", "0", "--scenario", "wrong-import")
    assert ended.code == ExitCode.BLOCKED, ended.said
    assert ended.checks["bridge-e2e"] == ("completed", "action_required")
    assert "bridge-e2e / nemo-rl-0-grpo" not in ended.checks
    assert "not evidence against" in ended.comment


@pytest.mark.parametrize(
    ("recorded", "says", "checks"),
    [
        pytest.param(
            "pull_request.labeled",
            "decision ignored: label 'bug' is not one of ours",
            {"bridge-e2e": ("completed", "action_required")},  # the one that stood there before
            id="a-label-that-is-not-ours",
        ),
        pytest.param(
            "pull_request.opened",
            "decision not-asked: ",
            {"bridge-e2e": ("completed", "action_required")},
            id="a-new-pull-request-gets-its-check",
        ),
        pytest.param("pull_request.closed", "decision ignored: pull request closed", {}, id="closed"),
    ],
)
def test_recorded_events_of_another_repository(
    recorded: str, says: str, checks: dict[str, tuple[str, str]], rehearse: Rehearse
) -> None:
    ended = rehearse("--event", str(ROOT / "tests" / "fixtures" / "payloads" / f"{recorded}.json"))
    assert ended.code == ExitCode.PASS, ended.said
    assert "about Codertocat/Hello-World#2" in ended.said
    assert says in ended.said
    assert ended.checks == checks
    assert ended.comment == ""


@pytest.mark.ray
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_rehearsal_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "bot", "rehearse", "--out", str(tmp_path / "out"), "--scenario", "hang"]
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    before = set(Path(workspace.PARENT).glob("e2e-*"))
    with subprocess.Popen(argv, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        # The tests of Bridge are the last step before the wrapper, which never ends.
        assert any("Run the focused Bridge tests" in line for line in process.stdout)
        mine = [path for path in set(Path(workspace.PARENT).glob("e2e-*")) - before if (path / "product").exists()]
        process.send_signal(number)
        process.stdout.read()
    assert process.returncode == ExitCode.INTERRUPTED
    assert [path for path in mine if path.exists() or leftovers.of(path)] == []


def test_a_recorded_comment_with_a_typo_is_answered_and_starts_nothing(
    rehearse: Rehearse, miniature: repos.Repos, tmp_path: Path
) -> None:
    state, repo, _ = event.github(miniature)
    comment = build.add_comment(state, repo, event.NUMBER, author="ada", body="/run-e2e levle=0")
    ended = rehearse("--event", record(tmp_path, payloads.issue_comment(state, repo, comment)))
    assert ended.code in {ExitCode.PASS, ExitCode.REFUSED}, ended.said
    assert "levle" in ended.comment
    assert not (ended.out / "verdict.json").exists()


@pytest.mark.parametrize(
    ("content", "arguments", "code", "says"),
    [
        pytest.param("{", (), ExitCode.USAGE, "a webhook payload as JSON", id="no-json"),
        pytest.param('{"zen": "x"}', (), ExitCode.USAGE, "name the event", id="nobody-can-tell-what"),
        pytest.param(
            '{"ref": "x", "repository": {"full_name": "a/b"}}',
            ("--event-name", "push"),
            ExitCode.PASS,
            "no trigger for push",
            id="the-caller-does-not-listen",
        ),
    ],
)
def test_events_that_start_nothing(
    content: str,
    arguments: tuple[str, ...],
    code: ExitCode,
    says: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "payload.json").write_text(content)
    ended = cli.main(["--event", str(tmp_path / "payload.json"), "--out", str(tmp_path / "out"), *arguments])
    assert ended == code
    said = capsys.readouterr()
    assert says in said.out + said.err


def test_an_unknown_scenario_is_answered_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--scenario", "nothing"]) == ExitCode.USAGE
    assert "exit-1-after-100%" in capsys.readouterr().err


def test_an_out_folder_with_something_in_it_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").touch()
    assert cli.main(["--out", str(tmp_path)]) == ExitCode.USAGE
    assert "not an empty folder" in capsys.readouterr().err
