"""The program as it is started: exit codes, signals, kill -9, and nothing left running."""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import psutil
import pytest
import yaml

from action import runner
from action.__main__ import guarded, main
from action.context import InPlace
from action.process import Interrupted
from levels.catalogue import load
from levels.documents import decode, encode
from levels.errors import UsageError
from levels.evidence import Evidence
from levels.model import Phase, Suite
from levels.plan import Decision, Leg, Plan, Selection
from tests.action.miniature import World

ROOT = Path(runner.__file__).parents[1]
SLEEPER = "echo started; (setsid sleep 600 & echo $! > $HOME/../daemon); sleep 600 & echo $! > $HOME/../child; wait"


def plan_of(*legs: Leg) -> Plan:
    return Plan(
        decision=Decision.RUN,
        because="test",
        repository="o/r",
        pull_request=1,
        head=None,
        base=None,
        consent=None,
        selection=Selection(chosen=(), skipped=()),
        legs=legs,
    )


def raising(error: BaseException) -> Callable[[object], int]:
    def run(_: object) -> int:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        pytest.param(ZeroDivisionError("a bug"), 70, "Traceback", id="our-bug-is-no-fail"),
        pytest.param(KeyboardInterrupt(), 130, "", id="interrupted"),
        pytest.param(Interrupted(signal.SIGTERM), 130, "", id="told-to-stop"),
        pytest.param(
            UsageError(doing="a", found="b", expected="c", next_step="d"),
            2,
            "bridge-e2e: a: found b; expected c. Next: d",
            id="usage",
        ),
    ],
)
def test_how_the_program_ends(error: BaseException, code: int, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(argparse.Namespace(), raising(error)) == code
    assert says in capsys.readouterr().err


class Setup:
    """A plan and a site file on disk, and how to start the program with them."""

    def __init__(self, world: World, leg: Leg, **site: object) -> None:
        self.leg, self.out = leg, world.root / "out"
        (world.root / "plan.json").write_bytes(encode(plan_of(leg)))
        settings = {"version": 1, "mirrors": world.mirrors, "python": sys.executable, "tmp": str(world.root), **site}
        (world.root / "site.yaml").write_text(yaml.safe_dump(settings))
        self.options = ["--plan", str(world.root / "plan.json"), "--leg", leg.id, "--out", str(self.out)]
        self.options += ["--site", str(world.root / "site.yaml")]

    def argv(self, *command: str) -> list[str]:
        return [sys.executable, "-m", "action", *command, *self.options]

    def start(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.argv(*command), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.argv(*command), cwd=ROOT, capture_output=True, text=True, check=False)

    @property
    def evidence(self) -> Evidence:
        return decode((self.out / self.leg.id / "evidence.json").read_bytes(), Evidence, what="evidence")

    def pids(self) -> list[int]:
        return [int((self.out / "work" / self.leg.id / name).read_text()) for name in ("child", "daemon")]


def wait_for(holds: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        threading.Event().wait(0.05)


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def sleeping(world: World) -> Setup:
    """Up to a `run` whose wrapper sleeps; the probe is skipped by writing what it would have recorded."""
    leg = world.leg(phases=(Phase(id="train", command=("bash", "-c", SLEEPER), steps=1, minutes=5),))
    setup = Setup(world, leg)
    assert setup.run("step", "checkout").returncode == 0
    path = setup.out / leg.id / "evidence.json"
    path.write_bytes(encode(msgspec.structs.replace(setup.evidence, steps=("checkout", "probe", "prepare", "checks"))))
    return setup


def until_it_sleeps(setup: Setup) -> None:
    def recorded() -> bool:
        try:
            return all(pid > 0 for pid in setup.pids()) and bool(setup.evidence.phases)
        except (OSError, ValueError):
            return False

    wait_for(recorded)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_leg_within_the_runners_patience(world: World, signum: signal.Signals) -> None:
    setup = sleeping(world)
    process = setup.start("step", "run")
    until_it_sleeps(setup)
    began = time.monotonic()
    process.send_signal(signum)
    process.send_signal(signum)  # a second one must not cut the ladder short
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 130, output
    assert time.monotonic() - began < 10
    assert all(gone(pid) for pid in setup.pids())
    evidence = setup.evidence
    assert evidence.stop is not None
    assert signum.name in evidence.stop.found
    assert not evidence.complete
    assert setup.run("step", "collect").returncode == 3
    assert setup.evidence.complete
    assert setup.evidence.phases[0].log is not None


def test_kill_minus_nine_leaves_readable_evidence_and_collect_ends_the_rest(world: World) -> None:
    setup = sleeping(world)
    process = setup.start("step", "run")
    until_it_sleeps(setup)
    process.kill()
    process.communicate()
    evidence = setup.evidence
    assert (evidence.complete, evidence.stop) == (False, None)
    assert evidence.steps == ("checkout", "probe", "prepare", "checks")
    assert [(run.id, run.exit_code, run.log) for run in evidence.phases] == [("train", None, None)]
    assert not all(gone(pid) for pid in setup.pids())
    assert setup.run("step", "collect").returncode == 3
    assert all(gone(pid) for pid in setup.pids())
    assert setup.evidence.complete
    assert setup.evidence.stop is not None
    assert "step run was not finished" in setup.evidence.stop.found
    assert setup.evidence.phases[0].log is not None
    assert (setup.out / setup.leg.id / "run-train.log").read_text() == "started\n"


def test_a_time_limit_is_recorded(world: World) -> None:
    setup = sleeping(world)
    short = msgspec.structs.replace(setup.leg.phases[0], minutes=0)
    plan = world.root / "plan.json"
    leg = msgspec.structs.replace(setup.leg, phases=(short,))
    plan.write_bytes(encode(plan_of(leg)))
    before = setup.evidence
    path = setup.out / leg.id / "evidence.json"
    identity = decode(plan.read_bytes(), Plan, what="plan").id
    path.write_bytes(encode(msgspec.structs.replace(before, plan=identity)))
    done = setup.run("step", "run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert setup.evidence.phases[0].timed_out


@pytest.mark.ray
def test_a_whole_leg_with_real_ray(world: World, ray_python: str, short_tmp: str) -> None:
    setup = Setup(world, world.leg(), python=ray_python, bridge_python=sys.executable, tmp=short_tmp, probe_seconds=120)
    done = setup.run("run")
    assert done.returncode == 0, done.stdout + done.stderr
    evidence = setup.evidence
    assert evidence.complete
    assert [(item.process.value, item.module, item.error) for item in evidence.imports] == [
        (kind, module, None) for kind in ("driver", "ray-worker") for module in ("megatron.bridge", "megatron.core")
    ]
    assert evidence.bridge_checks is not None
    assert evidence.bridge_checks.passed == 1
    assert evidence.phases[0].exit_code == 0
    assert not [process for process in psutil.process_iter() if short_tmp in _command(process)]


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def test_a_leg_that_stops_ends_with_three(world: World) -> None:
    setup = Setup(world, world.leg(bridge_commit="1" * 40))
    done = setup.run("run")
    assert done.returncode == 3
    assert setup.evidence.complete
    assert "not our ref" in done.stdout


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        pytest.param(["run"], "no --plan FILE", id="nothing"),
        pytest.param(["run", "--suite", "verl"], "without --level", id="no-level"),
        pytest.param(["run", "--suite", "verl", "--level", "0", "--out", "o"], "--bridge", id="no-trees"),
        pytest.param(["run", "--suite", "verl", "--level", "77", "--dry-run"], "level 77", id="no-such-level"),
        pytest.param(
            ["run", "--suite", "verl", "--level", "0", "--variant", "x", "--dry-run"], "found x", id="variant"
        ),
        pytest.param(["step", "run", "--plan", "none.json", "--leg", "l", "--out", "o"], "none.json", id="no-plan"),
        pytest.param(
            ["run", "--suite", "verl", "--level", "0", "--dry-run", "--site", "none.yaml"], "none.yaml", id="site"
        ),
    ],
)
def test_usage_errors_have_code_two_and_four_parts(
    argv: list[str], says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert says in error
    assert "expected" in error
    assert "Next:" in error


def test_a_leg_that_the_plan_does_not_have(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    setup = Setup(world, world.leg())
    options = ["another" if part == setup.leg.id else part for part in setup.options]
    assert main(["step", "run", *options]) == 2
    assert "verl-0-mini" in capsys.readouterr().err


@pytest.mark.parametrize("suite", list(Suite))
def test_a_dry_run_needs_no_tree_and_starts_nothing(
    suite: Suite, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--suite", suite.value, "--level", "0", "--dry-run", "--gpus", "1"]) == 0
    text = capsys.readouterr().out
    phase = load().level(suite, 0).phases[0]
    assert phase.command[-1] in text
    assert "@{" not in text
    assert "PYTHONPATH=/path/to/Megatron-Bridge/src:/path/to/Megatron-Bridge/3rdparty/Megatron-LM:/path/to/" in text
    assert ("NUM_GPUS=1" if suite is Suite.VERL else "cluster.gpus_per_node=1") in text
    assert list(tmp_path.iterdir()) == []


def test_dry_run_of_a_planned_leg(world: World) -> None:
    setup = Setup(world, world.leg())
    done = setup.run("run", "--dry-run")
    assert done.returncode == 0
    assert "bash run.sh" in done.stdout
    assert not setup.out.exists()


def test_a_persons_run_leaves_the_bundle_in_out(world: World, in_place: InPlace) -> None:
    """Real verl level 0 from the catalogue, on trees that are too small for it: it stops, and says why."""
    out = world.root / "mine-out"
    argv = [sys.executable, "-m", "action", "run", "--suite", "verl", "--level", "0", "--no-judge"]
    argv += ["--bridge", str(in_place.bridge), "--suite-repo", str(in_place.suite), "--out", str(out)]
    argv += ["--python", sys.executable, "--model", str(world.root)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    evidence = decode((out / "evidence.json").read_bytes(), Evidence, what="evidence")
    leg = decode((out / "leg.json").read_bytes(), Leg, what="leg")
    assert done.returncode == 3, done.stdout + done.stderr
    assert evidence.plan == "local"
    assert evidence.stop is not None
    assert evidence.stop.step in {"probe", "prepare"}
    assert leg.bridge_commit == world.bridge_commit
    assert leg.mcore_commit == world.mcore_commit
    assert leg.model.name == str(world.root)


def test_help_is_there() -> None:
    for command in ("run", "step"):
        done = subprocess.run(
            [sys.executable, "-m", "action", command, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert "--site" in done.stdout
    assert os.environ["PATH"]


@pytest.mark.parametrize(
    ("more", "applied"), [((), True), (("--no-workarounds",), False)], ids=["declared", "unpatched"]
)
def test_workarounds_can_be_left_out(more: tuple[str, ...], applied: bool, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: FBT001 - a table
    assert main(["run", "--suite", "verl", "--level", "0", "--dry-run", *more]) == 0
    assert ("verl-fsdp-adapter-function" in capsys.readouterr().out) is applied
