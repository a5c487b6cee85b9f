"""The tests that failed on the change's head, on its merge base: did they fail before? What follows is the judge's."""

from action import gitrepo
from action.checkout import home_of, take
from action.context import MCORE_PATH, Job, Trees
from action.echo import say
from action.gitrepo import GitError
from action.pytest_run import argv_of, run_tests
from action.store import clean
from levels.errors import EnvironmentBlocked
from levels.evidence import BaseRun, ChecksRun


def compare(job: Job, trees: Trees, tests: tuple[str, ...], base: str, log: str) -> BaseRun:
    """What the same test files do on the merge base; a file that is not there has no test that failed before.

    The base has a folder, and where its gitlink differs a Megatron-LM, of its own.
    """
    there = _there(job, trees, base)
    if isinstance(there, BaseRun):
        return there
    known = tuple(test for test in tests if (there.bridge / test).is_file())
    if not known:
        return BaseRun(commit=base)
    return _read(run_tests(job, there, argv_of(job, known), f"base-{log}"), base)


def compare_suite(job: Job, trees: Trees, argv: tuple[str, ...], base: str, log: str) -> BaseRun:
    """What the suite's own tests do with the merge base's Bridge in place of the change's."""
    there = _there(job, trees, base)
    if isinstance(there, BaseRun):
        return there
    return _read(run_tests(job, there, argv, f"base-{log}", cwd=trees.suite), base)


def _there(job: Job, trees: Trees, base: str) -> Trees | BaseRun:
    say(f"bridge-e2e: the same tests on the merge base {base[:9]}")
    try:
        return _checked_out(job, trees, base)
    except (GitError, EnvironmentBlocked) as error:
        return BaseRun(commit=base, problem=clean(f"the merge base could not be checked out: {error}"))


def _read(run: ChecksRun, base: str) -> BaseRun:
    if run.exit_code is None:
        return BaseRun(commit=base, problem="the tests did not end on the merge base")
    if run.exit_code not in (0, 1):
        return BaseRun(commit=base, problem=f"pytest ended with exit code {run.exit_code} on the merge base")
    return BaseRun(commit=base, failed=tuple(item.test for item in run.failures))


def _checked_out(job: Job, trees: Trees, base: str) -> Trees:
    home, bridge = home_of(job), job.work / "bridge-base"
    take(job, bridge, job.leg.bridge_repository, base)
    mcore = gitrepo.gitlink(bridge, home, MCORE_PATH)
    if mcore is None or mcore == gitrepo.gitlink(trees.bridge, home, MCORE_PATH):
        return Trees(bridge=bridge, mcore=trees.mcore, suite=trees.suite)
    take(job, bridge / MCORE_PATH, job.leg.mcore_repository, mcore)
    return Trees(bridge=bridge, mcore=bridge / MCORE_PATH, suite=trees.suite)
