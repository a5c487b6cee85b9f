"""What a suite cannot do where one interpreter serves all of its processes. What a level needs is the plan's."""

from action import environment, process
from action.context import Job, Trees
from action.process import Limits
from levels.errors import EnvironmentBlocked

_LOOK = "import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None)"


def refuse_lacks(job: Job, trees: Trees) -> None:
    """Refuse a leg that needs a module which the only interpreter does not have.

    Where the suite makes an environment for each kind of worker, nothing is asked: each gets what it needs.

    Raises:
        EnvironmentBlocked: naming the interpreter and the module, with the pin's own reason and remedy.

    """
    if not job.leg.lacks or job.site.uv == "real" or job.site.worker_python is not None:
        return
    python = environment.interpreter(job)
    for lack in job.leg.lacks:
        if lack.unless_module is None or _has(job, trees, python, lack.unless_module):
            continue
        raise EnvironmentBlocked(
            lack.boundary,
            doing=f"starting {job.leg.title} with one interpreter for all processes",
            found=f"{' '.join(python)} has no {lack.unless_module}: {lack.reason}",
            expected=f"a place to run with {lack.feature}",
            next_step=lack.remedy,
        )


def _has(job: Job, trees: Trees, python: tuple[str, ...], module: str) -> bool:
    env = {**environment.base_env(job), "PYTHONPATH": environment.pythonpath(job, trees)}
    log = job.bundle / f"has-{module}.log"
    argv = (*python, "-c", _LOOK, module)
    ended = process.run(argv, cwd=job.work, env=env, log=log, limits=Limits(seconds=120, log_bytes=100_000))
    return ended.exit_code == 0
