"""The Evidence on disk: rewritten whole after every change, and never lost silently. Facts are gathered elsewhere."""

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from action.context import Job
from action.logsink import FULL
from levels.documents import decode, encode, encode_line
from levels.errors import E2EError, EnvironmentBlocked
from levels.evidence import MAX_TEXT, Evidence, Stop
from levels.model import Boundary

EVIDENCE: Final = "evidence.json"
LEG: Final = "leg.json"
BALLAST: Final = ".ballast"
BALLAST_BYTES: Final = 8 * 1024**2
"""More than the largest Evidence document, so that freeing it makes room for one."""
MAX_DIRTY: Final = 200


def clean(text: str, limit: int = MAX_TEXT) -> str:
    """`text` as valid UTF-8 of at most `limit` characters; the middle goes first, both ends say something."""
    valid = text.encode("utf-8", "replace").decode()
    if len(valid) <= limit:
        return valid
    half = (limit - 20) // 2
    return f"{valid[:half]} [... cut ...] {valid[-half:]}"[:limit]


def stop_of(step: str, error: E2EError, *, ours: bool = False) -> Stop:
    """The Stop that records `error`."""
    boundary = error.boundary if isinstance(error, EnvironmentBlocked) else Boundary.CONFIG
    return Stop(
        step=step,
        boundary=boundary,
        doing=clean(error.doing),
        found=clean(error.found),
        expected=clean(error.expected),
        next_step=clean(error.next_step),
        ours=ours,
    )


def compact(evidence: Evidence) -> Evidence:
    """The same evidence without what takes room; whoever reads it still learns which leg stopped where."""
    return msgspec.structs.replace(
        evidence,
        trees=tuple(msgspec.structs.replace(tree, dirty=tree.dirty[:5]) for tree in evidence.trees),
        phases=tuple(msgspec.structs.replace(phase, env={}) for phase in evidence.phases),
        host=None,
        settings=(),
    )


class Recorder:
    """Holds the Evidence of one leg and keeps the file up to date."""

    def __init__(self, bundle: Path, evidence: Evidence, *, write: Callable[[str], None], summary: Path | None) -> None:
        """`write` and `summary` (the job summary file) are the last resort when the disk takes nothing."""
        self._bundle = bundle
        self._write = write
        self._summary = summary
        self.evidence = evidence

    def update(self, **fields: Any) -> None:  # noqa: ANN401 - any field of Evidence
        """Replace fields and rewrite the file. On a full disk the older file stays until `close`."""
        evidence = msgspec.structs.replace(self.evidence, **fields)
        data = _checked(evidence)
        self.evidence = evidence
        with _unless_full():
            self._replace(data)

    def stop(self, stop: Stop) -> None:
        """Record why the leg cannot go on. The first reason stays: what follows is a consequence."""
        if self.evidence.stop is None:
            self.update(stop=stop)

    def close(self) -> bool:
        """Mark the document complete and write it; True when the whole of it is on disk.

        On a full disk the ballast is freed; if that is not enough a shorter document is written, and if even that
        fails it goes to standard output and the job summary.
        """
        self.evidence = msgspec.structs.replace(self.evidence, complete=True)
        (self._bundle / BALLAST).unlink(missing_ok=True)
        for document in (self.evidence, compact(self.evidence)):
            with _unless_full():
                self._replace(_checked(document))
                return document is self.evidence
        self._emit(compact(self.evidence))
        return False

    def _replace(self, data: bytes) -> None:
        new = self._bundle / f".{EVIDENCE}.new"
        try:
            with new.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._bundle / EVIDENCE)
        except OSError:
            with contextlib.suppress(OSError):  # the first error is the one to report
                new.unlink(missing_ok=True)
            raise

    def _emit(self, document: Evidence) -> None:
        line = encode_line(document)
        self._write(f"bridge-e2e: the evidence could not be written to {self._bundle}; here it is:")
        self._write(line)
        if self._summary is not None:
            with _unless_full(), self._summary.open("a", encoding="utf-8") as file:
                file.write(f"\nThe evidence could not be written to disk:\n\n    {line}\n")


class _unless_full(contextlib.AbstractContextManager[None]):  # noqa: N801 - reads as a statement
    """Holds back the error of a full disk, and no other."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        return isinstance(error, OSError) and error.errno in FULL


def _checked(evidence: Evidence) -> bytes:
    """The JSON of `evidence`, which the judge will accept: msgspec checks types on decoding only."""
    data = encode(evidence)
    decode(data, Evidence, what="our own Evidence")
    return data


def open_recorder(job: Job, *, write: Callable[[str], None], environ: dict[str, str] | None = None) -> Recorder:
    """The recorder of the leg's bundle; an earlier step's evidence is continued.

    Raises:
        EnvironmentBlocked: when the output folder cannot be made, or holds another leg's evidence.
        DocumentError: when the evidence there is not readable.

    """
    named = (os.environ if environ is None else environ).get("GITHUB_STEP_SUMMARY")
    summary = Path(named) if named else None
    try:
        job.bundle.mkdir(parents=True, exist_ok=True)
        job.work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentBlocked(
            Boundary.ENVIRONMENT,
            doing="making the output folder",
            found=str(error),
            expected="a folder that can be written",
            next_step="name another folder with --out",
        ) from error
    fresh = Evidence(leg=job.leg.id, plan=job.plan, attempt=job.attempt)
    path = job.bundle / EVIDENCE
    evidence = decode(path.read_bytes(), Evidence, what=str(path)) if path.exists() else fresh
    if (evidence.leg, evidence.plan, evidence.attempt) != (fresh.leg, fresh.plan, fresh.attempt):
        raise EnvironmentBlocked(
            Boundary.ENVIRONMENT,
            doing=f"opening {path}",
            found=f"evidence of leg {evidence.leg}, plan {evidence.plan}, attempt {evidence.attempt}",
            expected=f"leg {fresh.leg}, plan {fresh.plan}, attempt {fresh.attempt}",
            next_step="name an empty folder with --out",
        )
    return Recorder(job.bundle, evidence, write=write, summary=summary)


def reserve(job: Job) -> None:
    """Reserve room for the closing Evidence, and write leg.json.

    Raises:
        EnvironmentBlocked: when there is no room even now.

    """
    try:
        with (job.bundle / BALLAST).open("wb") as file:
            if sys.platform == "linux":
                os.posix_fallocate(file.fileno(), 0, BALLAST_BYTES)
            else:
                file.write(bytes(BALLAST_BYTES))
        (job.bundle / LEG).write_bytes(encode(job.leg))
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise disk_full(f"reserving {BALLAST_BYTES} bytes in {job.bundle}", str(error)) from error


def disk_full(doing: str, found: str) -> EnvironmentBlocked:
    """The one error of a full disk."""
    return EnvironmentBlocked(
        Boundary.ENVIRONMENT,
        doing=doing,
        found=found,
        expected="free disk space",
        next_step="free space under the output and scratch folders, or set `scratch` in the site file to a larger disk",
    )
