"""The Launcher Protocol: a pure request builder and a thin exec. No back end belongs here."""

from pathlib import Path
from typing import Protocol

from action.context import Job, Trees
from action.echo import Echo
from action.process import Ended
from levels.model import Phase, Record


class Request(Record, frozen=True, kw_only=True):
    """One program to start: everything that can be known without starting it."""

    argv: tuple[str, ...]
    cwd: Path
    env: dict[str, str]
    shown_env: dict[str, str]
    """What the phase itself sets."""
    seconds: float
    log_bytes: int


class Launcher(Protocol):
    """Starts one phase of a leg somewhere."""

    name: str

    def request(self, job: Job, trees: Trees, phase: Phase) -> Request:
        """What will be started. Pure."""
        ...

    def execute(self, request: Request, log: Path, echo: Echo) -> Ended:
        """Start it and wait for its end; nothing of it is left afterwards."""
        ...
