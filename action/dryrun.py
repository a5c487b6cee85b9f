"""The exact commands and environment of a leg as text, without starting anything or needing a tree."""

import shlex
from collections.abc import Iterator

from action import environment
from action.context import Job
from action.launch import LAUNCHERS
from action.provenance import shown_env
from action.pytest_run import suite_argv
from levels.catalogue import fill
from levels.model import Phase


def describe(job: Job) -> str:
    """A shell-like text: what would be prepared, tested and run, and with which environment."""
    return "\n".join(_lines(job)) + "\n"


def _lines(job: Job) -> Iterator[str]:
    trees, leg = job.planned_trees, job.leg
    values = environment.placeholders(job, trees)
    yield f"# {leg.title}, {leg.gpus} GPUs, at most {leg.minutes} minutes"
    if (why := leg.blocked) is not None:
        yield f"# Blocked ({why.boundary.value}), nothing would start: {why.found}; expected {why.expected}"
    yield f"# Bridge {trees.bridge}, Megatron-LM {trees.mcore}, {leg.suite.label} {trees.suite}"
    for workaround in leg.workarounds:
        yield f"# declared change of a copy of {leg.suite.label}: {workaround.id} ({workaround.link})"
    for requirement in leg.requirements:
        made = shlex.join(fill(part, values) for part in requirement.prepare)
        yield f"# needs {requirement.kind} {fill(requirement.path, values)}" + (f"; made by: {made}" if made else "")
    yield "# Bridge checks, in the Bridge tree:"
    python = (job.site.bridge_python,) if job.site.bridge_python else environment.interpreter(job)
    yield shlex.join((*python, "-m", "pytest", "-q", *leg.bridge_tests))
    if leg.suite_tests:
        yield f"# {leg.suite.label}'s own unit tests, in its tree:"
        yield shlex.join(suite_argv(job))
    for phase in leg.phases:
        request = LAUNCHERS[job.site.launcher].request(job, trees, phase)
        driver, worker = environment.probe_pythonpaths(job, trees, phase)
        yield from _about(phase)
        yield f"# the wrapper's PYTHONPATH: {driver}"
        yield f"# its Ray workers' PYTHONPATH: {worker}"
        yield f"cd {shlex.quote(str(request.cwd))}"
        yield "env -i \\"
        for name, value in shown_env(request.env, public=phase.env).items():
            yield f"  {name}={shlex.quote(value)} \\"
        yield "  " + shlex.join(request.argv)


def _about(phase: Phase) -> Iterator[str]:
    what = "helper" if phase.kind == "helper" else f"step {phase.steps}"
    yield f"# phase {phase.id}: {what}, at most {phase.minutes} minutes"
    if phase.fallback is not None:
        yield f"# only when {phase.fallback.of} broke by {phase.fallback.signature}: a {phase.fallback.label}"
    for name in phase.must_not_exist:
        yield f"# must not exist: {name}"
    for name in phase.remove_before:
        yield f"# removed before: {name}"
    for expression in phase.assertions:
        yield f"# must hold: {expression}"
