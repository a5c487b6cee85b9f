"""run_leg always leaves an Evidence: a stop, a crash, an interruption, a full disk."""

import errno
import os
import signal
from collections.abc import Mapping

import pytest

from action.context import Job
from action.process import Interrupted
from action.runner import STEPS, Step, run_leg, run_one
from action.store import EVIDENCE, Recorder
from levels.documents import decode
from levels.errors import ConfigError, EnvironmentBlocked, ExitCode
from levels.evidence import Evidence
from levels.model import Boundary
from tests.action.miniature import World

WITHOUT_RAY: Mapping[str, Step] = {name: step for name, step in STEPS.items() if name != "probe"}


def read(job: Job) -> Evidence:
    return decode((job.bundle / EVIDENCE).read_bytes(), Evidence, what="the evidence")


def with_step(name: str, error: BaseException) -> Mapping[str, Step]:
    def raising(job: Job, recorder: Recorder) -> None:
        del job, recorder
        raise error

    return {**WITHOUT_RAY, name: raising}


def test_the_order_of_steps() -> None:
    assert tuple(STEPS) == ("checkout", "probe", "prepare", "checks", "run", "collect")


def test_a_whole_leg(world: World) -> None:
    job = world.job()
    evidence, code = run_leg(job, write=print, steps=WITHOUT_RAY)
    assert code is ExitCode.PASS
    assert evidence == read(job)
    assert evidence.complete
    assert evidence.stop is None
    assert evidence.steps == ("checkout", "prepare", "checks", "run", "collect")
    assert evidence.phases[0].exit_code == 0
    assert (job.bundle / "leg.json").exists()


def test_a_failing_wrapper_is_no_stop_of_ours(world: World) -> None:
    job = world.job(env={"WRAPPER_EXIT": "9"})
    evidence, code = run_leg(job, write=print, steps=WITHOUT_RAY)
    assert (code, evidence.phases[0].exit_code, evidence.stop) == (ExitCode.PASS, 9, None)


BLOCKED = EnvironmentBlocked(Boundary.RAY, doing="d", found="f", expected="e", next_step="n")


@pytest.mark.parametrize(
    ("error", "code", "boundary", "ours"),
    [
        pytest.param(BLOCKED, ExitCode.BLOCKED, Boundary.RAY, False, id="blocked"),
        pytest.param(
            ConfigError(path="p", key="k", found="f", expected="e", next_step="n"),
            ExitCode.BLOCKED,
            Boundary.CONFIG,
            False,
            id="config",
        ),
        pytest.param(KeyError("model_pth"), ExitCode.BUG, Boundary.ENVIRONMENT, True, id="crash"),
        pytest.param(
            OSError(errno.ENOSPC, "No space left on device"), ExitCode.BLOCKED, Boundary.ENVIRONMENT, False, id="disk"
        ),
        pytest.param(OSError(errno.EIO, "I/O"), ExitCode.BUG, Boundary.ENVIRONMENT, True, id="other-os-error"),
        pytest.param(Interrupted(signal.SIGTERM), ExitCode.INTERRUPTED, Boundary.ENVIRONMENT, False, id="interrupted"),
    ],
)
@pytest.mark.parametrize("step", ["checkout", "prepare", "run", "collect"])
def test_whatever_breaks_the_evidence_is_closed(
    world: World,
    step: str,
    error: BaseException,
    code: ExitCode,
    boundary: Boundary,
    ours: bool,  # noqa: FBT001 - a table
) -> None:
    job = world.job()
    evidence, found = run_leg(job, write=print, steps=with_step(step, error))
    assert found is code
    assert evidence == read(job)
    assert evidence.complete
    assert evidence.stop is not None
    assert (evidence.stop.step, evidence.stop.boundary, evidence.stop.ours) == (step, boundary, ours)
    assert step not in evidence.steps


def test_a_crash_carries_its_traceback(world: World) -> None:
    evidence, _ = run_leg(world.job(), write=print, steps=with_step("prepare", KeyError("model_pth")))
    assert evidence.stop is not None
    assert "Traceback" in evidence.stop.found
    assert "model_pth" in evidence.stop.found


def test_nothing_after_a_stop_is_run(world: World) -> None:
    evidence, _ = run_leg(world.job(), write=print, steps=with_step("prepare", BLOCKED))
    assert evidence.phases == ()
    assert evidence.bridge_checks is None
    assert evidence.steps == ("checkout", "collect")


def test_steps_as_programs_of_their_own(world: World) -> None:
    job = world.job()
    for name in WITHOUT_RAY:
        evidence, code = run_one(name, job, write=print, steps=WITHOUT_RAY)
        assert code is ExitCode.PASS
        assert evidence.complete == (name == "collect")
    assert read(job).steps == tuple(WITHOUT_RAY)


def test_after_a_stop_a_step_does_nothing_and_collect_closes(world: World) -> None:
    job = world.job()
    run_one("checkout", job, write=print, steps=WITHOUT_RAY)
    run_one("prepare", job, write=print, steps=with_step("prepare", BLOCKED))
    lines: list[str] = []
    _, code = run_one("run", job, write=lines.append, steps=WITHOUT_RAY)
    assert code is ExitCode.BLOCKED
    assert "run is not run: the leg stopped at prepare" in lines[0]
    evidence, code = run_one("collect", job, write=print, steps=WITHOUT_RAY)
    assert (code, evidence.complete, evidence.phases) == (ExitCode.BLOCKED, True, ())


def test_a_step_whose_predecessor_was_killed_says_so(world: World) -> None:
    job = world.job()
    run_one("checkout", job, write=print, steps=WITHOUT_RAY)
    evidence, code = run_one("run", job, write=print, steps=WITHOUT_RAY)
    assert code is ExitCode.BLOCKED
    assert evidence.stop is not None
    assert "step prepare was not finished" in evidence.stop.found
    assert evidence.phases == ()


def test_our_bug_stays_our_bug_in_later_steps(world: World) -> None:
    job = world.job()
    run_one("checkout", job, write=print, steps=with_step("checkout", KeyError("x")))
    assert run_one("collect", job, write=print, steps=WITHOUT_RAY)[1] is ExitCode.BUG
    assert os.path.exists(job.bundle / EVIDENCE)  # noqa: PTH110 - as a stranger would look
