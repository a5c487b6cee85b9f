"""Tests that a change calls for: found in its tree, run, and run again on the merge base where they fail."""

from collections.abc import Callable
from pathlib import Path

import pytest

from action.checkout import checkout
from action.checks import checks, files_of
from action.context import Job
from action.store import Recorder, open_recorder
from levels.evidence import BaseRun
from levels.model import CheckGroup
from tests.action.miniature import World


def ready(job: Job) -> Recorder:
    recorder = open_recorder(job, write=print)
    checkout(job, recorder)
    return recorder


def group(*tests: str) -> CheckGroup:
    return CheckGroup(id="model-specific", title="t", tests=tests, needed=False, because="b")


def test_tests_that_the_change_calls_for_are_found_in_the_tree_and_run(world: World) -> None:
    leg = world.leg(check_groups=(group("tests/**/test_o*.py", "tests/absent/test_*.py"),))
    job = world.job(leg)
    recorder = ready(job)
    checks(job, recorder)
    (found,) = recorder.evidence.check_groups
    assert found.id == "model-specific"
    assert found.run.command[-1] == "tests/test_ok.py"
    assert (found.run.exit_code, found.run.passed) == (0, 1)
    assert (job.bundle / "bridge-checks-model-specific.log").exists()


def test_a_pattern_without_a_file_says_so(world: World) -> None:
    job = world.job(world.leg(check_groups=(group("tests/absent/test_*.py"),)))
    recorder = ready(job)
    checks(job, recorder)
    assert recorder.evidence.check_groups[0].run.skipped_because == (
        "no file of the checkout matches tests/absent/test_*.py"
    )


def test_a_link_out_of_the_tree_is_no_test(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/test_evil.py").write_text("")
    (tmp_path / "tree/tests").mkdir(parents=True)
    (tmp_path / "tree/tests/test_link.py").symlink_to(tmp_path / "outside/test_evil.py")
    (tmp_path / "tree/tests/folder").symlink_to(tmp_path / "outside")
    assert files_of(tmp_path / "tree", ("tests/**/test_*.py", "tests/folder/test_*.py")) == ()


BROKEN = "def test_ok():\n    assert 1 == 2\n"
FINE = "def test_ok():\n    assert 1 == 1\n"


@pytest.mark.parametrize(
    ("before", "failed"),
    [
        pytest.param({"tests/test_ok.py": FINE}, (), id="passed-before"),
        pytest.param({"tests/test_ok.py": BROKEN}, ("test_ok",), id="failed-before"),
        pytest.param({"tests/test_other.py": FINE}, (), id="was-not-there"),
    ],
)
def test_a_failing_test_is_run_on_the_merge_base_too(
    world: World, commit_to: Callable[..., str], before: dict[str, str], failed: tuple[str, ...]
) -> None:
    links = {"3rdparty/Megatron-LM": world.mcore_commit}
    (world.bridge / "tests/test_ok.py").unlink()
    base = commit_to(world.bridge, before, links=links)
    head = commit_to(world.bridge, {"tests/test_ok.py": BROKEN + "# head\n"}, links=links)
    job = world.job(world.leg(bridge_commit=head, bridge_base=base))
    recorder = ready(job)
    checks(job, recorder)
    run = recorder.evidence.bridge_checks
    assert run is not None
    assert (run.failed, [item.test for item in run.failures]) == (1, ["test_ok"])
    assert run.base == BaseRun(commit=base, failed=failed)


def test_a_merge_base_that_cannot_be_had_is_said(world: World, commit_to: Callable[..., str]) -> None:
    links = {"3rdparty/Megatron-LM": world.mcore_commit}
    head = commit_to(world.bridge, {"tests/test_ok.py": BROKEN + "# head\n"}, links=links)
    job = world.job(world.leg(bridge_commit=head, bridge_base="e" * 40))
    recorder = ready(job)
    checks(job, recorder)
    run = recorder.evidence.bridge_checks
    assert run is not None
    assert run.base is not None
    assert "could not be checked out" in str(run.base.problem)


def test_passing_tests_ask_nothing_of_the_merge_base(world: World) -> None:
    job = world.job(world.leg(bridge_base="e" * 40))
    recorder = ready(job)
    checks(job, recorder)
    assert recorder.evidence.bridge_checks is not None
    assert recorder.evidence.bridge_checks.base is None
