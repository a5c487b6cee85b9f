"""Preparation, Bridge checks, phases and collection, each on real files and processes."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from action.checkout import checkout
from action.checks import checks
from action.collect import collect, file_ref, take_metrics
from action.context import InPlace, Job, trees_of
from action.phases import remove_inside, run_phases
from action.prepare import prepare
from action.provenance import gpus_of, parse_gpus, shown_env
from action.pytest_run import counts_of
from action.store import Recorder, open_recorder
from levels.errors import EnvironmentBlocked
from levels.model import Boundary, Phase, Requirement
from tests.action.miniature import World


def ready(job: Job) -> Recorder:
    recorder = open_recorder(job, write=print)
    checkout(job, recorder)
    return recorder


def dataset(*prepare_argv: str) -> Requirement:
    return Requirement(
        id="gsm8k", kind="dataset", path="@{data}/train.parquet", prepare=prepare_argv, remedy="make it once"
    )


def test_what_is_there_is_found(world: World, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/train.parquet").write_text("rows")
    snapshot = tmp_path / "store/models--org--model/snapshots" / ("f" * 40)
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    model = Requirement(id="model", kind="model", path=str(snapshot), remedy="fill the store")
    job = world.job(world.leg(requirements=(dataset(), model)), data=str(tmp_path / "data"))
    recorder = ready(job)
    prepare(job, recorder)
    assert [(item.id, item.found, item.made, item.detail) for item in recorder.evidence.preparations] == [
        ("gsm8k", True, False, "present"),
        ("model", True, False, "snapshot " + "f" * 40),
    ]


def test_a_data_set_is_made_by_the_levels_own_command_in_the_legs_folder(world: World) -> None:
    make = "import os, sys; os.mkdir(sys.argv[1]); open(sys.argv[1] + '/train.parquet', 'w').write('r')"
    job = world.job(world.leg(requirements=(dataset("python3", "-c", make, "@{data}"),)))
    recorder = ready(job)
    prepare(job, recorder)
    (item,) = recorder.evidence.preparations
    assert (item.found, item.made) == (True, True)
    assert item.path == str(job.work / "data/train.parquet")
    assert "made by python3" in item.detail


@pytest.mark.parametrize(
    ("argv", "shared", "found"),
    [
        pytest.param((), False, "missing", id="never-made-by-a-leg"),
        pytest.param(("python3", "-c", "open('x', 'w')"), True, "missing", id="shared-data-is-read-only"),
        pytest.param(
            ("python3", "-c", "raise OSError('no network')"), False, "OSError: no network", id="command-fails"
        ),
        pytest.param(("python3", "-c", "pass"), False, "did not make it", id="command-lies"),
    ],
)
def test_what_is_missing_is_blocked_with_the_remedy(
    world: World,
    tmp_path: Path,
    argv: tuple[str, ...],
    shared: bool,  # noqa: FBT001 - a table
    found: str,
) -> None:
    site: dict[str, Any] = {"data": str(tmp_path)} if shared else {}
    job = world.job(world.leg(requirements=(dataset(*argv),)), **site)
    recorder = ready(job)
    with pytest.raises(EnvironmentBlocked) as caught:
        prepare(job, recorder)
    assert caught.value.boundary is Boundary.DATA
    assert found in caught.value.found
    assert caught.value.next_step == "make it once"
    assert [item.found for item in recorder.evidence.preparations] == [False]


def test_a_missing_model_is_model_download(world: World) -> None:
    model = Requirement(id="model", kind="model", path="@{model_path}", remedy="fill the store")
    job = world.job(world.leg(requirements=(model,)))
    with pytest.raises(EnvironmentBlocked) as caught:
        prepare(job, ready(job))
    assert caught.value.boundary is Boundary.MODEL_DOWNLOAD


def test_a_missing_wrapper_program_is_found_before_anything_runs(world: World) -> None:
    phase = Phase(id="train", command=("no-such-launcher",), steps=1, minutes=1)
    job = world.job(world.leg(phases=(phase,)))
    with pytest.raises(EnvironmentBlocked, match="no-such-launcher: command not found"):
        prepare(job, ready(job))


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        pytest.param("12 passed in 0.10s", {"passed": 12}, id="passed"),
        pytest.param(
            "=== 1 failed, 2 passed, 3 skipped, 1 error in 9.99s ===",
            {"failed": 1, "passed": 2, "skipped": 3, "errors": 1},
            id="mixed",
        ),
        pytest.param("2 errors in 0.5s", {"errors": 2}, id="errors"),
        pytest.param("no tests ran in 0.01s", {}, id="none"),
        pytest.param("I passed 3 passed tests", {}, id="not-a-summary"),
        pytest.param("", {}, id="empty"),
    ],
)
def test_counts(line: str, counts: dict[str, int]) -> None:
    assert counts_of(f"noise\n{line}\n") == counts


def test_the_bridge_checks_run_in_the_bridge_tree(world: World) -> None:
    job = world.job()
    recorder = ready(job)
    checks(job, recorder)
    run = recorder.evidence.bridge_checks
    assert run is not None
    assert (run.exit_code, run.passed, run.failed, run.skipped_because) == (0, 1, 0, None)
    assert run.log is not None
    assert run.command[:3] == (sys.executable, "-m", "pytest")


def test_a_failing_check_is_counted(world: World, commit_to: Callable[..., str]) -> None:
    files = {"tests/test_ok.py": "def test_a():\n    assert False\n\ndef test_b(): pass\n"}
    commit = commit_to(world.bridge, files, links={"3rdparty/Megatron-LM": world.mcore_commit})
    job = world.job(world.leg(bridge_commit=commit))
    recorder = ready(job)
    checks(job, recorder)
    run = recorder.evidence.bridge_checks
    assert run is not None
    assert (run.exit_code, run.failed, run.passed) == (1, 1, 1)


def test_a_change_that_breaks_pytests_settings_did_start(world: World, commit_to: Callable[..., str]) -> None:
    commit = commit_to(
        world.bridge,
        {"pytest.ini": "[pytest]\naddopts = --no-such-option\n"},
        links={"3rdparty/Megatron-LM": world.mcore_commit},
    )
    job = world.job(world.leg(bridge_commit=commit))
    recorder = ready(job)
    checks(job, recorder)
    run = recorder.evidence.bridge_checks
    assert run is not None
    assert (run.exit_code, run.skipped_because) == (4, None)


@pytest.mark.parametrize(
    ("tests", "script", "says"),
    [
        pytest.param((), None, "names no Bridge tests", id="no-tests"),
        pytest.param(
            ("t.py",),
            '#!/bin/sh\necho "No module named pytest" >&2; exit 1\n',
            "No module named pytest",
            id="no-pytest",
        ),
    ],
)
def test_checks_that_could_not_start_say_why(
    world: World, tmp_path: Path, tests: tuple[str, ...], script: str | None, says: str
) -> None:
    site: dict[str, Any] = {}
    if script:
        python = tmp_path / "python-without-pytest"
        python.write_text(script)
        python.chmod(0o755)
        site["bridge_python"] = str(python)
    job = world.job(world.leg(bridge_tests=tests), **site)
    recorder = ready(job)
    checks(job, recorder)
    run = recorder.evidence.bridge_checks
    assert run is not None
    assert run.exit_code is None
    assert says in (run.skipped_because or "")


def phase(code: str, **changes: object) -> Phase:
    settings: dict[str, Any] = {"id": "train", "steps": 1, "minutes": 1, **changes}
    return Phase(command=("bash", "-c", code), **settings)


def test_phases_run_in_order_and_leave_logs_and_metrics(world: World) -> None:
    save = phase(
        "echo save $STEP; mkdir -p out; echo '{}' > out/m.json", id="save", env={"STEP": "1"}, metrics="out/m.json"
    )
    resume = phase("echo resume; ls out", id="resume", remove_before=("out",))
    job = world.job(world.leg(phases=(save, resume)))
    recorder = ready(job)
    run_phases(job, recorder)
    first, second = recorder.evidence.phases
    assert (first.exit_code, second.exit_code) == (0, 2)
    assert (job.bundle / "run-save.log").read_text() == "save 1\n"
    assert first.env["STEP"] == "1"
    assert first.env["PYTHONPATH"].startswith(str(job.planned_trees.bridge / "src"))
    assert first.metrics is not None
    assert first.metrics.path == "metrics-save.json"
    assert second.metrics is None
    assert first.log == file_ref(job.bundle, "run-save.log")


def test_a_phase_after_a_failed_one_is_not_started(world: World) -> None:
    job = world.job(world.leg(phases=(phase("exit 3", id="save"), phase("touch never", id="resume"))))
    recorder = ready(job)
    run_phases(job, recorder)
    assert [run.id for run in recorder.evidence.phases] == ["save"]
    assert not (job.planned_trees.suite / "never").exists()


@pytest.mark.parametrize("name", ["../victim", "/etc/x", "link/../../victim", "."])
def test_stale_output_outside_the_suite_is_never_removed(tmp_path: Path, name: str) -> None:
    root = tmp_path / "suite"
    root.mkdir()
    (tmp_path / "victim").mkdir()
    (root / "link").symlink_to(tmp_path)
    with pytest.raises(EnvironmentBlocked, match="leads out"):
        remove_inside(root, name)
    assert (tmp_path / "victim").is_dir()


def test_a_persons_own_output_is_moved_aside_not_removed(world: World, in_place: InPlace) -> None:
    (in_place.suite / "checkpoints").mkdir()
    (in_place.suite / "checkpoints/weights").write_text("precious")
    job = world.job(world.leg(phases=(phase("ls", remove_before=("checkpoints",)),)), in_place=in_place)
    recorder = ready(job)
    run_phases(job, recorder)
    assert "checkpoints" not in (job.bundle / "run-train.log").read_text()
    (kept,) = (job.work / "set-aside").rglob("weights")
    assert kept.read_text() == "precious"


def test_a_stale_link_is_removed_itself(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite/checkpoints").symlink_to(tmp_path / "victim")
    remove_inside(tmp_path / "suite", "checkpoints")
    assert not (tmp_path / "suite/checkpoints").exists()
    assert (tmp_path / "victim").is_dir()
    remove_inside(tmp_path / "suite", "checkpoints")


@pytest.mark.parametrize(
    "target",
    [
        pytest.param("/etc/hostname", id="outside"),
        pytest.param("secret", id="inside"),
        pytest.param("/dev/zero", id="device"),
    ],
)
def test_metrics_through_a_link_are_not_taken(tmp_path: Path, target: str) -> None:
    suite, bundle = tmp_path / "suite", tmp_path / "bundle"
    suite.mkdir()
    bundle.mkdir()
    (suite / "secret").write_text("{}")
    (suite / "m.json").symlink_to(target)
    item = phase("x", metrics="m.json")
    assert take_metrics(bundle, suite, item) is None
    assert not (bundle / "metrics-train.json").exists()


def test_collect_adds_the_log_that_a_killed_step_left(world: World) -> None:
    job = world.job(world.leg(phases=(phase("echo half"),)))
    recorder = ready(job)
    run_phases(job, recorder)
    (run,) = recorder.evidence.phases
    recorder.update(
        phases=(type(run)(id="train", command=run.command, env={}, started_at="t", seconds=0.0, exit_code=None),)
    )
    collect(job, recorder)
    (run,) = recorder.evidence.phases
    assert run.log is not None
    assert run.log.cut
    assert run.exit_code is None
    assert not job.tmp.exists()
    assert job.planned_trees.suite.exists()


def test_on_a_shared_scratch_the_trees_are_removed(world: World) -> None:
    job = world.job(scratch=str(world.root))
    recorder = ready(job)
    collect(job, recorder)
    assert not job.work.exists()
    assert trees_of(job, recorder.evidence).bridge == job.planned_trees.bridge


def test_gpus(tmp_path: Path) -> None:
    card = "NVIDIA H100 80GB HBM3, 81559"
    text = f"0, {card}, 4, 570.1\n1, {card}, 0, 570.1\nbroken\n2, X, [N/A], 0, 570.1\n"
    driver, gpus = parse_gpus(text)
    assert driver == "570.1"
    assert [(gpu.index, gpu.memory_mib, gpu.used_mib) for gpu in gpus] == [(0, 81559, 4), (1, 81559, 0)]
    assert gpus_of({"PATH": str(tmp_path)}) == (None, ())


def test_what_looks_like_a_secret_is_not_published() -> None:
    shown = shown_env({"NCCL_DEBUG": "WARN", "WANDB_API_KEY": "abc", "MY_TOKEN": "def"})
    assert shown == {"MY_TOKEN": "(hidden)", "NCCL_DEBUG": "WARN", "WANDB_API_KEY": "(hidden)"}
