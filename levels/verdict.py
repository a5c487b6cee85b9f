"""The Verdict: what the run shows, criterion by criterion. Markdown never belongs here."""

from enum import StrEnum
from typing import Literal

from levels.model import Attribution, Boundary, Commit, Deliverable, Id, Outcome, Record, Status, Suite


class Met(StrEnum):
    """The state of one criterion."""

    MET = "met"
    UNMET = "unmet"
    UNVERIFIED = "unverified"
    """Nothing shows it either way; never enough for a Pass of a leg."""
    NOT_APPLICABLE = "not-applicable"


class CriterionResult(Record, frozen=True, kw_only=True):
    """One criterion with what was found and where."""

    id: Id
    met: Met
    says: str
    found: str
    source: str
    """`run-train.log:120`, `probe driver`, `metrics.json`."""
    deliverable: Deliverable
    remedy: str


class Frame(Record, frozen=True, kw_only=True):
    """The frame that raised."""

    file: str
    line: int
    function: str
    owner: Literal["bridge", "mcore", "suite", "elsewhere"]


class FirstError(Record, frozen=True, kw_only=True):
    """The error that matters."""

    text: str
    """One line of the log, ANSI codes removed, at most 500 characters."""
    log: str | None
    line: int | None
    """1-based line of `log`."""
    frame: Frame | None = None
    context: tuple[str, ...] = ()
    """What belongs to it: its message, the lines that a criterion quotes."""
    around: tuple[str, ...] = ()
    """Up to 20 lines of the log about it, each `NUMBER: text`."""


class DeliverableResult(Record, frozen=True, kw_only=True):
    """One row of the summary."""

    id: Deliverable
    name: str
    status: Status
    detail: str


class LegVerdict(Record, frozen=True, kw_only=True):
    """The judge's answer for one leg."""

    leg: Id
    suite: Suite
    level: int
    variants: tuple[Id, ...]
    title: str
    outcome: Outcome
    sentence: str
    """What was validated, or why not; one sentence."""
    boundary: Boundary | None
    category: str
    attribution: Attribution | None
    comparison: Literal["new", "shared-with-base", "fixed", "not-compared"] = "not-compared"
    first_error: FirstError | None
    proof: Literal["full", "log-only", "none"]
    model: str
    requested: str
    """The summary's *Requested coverage*."""
    criteria: tuple[CriterionResult, ...]
    deliverables: tuple[DeliverableResult, ...]
    bridge_state: str
    """`067f987d` plus dirty files."""
    suite_state: str
    command: str
    key_lines: tuple[str, ...]
    limitations: tuple[str, ...]
    residual_noise: tuple[str, ...] = ()
    follow_ups: tuple[str, ...]
    metrics: dict[str, float] = {}
    """Last values of the metrics that people ask about; finite numbers only."""


class LogVerdict(Record, frozen=True, kw_only=True):
    """What `judge --log` and `judge --evidence` print with `--json`: the words of TAXONOMY, and all details."""

    schema: Literal["bridge-e2e/log-verdict/1"] = "bridge-e2e/log-verdict/1"
    verdict: Outcome
    boundary: Boundary | None
    first_error: str | None
    """The error with the lines that belong to it, joined by newlines."""
    category: str
    attribution: Attribution | None
    proof: Literal["full", "log-only", "none"]
    leg: LegVerdict


class Verdict(Record, frozen=True, kw_only=True):
    """The judge's answer for a plan."""

    schema: Literal["bridge-e2e/verdict/1"] = "bridge-e2e/verdict/1"
    plan: str
    """`Plan.id`."""
    repository: str
    pull_request: int | None
    head: Commit | None
    attempt: int = 1
    outcome: Outcome
    legs: tuple[LegVerdict, ...]


def flat(leg: LegVerdict) -> LogVerdict:
    """`leg` with its main words on top."""
    first = leg.first_error
    lines = (first.text, *first.context) if first else ()
    return LogVerdict(
        verdict=leg.outcome,
        boundary=leg.boundary,
        first_error="\n".join(dict.fromkeys(lines)) if lines else None,
        category=leg.category,
        attribution=leg.attribution,
        proof=leg.proof,
        leg=leg,
    )


def overall(outcomes: tuple[Outcome, ...]) -> Outcome:
    """Fail over Blocked over Pass; Blocked when there is nothing to judge."""
    if Outcome.FAIL in outcomes:
        return Outcome.FAIL
    if Outcome.BLOCKED in outcomes or not outcomes:
        return Outcome.BLOCKED
    return Outcome.PASS
