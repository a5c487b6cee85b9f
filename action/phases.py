"""The run itself: each phase of the leg through the site's launcher. What its exit code means never belongs here."""

import shutil
import time
from pathlib import Path

import msgspec

from action import environment, process
from action.collect import log_name, log_ref, take_metrics
from action.context import Job, Trees, trees_of
from action.echo import Echo, say
from action.launch import LAUNCHERS
from action.launch.base import Request
from action.process import Ended
from action.provenance import shown_env
from action.store import Recorder, clean
from levels import signatures
from levels.errors import EnvironmentBlocked
from levels.evidence import PhaseRun
from levels.model import Boundary, Phase
from levels.preview import broke_by


def run_phases(job: Job, recorder: Recorder) -> None:
    """Record every phase that was started. A phase after one that did not end well is not started.

    A fallback is the exception: it starts when the phase that it is for broke by the signature that the plan names.

    Raises:
        EnvironmentBlocked: when a wrapper cannot be started, or a fixed path that it removes is there.

    """
    trees = trees_of(job, recorder.evidence)
    environment.prepare_folders(job)
    for phase in job.leg.phases:
        refuse_fixed_paths(phase)
    for phase in job.leg.phases:
        if phase.fallback is not None:
            continue
        run = _phase(job, recorder, trees, phase)
        if run.exit_code != 0 or run.timed_out:
            _fallbacks(job, recorder, trees, run)
            return


def _fallbacks(job: Job, recorder: Recorder, trees: Trees, broken: PhaseRun) -> None:
    """Start the phases that the plan names for this break."""
    wanted = [p for p in job.leg.phases if p.fallback is not None and p.fallback.of == broken.id]
    if not wanted or broken.log is None:
        return
    with (job.bundle / broken.log.path).open("rb") as stream:
        signature = broke_by(stream, signatures.load(job.leg.suite), bridge_root=str(trees.bridge_src))
    for phase in wanted:
        if phase.fallback is not None and phase.fallback.signature == signature:
            say(f"bridge-e2e: {broken.id} broke by {signature}: {phase.id} is started to tell why; it replaces nothing")
            _phase(job, recorder, trees, phase)


def refuse_fixed_paths(phase: Phase) -> None:
    """Refuse to start when a path that the wrapper would remove belongs to somebody else.

    Raises:
        EnvironmentBlocked: naming the path and its owner.

    """
    for name in phase.must_not_exist:
        path = Path(name)
        if not path.exists() and not path.is_symlink():
            continue
        raise EnvironmentBlocked(
            Boundary.ENVIRONMENT,
            doing=f"starting phase {phase.id}",
            found=f"{name}, owned by user {path.lstat().st_uid}",
            expected="no such path: the wrapper removes it, whoever made it",
            next_step=f"move {name} away, or let its owner finish",
        )


def _phase(job: Job, recorder: Recorder, trees: Trees, phase: Phase) -> PhaseRun:
    launcher = LAUNCHERS[job.site.launcher]
    for stale in phase.remove_before:
        keep = job.work / "set-aside" / phase.id if job.in_place and trees.suite == job.in_place.suite else None
        remove_inside(trees.suite, stale, keep=keep)
    request = launcher.request(job, trees, phase)
    before = recorder.evidence.phases
    started = _started(phase, request)
    # Written before the start: whoever finds the evidence of a killed runner sees that the phase had begun.
    recorder.update(phases=(*before, started), launcher=launcher.name)
    name = log_name(phase.id)
    ended = launcher.execute(request, job.bundle / name, Echo(phase.id, say))
    run = msgspec.structs.replace(
        started,
        started_at=ended.started_at,
        seconds=ended.seconds,
        exit_code=ended.exit_code,
        signal=ended.signal,
        timed_out=ended.timed_out,
        leftovers=ended.leftovers,
        log=log_ref(job.bundle, name, cut=ended.log_cut),
        metrics=take_metrics(job.bundle, trees.suite, phase),
    )
    recorder.update(phases=(*before, run))
    say(_how(phase, ended))
    return run


def _started(phase: Phase, request: Request) -> PhaseRun:
    return PhaseRun(
        id=phase.id,
        command=tuple(clean(part) for part in request.argv),
        env=shown_env(request.shown_env, public=phase.env),
        started_at=process.now(),
        seconds=0.0,
        exit_code=None,
    )


def _how(phase: Phase, ended: Ended) -> str:
    how = f"signal {ended.signal}" if ended.exit_code is None else f"exit code {ended.exit_code}"
    more = ", time limit" if ended.timed_out else ""
    left = f", {ended.leftovers} processes had to be ended" if ended.leftovers else ""
    return f"bridge-e2e: {phase.id}: {how}{more} after {ended.seconds:.0f} s{left}"


def remove_inside(root: Path, name: str, *, keep: Path | None = None) -> None:
    """`root/name` is gone. A link is removed itself; nothing outside `root` is touched.

    Args:
        root: the suite's tree.
        name: relative to it.
        keep: where a person's own output is moved to; without it the output is removed.

    Raises:
        EnvironmentBlocked: when `name` leads out of `root`.

    """
    path = root / name
    if not path.parent.resolve().is_relative_to(root.resolve()) or path.name in {"", ".", ".."}:
        raise EnvironmentBlocked(
            Boundary.CONFIG,
            doing=f"removing stale output {name}",
            found=f"a path that leads out of {root}",
            expected="a path inside the suite's tree",
            next_step="correct remove_before in the level's YAML",
        )
    if keep is not None and (path.exists() or path.is_symlink()):
        target = keep / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, target.with_name(f"{target.name}-{time.time_ns()}"))
        say(f"bridge-e2e: {path} was moved to {keep}")
    elif path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
