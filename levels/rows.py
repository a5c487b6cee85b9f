"""Rows and key lines of the procedures' summary, from criteria. What a criterion means never belongs here."""

from typing import Final

import msgspec

from levels.answers import Answer
from levels.criteria_code import check_groups
from levels.model import (
    AssertionsPassed,
    BridgeChecksPassed,
    Criterion,
    Deliverable,
    ExitZero,
    ImportPath,
    LastStep,
    LogFlag,
    MetricsLogged,
    Outcome,
    Status,
    Suite,
    SuiteChecksPassed,
    TransferTimings,
)
from levels.subject import Subject
from levels.verdict import DeliverableResult, FirstError, Met

MAX_KEY_LINES: Final = 12

Answers = tuple[tuple[Criterion, Answer], ...]

NAMES: Final = {
    Suite.VERL: {
        Deliverable.BRIDGE_CHECKS: "Bridge-side checks",
        Deliverable.BRIDGE_IMPORT: "Local Bridge import in verl",
        Deliverable.RUN: "verl Megatron backend run",
        Deliverable.VARIANTS: "Requested variants",
        Deliverable.CAPTURE: "Log capture",
    },
    Suite.NEMO_RL: {
        Deliverable.BRIDGE_CHECKS: "Bridge-side checks",
        Deliverable.BRIDGE_IMPORT: "Local Bridge import in NeMo-RL",
        Deliverable.RUN: "NeMo-RL Megatron policy run",
        Deliverable.VARIANTS: "Requested variants",
        Deliverable.CAPTURE: "Metrics/log capture",
    },
}
"""Source: verl-e2e-testing.md and nemo-rl-e2e-testing.md, *Summary Format*."""


OWNERS: Final = {"bridge": "Bridge", "mcore": "Megatron-LM", "suite": "the suite", "elsewhere": "another package"}
"""Whose code a frame is, in words."""


def deliverables(
    subject: Subject, answers: Answers, outcome: Outcome, asked: tuple[str, ...]
) -> tuple[DeliverableResult, ...]:
    """The five rows, always all of them, in order; behind them one for each further group of tests."""
    rows = [_row(kind, name, subject, answers, outcome, asked) for kind, name in NAMES[subject.suite].items()]
    return (*rows, *_groups(subject, rows[2]), *_suite_checks(subject, answers))


def _suite_checks(subject: Subject, answers: Answers) -> tuple[DeliverableResult, ...]:
    """One row for the suite's own unit tests, where the level names some."""
    statuses = {Met.MET: Status.PASS, Met.UNMET: Status.FAIL}
    run = subject.evidence.suite_checks if subject.evidence else None
    command = " ".join(run.command) + ": " if run and run.command else ""
    return tuple(
        DeliverableResult(
            id=Deliverable.BRIDGE_CHECKS,
            name=f"{subject.suite.label} unit checks",
            status=statuses.get(answer.met, Status.SKIPPED),
            detail=command + answer.found,
        )
        for item, answer in answers
        if isinstance(item, SuiteChecksPassed) and subject.evidence is not None and answer.met is not Met.NOT_APPLICABLE
    )


def _groups(subject: Subject, run: DeliverableResult) -> tuple[DeliverableResult, ...]:
    """One row for each group of tests; for a new family also the smoke itself, its last minimum evidence."""
    groups = check_groups(subject)
    name = NAMES[subject.suite][Deliverable.BRIDGE_CHECKS]
    statuses = {Met.MET: Status.PASS, Met.UNMET: Status.FAIL}
    rows = tuple(
        DeliverableResult(
            id=Deliverable.BRIDGE_CHECKS,
            name=f"{name}, {group.title}",
            status=statuses.get(answer.met, Status.SKIPPED),
            detail=answer.found,
        )
        for group, answer in groups
    )
    if not any(group.needed for group, _ in groups):
        return rows
    smoke = f"{name}, this {subject.suite.label} smoke after them"
    return (*rows, msgspec.structs.replace(run, id=Deliverable.BRIDGE_CHECKS, name=smoke))


def _row(
    kind: Deliverable, name: str, subject: Subject, answers: Answers, outcome: Outcome, asked: tuple[str, ...]
) -> DeliverableResult:
    own: list[tuple[Criterion, Answer]] = [
        (item, answer)
        for item, answer in answers
        if item.deliverable is kind and not isinstance(item, SuiteChecksPassed)
    ]
    variants = subject.leg.variants if subject.leg else asked
    if kind is Deliverable.VARIANTS and not own:
        if not variants:
            return DeliverableResult(id=kind, name=name, status=Status.NOT_REQUESTED, detail="none was asked for")
        own = [(item, answer) for item, answer in answers if item.deliverable is Deliverable.RUN]
    status = _status(kind, own, subject, outcome)
    return DeliverableResult(id=kind, name=name, status=status, detail=_detail(kind, own, subject, status, variants))


def _status(kind: Deliverable, own: list[tuple[Criterion, Answer]], subject: Subject, outcome: Outcome) -> Status:
    unmet = [item.unmet for item, answer in own if answer.met is Met.UNMET]
    if kind is Deliverable.BRIDGE_CHECKS and not unmet and any(answer.met is Met.UNVERIFIED for _, answer in own):
        return Status.SKIPPED
    if kind in (Deliverable.RUN, Deliverable.VARIANTS) and outcome is Outcome.BLOCKED:
        return Status.BLOCKED
    if unmet:
        return Status.FAIL if Outcome.FAIL in unmet else Status.BLOCKED
    hidden = [item for item, answer in own if answer.met is Met.UNVERIFIED]
    if any(not (subject.proof == "log-only" and item.log_may_omit) for item in hidden):
        return Status.BLOCKED
    if kind is Deliverable.RUN and outcome is Outcome.FAIL and any(answer.cause for _, answer in own):
        return Status.FAIL
    shown = any(isinstance(item, ImportPath) and answer.met is Met.MET for item, answer in own)
    return Status.SKIPPED if hidden and kind is Deliverable.BRIDGE_IMPORT and not shown else Status.PASS


def _detail(
    kind: Deliverable, own: list[tuple[Criterion, Answer]], subject: Subject, status: Status, variants: tuple[str, ...]
) -> str:
    wrong = next((answer.found for _, answer in own if answer.met is Met.UNMET), None)
    if kind is Deliverable.BRIDGE_IMPORT:
        paths = [answer.found for item, answer in own if isinstance(item, ImportPath) and answer.met is Met.MET]
        if wrong or paths:
            return wrong or paths[0]
        return "Local Bridge import: unverified"
    if kind is Deliverable.RUN:
        title = subject.leg.title if subject.leg else subject.title
        return title + (f"; {wrong}" if wrong else "")
    if kind is Deliverable.VARIANTS:
        return ", ".join(variants) + (f"; {wrong}" if wrong else "") if variants else (wrong or "as the level asks")
    if kind is Deliverable.BRIDGE_CHECKS:
        return _checks_detail(subject, own)
    logs = ", ".join(phase.log_name for phase in (*subject.phases, *(item.view for item in subject.fallbacks)))
    extra = [
        answer.found for item, answer in own if isinstance(item, AssertionsPassed | MetricsLogged | TransferTimings)
    ]
    return "; ".join([logs, *extra]) + (
        f"; {wrong}" if wrong and wrong not in extra and status is not Status.PASS else ""
    )


def _checks_detail(subject: Subject, own: list[tuple[Criterion, Answer]]) -> str:
    run = subject.evidence.bridge_checks if subject.evidence else None
    command = " ".join(run.command) if run and run.command else ""
    found = next((answer.found for _, answer in own), "not part of this level")
    return f"{command}: {found}" if command else found


def _where(first: FirstError) -> str:
    """Where the error stands and which frame raised it, as a reader looks it up."""
    places = [f"{first.log}:{first.line}"] if first.log and first.line else []
    if first.frame is not None:
        places.append(f"raised in {first.frame.file}:{first.frame.line}, {OWNERS[first.frame.owner]}")
    return f" ({', '.join(places)})" if places else ""


def key_lines(subject: Subject, answers: Answers, first: FirstError | None) -> tuple[str, ...]:
    """The lines that the procedures ask to quote: flag, progress, metrics, checks, and the first error."""
    shown: list[str] = []
    if first is not None:
        shown.append(first.text + _where(first))
    for item, answer in answers:
        if isinstance(
            item,
            LogFlag
            | LastStep
            | AssertionsPassed
            | MetricsLogged
            | ExitZero
            | BridgeChecksPassed
            | SuiteChecksPassed
            | TransferTimings,
        ):
            quoted = answer.lines[0].raw.strip() if answer.lines else f"{item.id}: {answer.found}"
            shown.append(quoted)
    trained = [phase for phase in subject.phases if not phase.helper]
    if trained and "v-end" in trained[-1].last.passed:
        shown.append(f"training/global_step:{trained[-1].last.step}")
    return tuple(dict.fromkeys(shown))[:MAX_KEY_LINES]
