"""What is judged: a leg with its evidence, or a log by itself, in one shape. No criteria, no verdicts."""

from typing import Literal

import msgspec

from levels.evidence import Evidence
from levels.log_stages import Launch, LogFacts
from levels.metrics import MetricsFile, Series
from levels.model import Criterion, Suite
from levels.plan import Leg

ChecksSaid = Literal["pass", "fail", "skipped", "assumed"]


class PhaseView(msgspec.Struct):
    """One call of the wrapper with everything read from its files."""

    id: str
    steps: int | None
    """Training step that it had to reach; null when nobody said so."""
    log_name: str
    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    log: LogFacts | None = None
    log_problem: str | None = None
    """Why there is no log to read."""
    metrics: MetricsFile | None = None
    """null when this phase writes none, or none was given."""
    metrics_wanted: bool = False
    command: str = ""
    helper: bool = False
    """It dumps or checks what the phase before it wrote."""
    assertions: tuple[str, ...] = ()
    """Expressions that must hold for `metrics`."""

    @property
    def last(self) -> Launch:
        """The last start of the program; an empty one when there is no log."""
        return self.log.last if self.log else Launch()

    @property
    def wanted_step(self) -> int | None:
        """The step to reach: what was asked for, else the run's own total."""
        return self.steps if self.steps is not None else self.last.total

    @property
    def done_line(self) -> int | None:
        """Line that shows the last step as finished, of those asked for and of the run's own; None before that."""
        wanted = self.wanted_step
        if wanted is None:
            return None
        wanted = max(wanted, self.last.total or 0)
        lines = [line for step, line in self.last.steps.items() if step >= wanted]
        return min(lines, default=None)

    @property
    def killed(self) -> bool:
        """Whether a signal ended it."""
        return self.signal is not None or (self.exit_code is not None and self.exit_code > 128)  # noqa: PLR2004 - shells add 128

    @property
    def ended_badly(self) -> bool:
        """Whether it did not end by itself with code 0 after the wanted step."""
        unfinished = self.done_line is None and not self.helper
        return self.timed_out or self.killed or self.exit_code not in (0, None) or unfinished

    @property
    def checks_here(self) -> bool:
        """Whether its expressions are evaluated here because the suite's own check gave no table."""
        return self.helper and bool(self.assertions) and not self.last.checks and not self.killed

    def series(self) -> dict[str, Series]:
        """All metric series; those of the log first, because they can be shown with their line."""
        found = dict(self.last.series)
        if self.metrics:
            for name, series in self.metrics.series.items():
                found.setdefault(name, series)
        return found


class FallbackRun(msgspec.Struct):
    """A diagnosis that ran because a phase broke in a known way. It is told, and decides nothing."""

    of: str
    label: str
    view: PhaseView

    @property
    def passed(self) -> bool:
        """Whether it ended by itself, with code 0, after its last step."""
        return not self.view.ended_badly and self.view.exit_code == 0


class Subject(msgspec.Struct):
    """One leg, or one log."""

    suite: Suite
    level: int
    title: str
    criteria: tuple[Criterion, ...]
    phases: tuple[PhaseView, ...]
    """Trains and helpers, in order; fallbacks stand apart."""
    proof: Literal["full", "log-only"]
    leg: Leg | None = None
    evidence: Evidence | None = None
    checks: ChecksSaid | None = None
    """What the caller of `judge --log` said about the Bridge-side checks."""
    fallbacks: tuple[FallbackRun, ...] = ()
    """Those that ran."""
    local: bool = False
    """A person's own run: trees may be as they are, and the verdict is never published."""
    bridge_root: str | None = None
    """Where `megatron.bridge` must come from."""
