"""Bridge's own tests, and the suite's, that come before the run. What their result means never belongs here."""

import os
from pathlib import Path
from typing import Final

import msgspec

from action import base_checks, environment, process
from action.context import Job, Trees, trees_of
from action.process import Limits
from action.pytest_run import argv_of, interpreter, run_tests, shown, suite_argv, suite_interpreter, test_env
from action.store import Recorder, clean
from levels.evidence import ChecksRun, GroupRun

LOG: Final = "bridge-checks.log"
SUITE_LOG: Final = "suite-checks.log"
MAX_FILES: Final = 200
"""Test files that one group may name; patterns come from the change's paths, files from its tree."""


def checks(job: Job, recorder: Recorder) -> None:
    """Record the focused tests and each group that the change calls for: counts, exit code, or why not started.

    Where one fails and the plan names the merge base, the same tests are run there too.
    """
    trees = trees_of(job, recorder.evidence)
    environment.prepare_folders(job)
    python = interpreter(job)
    cannot = _cannot_start(job, trees, python, LOG)
    tests = job.leg.bridge_tests
    run = _group(job, trees, tests, LOG, "the level names no Bridge tests" if not tests else cannot)
    recorder.update(bridge_checks=run)
    groups: list[GroupRun] = []
    for group in job.leg.check_groups:
        files = files_of(trees.bridge, group.tests)
        reason = cannot if files else f"no file of the checkout matches {', '.join(group.tests)}"
        log = f"bridge-checks-{group.id}.log"
        groups.append(GroupRun(id=group.id, run=_group(job, trees, files, log, reason)))
        recorder.update(check_groups=tuple(groups))
    if job.leg.suite_tests:
        recorder.update(suite_checks=_suite(job, trees))


def _suite(job: Job, trees: Trees) -> ChecksRun:
    """The suite's own unit tests of the surface, in its tree, by the interpreter of its policy workers."""
    argv = suite_argv(job)
    cannot = _cannot_start(job, trees, suite_interpreter(job), SUITE_LOG)
    if cannot is not None:
        return ChecksRun(command=shown(argv), exit_code=None, skipped_because=clean(cannot))
    run = run_tests(job, trees, argv, SUITE_LOG, cwd=trees.suite)
    if run.failures and job.leg.bridge_base is not None:
        base = base_checks.compare_suite(job, trees, argv, job.leg.bridge_base, SUITE_LOG)
        run = msgspec.structs.replace(run, base=base)
    return run


def files_of(root: Path, patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Plain files below `root` that match, each once, sorted, at most `MAX_FILES`; nothing that a link leads to."""
    found: set[str] = set()
    for pattern in patterns:
        for path in root.glob(pattern):
            if path.is_file() and not path.is_symlink() and path.resolve().is_relative_to(root.resolve()):
                found.add(str(path.relative_to(root)))
    return tuple(sorted(found)[:MAX_FILES])


def _group(job: Job, trees: Trees, tests: tuple[str, ...], log: str, reason: str | None) -> ChecksRun:
    argv = argv_of(job, tests)
    if reason is not None:
        return ChecksRun(command=shown(argv), exit_code=None, skipped_because=clean(reason))
    run = run_tests(job, trees, argv, log)
    if run.failures and job.leg.bridge_base is not None:
        base = base_checks.compare(job, trees, tests, job.leg.bridge_base, log)
        run = msgspec.structs.replace(run, base=base)
    return run


def _cannot_start(job: Job, trees: Trees, python: tuple[str, ...], name: str) -> str | None:
    """Why pytest cannot be started by that interpreter; null when it can.

    Asked outside the Bridge tree: what a change does to pytest's settings is no fault of the environment.
    """
    log = job.bundle / name
    limits = Limits(seconds=120, log_bytes=100_000)
    # Given twice, it loads the plugins too; no settings file of a parent folder is read.
    argv = (*python, "-m", "pytest", "-c", os.devnull, "--version", "--version")
    ended = process.run(argv, cwd=job.work, env=test_env(job, trees), log=log, limits=limits)
    if ended.exit_code == 0:
        return None
    said = log.read_bytes()[-1000:].decode("utf-8", "replace").strip().splitlines()
    return f"pytest could not be started by {' '.join(python)}: {said[-1] if said else 'no output'}"
