"""The focused Bridge tests that come before the run. What their result means never belongs here."""

import os
import re
from pathlib import Path
from typing import Final

import msgspec

from action import environment, process
from action.collect import log_ref
from action.context import Job, Trees, trees_of
from action.echo import Echo, say
from action.failures import failures_of
from action.process import Limits
from action.store import Recorder, clean
from levels.evidence import CheckFailure, ChecksRun

LOG: Final = "bridge-checks.log"
_LOG_BYTES: Final = 50_000_000
_TAIL: Final = 4_000
_COUNT: Final = re.compile(r"(\d{1,7}) (passed|failed|errors?|skipped)\b")


def checks(job: Job, recorder: Recorder) -> None:
    """Record the focused tests: counts and exit code, or why they were not started."""
    trees = trees_of(job, recorder.evidence)
    environment.prepare_folders(job)
    python = (job.site.bridge_python,) if job.site.bridge_python else environment.interpreter(job)
    argv = (*python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *job.leg.bridge_tests)
    if not job.leg.bridge_tests:
        reason: str | None = "the level names no Bridge tests"
    else:
        reason = _cannot_start(job, trees, python)
    run = _run(job, trees, argv) if reason is None else _not_run(argv, reason)
    recorder.update(bridge_checks=run)


def _not_run(argv: tuple[str, ...], reason: str) -> ChecksRun:
    return ChecksRun(command=_shown(argv), exit_code=None, skipped_because=clean(reason))


def _cannot_start(job: Job, trees: Trees, python: tuple[str, ...]) -> str | None:
    """Why pytest cannot be started by that interpreter; null when it can.

    Asked outside the Bridge tree: what a change does to pytest's settings is no fault of the environment.
    """
    log = job.bundle / LOG
    limits = Limits(seconds=120, log_bytes=100_000)
    # Given twice, it loads the plugins too; no settings file of a parent folder is read.
    argv = (*python, "-m", "pytest", "-c", os.devnull, "--version", "--version")
    ended = process.run(argv, cwd=job.work, env=_env(job, trees), log=log, limits=limits)
    if ended.exit_code == 0:
        return None
    said = log.read_bytes()[-1000:].decode("utf-8", "replace").strip().splitlines()
    return f"pytest could not be started by {' '.join(python)}: {said[-1] if said else 'no output'}"


def _env(job: Job, trees: Trees) -> dict[str, str]:
    return {**environment.base_env(job), "PYTHONPATH": environment.pythonpath(job, trees)}


def _run(job: Job, trees: Trees, argv: tuple[str, ...]) -> ChecksRun:
    limits = Limits(seconds=job.site.checks_minutes * 60, log_bytes=_LOG_BYTES)
    log = job.bundle / LOG
    echo = Echo("bridge-checks", say)
    ended = process.run(argv, cwd=trees.bridge, env=_env(job, trees), log=log, limits=limits, echo=echo)
    counts = counts_of(_tail(log))
    run = ChecksRun(
        command=_shown(argv),
        exit_code=ended.exit_code,
        log=log_ref(job.bundle, LOG, cut=ended.log_cut),
        passed=counts.get("passed", 0),
        failed=counts.get("failed", 0),
        errors=counts.get("errors", 0),
        skipped=counts.get("skipped", 0),
        failures=_failures(log),
    )
    if ended.timed_out:
        return msgspec.structs.replace(run, exit_code=None, errors=run.errors + 1)
    return run


def _failures(log: Path) -> tuple[CheckFailure, ...]:
    with log.open(encoding="utf-8", errors="replace") as lines:
        return tuple(
            CheckFailure(test=clean(item.test), file=item.file and clean(item.file), error=clean(item.error))
            for item in failures_of(lines)
        )


def _tail(log: Path) -> str:
    return log.read_bytes()[-_TAIL:].decode("utf-8", "replace")


def _shown(argv: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(clean(part) for part in argv)


def counts_of(text: str) -> dict[str, int]:
    """passed, failed, errors and skipped of pytest's last summary line.

    Source: pytest-dev/pytest: src/_pytest/terminal.py, `12 passed, 1 skipped in 0.10s`.
    """
    for line in reversed(text.splitlines()):
        found = _COUNT.findall(line)
        if found and " in " in line:
            return {("errors" if word.startswith("error") else word): int(number) for number, word in found}
    return {}
