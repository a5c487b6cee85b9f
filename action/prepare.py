"""Data sets and models: there, made by the level's own command, or missing with the remedy. No silent download."""

from pathlib import Path

from action import environment, one_environment, process
from action.context import Job, Trees, trees_of
from action.echo import Echo, say
from action.process import Limits
from action.store import Recorder, clean
from levels.catalogue import fill
from levels.errors import EnvironmentBlocked
from levels.evidence import Preparation
from levels.model import Boundary, Requirement

_LOG_BYTES = 10_000_000


def prepare(job: Job, recorder: Recorder) -> None:
    """Record every requirement of the leg.

    A data set is made only in the leg's own folder: what a site shares is read-only to legs.

    Raises:
        EnvironmentBlocked: when one is missing, after all were looked at.

    """
    trees = trees_of(job, recorder.evidence)
    environment.prepare_folders(job)
    one_environment.refuse_lacks(job, trees)
    done: list[Preparation] = []
    for requirement in job.leg.requirements:
        done.append(_one(job, trees, requirement))
        recorder.update(preparations=tuple(done))
    for requirement, state in zip(job.leg.requirements, done, strict=True):
        if not state.found:
            raise _missing(requirement, state)
    for phase in job.leg.phases:
        environment.find_program(phase.command[0], environment.base_env(job))


def _one(job: Job, trees: Trees, requirement: Requirement) -> Preparation:
    values = environment.placeholders(job, trees)
    path = Path(fill(requirement.path, values))
    if present(path):
        return Preparation(id=requirement.id, path=clean(str(path)), found=True, detail=_detail(path))
    if not requirement.prepare or job.site.data is not None:
        return Preparation(id=requirement.id, path=clean(str(path)), found=False, detail="missing")
    argv = tuple(fill(part, values) for part in requirement.prepare)
    problem = _make(job, trees, requirement, argv)
    found = problem is None and present(path)
    detail = f"made by {' '.join(argv)}" if found else (problem or f"{argv[0]} ended well but did not make it")
    return Preparation(id=requirement.id, path=clean(str(path)), found=found, made=found, detail=clean(detail))


def present(path: Path) -> bool:
    """True for a file with content, or a folder with anything in it."""
    try:
        return any(path.iterdir()) if path.is_dir() else path.stat().st_size > 0
    except OSError:
        return False


def _detail(path: Path) -> str:
    snapshot = path.resolve()
    return f"snapshot {snapshot.name}" if snapshot.parent.name == "snapshots" else "present"


def _make(job: Job, trees: Trees, requirement: Requirement, argv: tuple[str, ...]) -> str | None:
    """Null when the command ended well, else what it said last."""
    log = job.bundle / f"prepare-{requirement.id}.log"
    env = {**environment.base_env(job), "PYTHONPATH": environment.pythonpath(job, trees)}
    if argv[0] in {"python", "python3"}:
        argv = (*environment.interpreter(job), *argv[1:])
    limits = Limits(seconds=job.site.prepare_minutes * 60, log_bytes=_LOG_BYTES)
    ended = process.run(argv, cwd=trees.suite, env=env, log=log, limits=limits, echo=Echo(requirement.id, say))
    if ended.exit_code == 0:
        return None
    lines = log.read_bytes()[-4000:].decode("utf-8", "replace").strip().splitlines()
    how = "stopped at the time limit" if ended.timed_out else _ended(ended)
    return f"{lines[-1] if lines else 'no output'} ({how}: {' '.join(requirement.prepare)})"


def _ended(ended: process.Ended) -> str:
    return f"signal {ended.signal}" if ended.exit_code is None else f"exit code {ended.exit_code}"


def _missing(requirement: Requirement, state: Preparation) -> EnvironmentBlocked:
    boundary = Boundary.DATA if requirement.kind == "dataset" else Boundary.MODEL_DOWNLOAD
    return EnvironmentBlocked(
        boundary,
        doing=f"preparing {requirement.kind} {requirement.id}",
        found=state.detail,
        expected=f"{state.path}",
        next_step=requirement.remedy,
    )
