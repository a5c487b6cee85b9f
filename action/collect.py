"""Files to Evidence: sizes and hashes of what the bundle holds. Judging never belongs here."""

import hashlib
import os
import shutil
import stat
from pathlib import Path
from typing import Final

import msgspec

from action import leftovers
from action.context import Job, trees_of
from action.logsink import FULL
from action.store import Recorder, clean
from levels.evidence import MAX_METRICS_BYTES, FileRef, PhaseRun
from levels.model import Phase

_CHUNK: Final = 1024**2


def file_ref(bundle: Path, name: str, *, cut: bool = False) -> FileRef:
    """Size and SHA-256 of the bundle's file `name`.

    Raises:
        OSError: when it is not a regular file; a link is never followed.

    """
    digest, size = hashlib.sha256(), 0
    fd = os.open(bundle / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{name} is not a regular file")
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return FileRef(path=name, bytes=size, sha256=digest.hexdigest(), cut=cut)


def log_ref(bundle: Path, name: str, *, cut: bool = False) -> FileRef | None:
    """`file_ref`, or null where no such log was written, or where the leg put something else in its place."""
    try:
        return file_ref(bundle, name, cut=cut)
    except OSError:
        return None  # a missing file is a fact that the judge acts on


def take_metrics(bundle: Path, suite: Path, phase: Phase) -> FileRef | None:
    """A copy of the phase's metrics file in the bundle; null when the wrapper wrote none.

    The suite's tree is hostile by now: links out of the tree are refused, and no more is taken than the judge reads.
    """
    if phase.metrics is None:
        return None
    source = suite / phase.metrics
    if not source.resolve().is_relative_to(suite.resolve()) or source.is_symlink() or not source.is_file():
        return None
    name = f"metrics-{phase.id}.json"
    try:
        cut = _copy(source, bundle / name)
    except OSError as error:
        if error.errno not in FULL:
            raise
        cut = True
    return log_ref(bundle, name, cut=cut)


def _copy(source: Path, target: Path) -> bool:
    """True when bytes were left out."""
    fd = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{source} is not a regular file")
        with target.open("wb") as copy:
            left = MAX_METRICS_BYTES
            while left and (chunk := file.read(min(_CHUNK, left))):
                copy.write(chunk)
                left -= len(chunk)
            return bool(file.read(1))


def collect(job: Job, recorder: Recorder) -> None:
    """End what is left of the leg, add the logs that a killed step could not record, remove temporary files."""
    leftovers.end(job.token, 0.0, None, settle=0.0, terminate=1.0)
    recorder.update(phases=tuple(_with_files(job, recorder, run) for run in recorder.evidence.phases))
    shutil.rmtree(job.tmp, ignore_errors=True)
    if job.in_place is None and job.site.scratch is not None:
        shutil.rmtree(job.work, ignore_errors=True)  # a shared disk; everything in it can be made again


def _with_files(job: Job, recorder: Recorder, run: PhaseRun) -> PhaseRun:
    if run.log is not None:
        return run
    phase = next((phase for phase in job.leg.phases if phase.id == run.id), None)
    metrics = take_metrics(job.bundle, trees_of(job, recorder.evidence).suite, phase) if phase else None
    return msgspec.structs.replace(run, log=log_ref(job.bundle, log_name(run.id), cut=True), metrics=metrics)


def log_name(phase_id: str) -> str:
    """The bundle's log of one phase."""
    return clean(f"run-{phase_id}.log")
