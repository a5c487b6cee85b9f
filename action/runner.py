"""Runs the ordered steps of one leg and always leaves an Evidence. No step's work and no policy belong here."""

import signal
import traceback
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Final

from action.checkout import checkout
from action.checks import checks
from action.collect import collect
from action.context import Job
from action.logsink import FULL
from action.phases import run_phases
from action.prepare import prepare
from action.probes import probe
from action.process import Interrupted
from action.store import Recorder, clean, disk_full, open_recorder, reserve, stop_of
from levels.errors import E2EError, EnvironmentBlocked, ExitCode
from levels.evidence import Evidence, Stop
from levels.model import Boundary

Step = Callable[[Job, Recorder], None]

STEPS: Final[Mapping[str, Step]] = {
    "checkout": checkout,
    "probe": probe,
    "prepare": prepare,
    "checks": checks,
    "run": run_phases,
    "collect": collect,
}
"""In order. `collect` runs whatever happened before it, and closes the document."""
LAST: Final = "collect"


def run_leg(job: Job, *, write: Callable[[str], None], steps: Mapping[str, Step] = STEPS) -> tuple[Evidence, ExitCode]:
    """All steps of one leg. Ends 0 when every phase was run, 3 when it stopped, 70 on our bug, 130 when interrupted."""
    recorder = open_recorder(job, write=write)
    code = _guarded("checkout", lambda: _begin(job), recorder, write)
    for name, step in steps.items():
        if name == LAST or code is ExitCode.PASS:
            code = _worse(code, run_step(name, step, job, recorder, write))
    return recorder.evidence, code


def run_one(
    name: str, job: Job, *, write: Callable[[str], None], steps: Mapping[str, Step] = STEPS
) -> tuple[Evidence, ExitCode]:
    """One step as a process of its own. A step after one that stopped does nothing; `collect` always runs."""
    recorder = open_recorder(job, write=write)
    names = tuple(steps)
    if name == names[0]:
        code = _guarded(name, lambda: _begin(job), recorder, write)
        if code is not ExitCode.PASS:
            return recorder.evidence, code
    unfinished = [step for step in names[: names.index(name)] if step not in recorder.evidence.steps]
    if recorder.evidence.stop is None and unfinished:
        recorder.stop(_unfinished(name, unfinished[0]))
    if name != LAST and (stop := recorder.evidence.stop) is not None:
        write(f"bridge-e2e: {name} is not run: the leg stopped at {stop.step}: {stop.found.partition(chr(10))[0]}")
        return recorder.evidence, code_of(recorder.evidence)
    code = run_step(name, steps[name], job, recorder, write)
    return recorder.evidence, _worse(code, code_of(recorder.evidence))


def _begin(job: Job) -> None:
    """The leg's own folders are there, and the plan does not say that it cannot start.

    Raises:
        EnvironmentBlocked: with the plan's own reason, before anything is fetched or started.

    """
    reserve(job)
    if (why := job.leg.blocked) is not None:
        raise EnvironmentBlocked(
            why.boundary,
            doing=f"starting {job.leg.title}",
            found=why.found,
            expected=why.expected,
            next_step=why.next_step,
        )


def _unfinished(name: str, missing: str) -> Stop:
    return Stop(
        step=name,
        boundary=Boundary.ENVIRONMENT,
        doing=f"starting step {name}",
        found=f"step {missing} was not finished and left no reason",
        expected="the steps in order; a killed step leaves none",
        next_step="look at that step's own log: it was probably cancelled, or the machine was lost",
    )


def run_step(name: str, step: Step, job: Job, recorder: Recorder, write: Callable[[str], None]) -> ExitCode:
    """The step's exit code; its reason to stop, if any, is recorded. `collect` closes the document."""
    write(f"bridge-e2e: step {name}")

    def work() -> None:
        step(job, recorder)
        recorder.update(steps=(*recorder.evidence.steps, name))

    code = _guarded(name, work, recorder, write)
    if name == LAST and not recorder.close():
        write("bridge-e2e: the evidence is not whole on disk; see above")
        code = _worse(code, ExitCode.BLOCKED)
    return code


def _guarded(name: str, work: Callable[[], None], recorder: Recorder, write: Callable[[str], None]) -> ExitCode:
    """Do `work`; record why it could not go on."""
    try:
        work()
    except E2EError as error:
        write(f"bridge-e2e: stopped at {name}: {error}")
        recorder.stop(stop_of(name, error))
        return ExitCode.BLOCKED
    except Interrupted as error:
        recorder.stop(_interrupted(name, error))
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the one place that must write Evidence whatever happened (STYLE, section 6)
        if isinstance(error, OSError) and error.errno in FULL:
            recorder.stop(stop_of(name, disk_full(f"step {name}", str(error))))
            return ExitCode.BLOCKED
        write(traceback.format_exc())
        recorder.stop(_crashed(name, traceback.format_exc()))
        return ExitCode.BUG
    return ExitCode.PASS


def _crashed(name: str, text: str) -> Stop:
    return Stop(
        step=name,
        boundary=Boundary.ENVIRONMENT,
        doing=f"running step {name}",
        found=clean(text),
        expected="no exception in the runner",
        next_step="this is a bug of bridge-e2e: report it with this traceback; it is no evidence against the change",
        ours=True,
    )


def _interrupted(name: str, error: Interrupted) -> Stop:
    return Stop(
        step=name,
        boundary=Boundary.ENVIRONMENT,
        doing=f"running step {name}",
        found=f"the runner was told to stop by {error}",
        expected="time to finish",
        next_step="it was cancelled, or the job's time limit struck; start it again",
    )


def code_of(evidence: Evidence) -> ExitCode:
    """What the evidence so far means for the exit code."""
    if evidence.stop is None:
        return ExitCode.PASS
    return ExitCode.BUG if evidence.stop.ours else ExitCode.BLOCKED


def _worse(one: ExitCode, other: ExitCode) -> ExitCode:
    order = (ExitCode.PASS, ExitCode.BLOCKED, ExitCode.BUG, ExitCode.INTERRUPTED)
    return max(one, other, key=order.index)


def catch_signals() -> None:
    """SIGINT, SIGTERM and SIGHUP raise `Interrupted` once; later ones are ignored, so that the ladder can finish."""
    seen: list[int] = []

    def handler(signum: int, frame: FrameType | None) -> None:
        del frame
        if not seen:
            seen.append(signum)
            raise Interrupted(signum)

    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, handler)
