"""One call of pytest on a Bridge tree, and what it printed. Which tests, and what that means, never belongs here."""

import re
from pathlib import Path
from typing import Final

import msgspec

from action import environment, process
from action.collect import log_ref
from action.context import Job, Trees
from action.echo import Echo, say
from action.failures import failures_of
from action.process import Limits
from action.store import clean
from levels.evidence import CheckFailure, ChecksRun

_LOG_BYTES: Final = 50_000_000
_TAIL: Final = 4_000
_COUNT: Final = re.compile(r"(\d{1,7}) (passed|failed|errors?|skipped)\b")


def interpreter(job: Job) -> tuple[str, ...]:
    """The Bridge development environment that the site names, else the suite's interpreter."""
    return (job.site.bridge_python,) if job.site.bridge_python else environment.interpreter(job)


def argv_of(job: Job, tests: tuple[str, ...]) -> tuple[str, ...]:
    """The command that runs `tests`, in the Bridge tree."""
    return (*interpreter(job), "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)


def suite_interpreter(job: Job) -> tuple[str, ...]:
    """That of the suite's policy workers, which has Megatron-LM's needs, else the suite's own."""
    return (job.site.worker_python,) if job.site.worker_python else environment.interpreter(job)


def suite_argv(job: Job) -> tuple[str, ...]:
    """The command that runs the suite's own unit tests, in the suite's tree."""
    return (*suite_interpreter(job), "-m", "pytest", "-q", "-p", "no:cacheprovider", *job.leg.suite_tests)


def test_env(job: Job, trees: Trees) -> dict[str, str]:
    """The environment of the tests of `trees`."""
    return {**environment.base_env(job), "PYTHONPATH": environment.pythonpath(job, trees)}


def run_tests(job: Job, trees: Trees, argv: tuple[str, ...], name: str, *, cwd: Path | None = None) -> ChecksRun:
    """Counts and failures of one pytest call in the Bridge tree, or in `cwd`; its log is `name` in the bundle."""
    limits = Limits(seconds=job.site.checks_minutes * 60, log_bytes=_LOG_BYTES)
    log = job.bundle / name
    echo = Echo(log.stem, say)
    ended = process.run(argv, cwd=cwd or trees.bridge, env=test_env(job, trees), log=log, limits=limits, echo=echo)
    counts = counts_of(_tail(log))
    run = ChecksRun(
        command=shown(argv),
        exit_code=ended.exit_code,
        log=log_ref(job.bundle, name, cut=ended.log_cut),
        passed=counts.get("passed", 0),
        failed=counts.get("failed", 0),
        errors=counts.get("errors", 0),
        skipped=counts.get("skipped", 0),
        failures=_failures(log),
    )
    if ended.timed_out:
        return msgspec.structs.replace(run, exit_code=None, errors=run.errors + 1)
    return run


def shown(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The command as the evidence keeps it."""
    return tuple(clean(part) for part in argv)


def _failures(log: Path) -> tuple[CheckFailure, ...]:
    with log.open(encoding="utf-8", errors="replace") as lines:
        return tuple(
            CheckFailure(test=clean(item.test), file=item.file and clean(item.file), error=clean(item.error))
            for item in failures_of(lines)
        )


def _tail(log: Path) -> str:
    return log.read_bytes()[-_TAIL:].decode("utf-8", "replace")


def counts_of(text: str) -> dict[str, int]:
    """passed, failed, errors and skipped of pytest's last summary line.

    Source: pytest-dev/pytest: src/_pytest/terminal.py, `12 passed, 1 skipped in 0.10s`.
    """
    for line in reversed(text.splitlines()):
        found = _COUNT.findall(line)
        if found and " in " in line:
            return {("errors" if word.startswith("error") else word): int(number) for number, word in found}
    return {}
