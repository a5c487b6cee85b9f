"""Starts a phase on this very machine."""

from pathlib import Path
from typing import Final

from action import environment, process
from action.context import Job, Trees
from action.echo import Echo
from action.launch.base import Request
from action.process import Ended, Limits
from levels.model import Phase


class Host:
    """The launcher `host`."""

    name = "host"

    def request(self, job: Job, trees: Trees, phase: Phase) -> Request:
        """The wrapper's argv in the suite's root, with the leg's environment."""
        values = environment.placeholders(job, trees)
        return Request(
            argv=environment.phase_argv(phase, values),
            cwd=trees.suite,
            env=environment.phase_env(job, trees, phase),
            shown_env={**environment.own_env(phase, values), "PYTHONPATH": values["pythonpath"]},
            seconds=min(phase.minutes * 60, job.site.phase_seconds or phase.minutes * 60),
            log_bytes=job.site.log_bytes,
        )

    def execute(self, request: Request, log: Path, echo: Echo) -> Ended:
        """Run it in a process group of its own."""
        limits = Limits(seconds=request.seconds, log_bytes=request.log_bytes)
        return process.run(request.argv, cwd=request.cwd, env=request.env, log=log, limits=limits, echo=echo)


HOST: Final = Host()
