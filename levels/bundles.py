"""Evidence folders to bundles: size caps, digests, no path outside the folder. What they mean never belongs here."""

import hashlib
from pathlib import Path
from typing import BinaryIO, Final

from levels.documents import MAX_BYTES, decode
from levels.errors import DocumentError
from levels.evidence import MAX_LOG_BYTES, MAX_METRICS_BYTES, Evidence, FileRef, PhaseRun
from levels.excerpts import OpenLog
from levels.judge import Bundle, LegLogs
from levels.logs import read_log
from levels.metrics import MetricsFile, read_metrics
from levels.signatures import Knowledge

CHUNK_BYTES: Final = 1 << 20


def read_bundle(folder: Path, knowledge: Knowledge) -> Bundle:
    """What `folder` holds; a problem is told in the bundle, never raised."""
    path = folder / "evidence.json"
    try:
        size = _regular_size(path)
        if size > MAX_BYTES["evidence"]:
            return Bundle(
                evidence=None,
                logs=LegLogs(),
                problem=f"evidence.json has {size} bytes, more than {MAX_BYTES['evidence']}",
            )
        evidence = decode(path.read_bytes(), Evidence, what=str(path))
    except DocumentError as error:
        return Bundle(evidence=None, logs=LegLogs(), problem=error.found)
    except OSError as error:
        return Bundle(evidence=None, logs=LegLogs(), problem=f"no evidence.json could be read: {error.strerror}")
    logs = LegLogs()
    for run in evidence.phases:
        _read_phase(folder, run, logs, knowledge)
    return Bundle(evidence=evidence, logs=logs)


def opener(folder: Path) -> OpenLog:
    """Opens a bundle's logs by the name that a verdict gives them; None for what is no plain file of it."""

    def opened(name: str) -> BinaryIO | None:
        path = folder / Path(name).name
        return path.open("rb") if path.is_file() and not path.is_symlink() else None

    return opened


def _regular_size(path: Path) -> int:
    """Size of a plain file.

    Raises:
        OSError: when it is absent, a link, or not a plain file.

    """
    if path.is_symlink() or not path.is_file():
        raise FileNotFoundError(2, "not a plain file", str(path))
    return path.stat().st_size


def _read_phase(folder: Path, run: PhaseRun, logs: LegLogs, knowledge: Knowledge) -> None:
    if run.log is None:
        logs.problems[run.id] = "no log was kept"
    else:
        problem = _file_problem(folder, run.log, MAX_LOG_BYTES)
        if problem is None:
            with (folder / run.log.path).open("rb") as stream:
                logs.logs[run.id] = read_log(stream, knowledge)
            problem = "the log was cut because it was too large" if run.log.cut else None
        if problem:
            logs.problems[run.id] = problem
    if run.metrics is not None:
        problem = _file_problem(folder, run.metrics, MAX_METRICS_BYTES)
        data = None if problem else (folder / run.metrics.path).read_bytes()
        logs.metrics[run.id] = MetricsFile(problem=problem) if problem else read_metrics(data)


def _file_problem(folder: Path, reference: FileRef, limit: int) -> str | None:
    """Why the file is not the one that the evidence names; None when it is."""
    path = folder / reference.path
    try:
        size = _regular_size(path)
        if not path.resolve().is_relative_to(folder.resolve()):
            return f"{reference.path} lies outside the bundle"
        if size > limit:
            return f"{reference.path} has {size} bytes, more than {limit}"
        if size != reference.bytes:
            return f"{reference.path} has {size} bytes, not {reference.bytes}"
        if _digest(path) != reference.sha256:
            return f"{reference.path} is not the file that the evidence names (SHA-256 differs)"
    except OSError as error:
        return f"{reference.path} could not be read: {error.strerror}"
    return None


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
