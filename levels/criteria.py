"""One small function per criterion: is it met, and where was that read? What follows from it never belongs here."""

from collections.abc import Callable
from typing import Final, assert_never

from levels import criteria_code as code
from levels import criteria_metrics as metrics
from levels import criteria_run as run
from levels.answers import Answer
from levels.model import (
    AdaptersAttached,
    AssertionsPassed,
    BridgeChecksPassed,
    Criterion,
    ExitZero,
    ImportPath,
    LastStep,
    LearningSignal,
    LogCaptured,
    LogFlag,
    MetricBound,
    MetricsFinite,
    MetricsLogged,
    NoException,
    ReachedStage,
    Resumed,
    SuiteChecksPassed,
    TransferTimings,
    TreesAsPlanned,
    WeightsImported,
)
from levels.signatures import Knowledge
from levels.subject import PhaseView, Subject
from levels.verdict import Met


def check(criterion: Criterion, subject: Subject, knowledge: Knowledge) -> Answer:
    """Whether `criterion` holds for `subject`. Total: every kind, any content."""
    match criterion:
        case ImportPath():
            return code.import_path(criterion, subject)
        case TreesAsPlanned():
            return code.trees(subject)
        case BridgeChecksPassed():
            return code.bridge_checks(subject)
        case SuiteChecksPassed():
            return code.suite_checks(subject)
        case Resumed():
            return run.resumed(criterion, subject)
        case NoException() | ExitZero() | LogCaptured():
            phases = subject.phases
        case AssertionsPassed():
            # A helper that checks speaks for the run; without one the wrapper's own phase does.
            phases = tuple(phase for phase in subject.phases if phase.assertions) or _trained(subject)
        case _:
            phases = _trained(subject)
    if criterion.phase is not None:
        phases = tuple(phase for phase in phases if phase.id == criterion.phase)
    return _in_every_phase(phases, lambda phase: _in_phase(criterion, phase, subject, knowledge))


def _trained(subject: Subject) -> tuple[PhaseView, ...]:
    return tuple(phase for phase in subject.phases if not phase.helper)


def _in_phase(  # noqa: C901, PLR0911, PLR0912 - one branch for each kind of criterion
    criterion: Criterion, phase: PhaseView, subject: Subject, knowledge: Knowledge
) -> Answer:
    match criterion:
        case LogFlag():
            return run.log_flag(criterion, phase)
        case ReachedStage():
            return run.stages(criterion, phase)
        case WeightsImported():
            return run.weights(criterion, phase)
        case AdaptersAttached():
            return run.adapters(phase)
        case LastStep():
            return run.last_step(phase)
        case MetricsLogged():
            return metrics.metrics_logged(criterion, phase, subject)
        case MetricsFinite():
            return metrics.metrics_finite(criterion, phase)
        case MetricBound():
            return metrics.metric_bound(criterion, phase)
        case AssertionsPassed():
            return metrics.assertions(phase)
        case LearningSignal():
            return metrics.learning_signal(criterion, phase)
        case TransferTimings():
            return metrics.transfer_timings(criterion, phase)
        case NoException():
            return run.no_exception(phase, subject, knowledge)
        case ExitZero():
            return run.exit_zero(phase)
        case LogCaptured():
            return run.log_captured(phase)
        case ImportPath() | TreesAsPlanned() | BridgeChecksPassed() | SuiteChecksPassed() | Resumed():
            return Answer(met=Met.UNVERIFIED, found="asked of a phase, but about the leg", source="")
        case _:
            assert_never(criterion)


_WORST_FIRST: Final = (Met.UNMET, Met.UNVERIFIED, Met.MET, Met.NOT_APPLICABLE)


def _in_every_phase(phases: tuple[PhaseView, ...], answer: Callable[[PhaseView], Answer]) -> Answer:
    answers: list[Answer] = []
    for phase in phases:
        given = answer(phase)
        given.log_name = given.log_name or phase.log_name
        answers.append(given)
    if not answers:
        return Answer(met=Met.UNVERIFIED, found="no phase ran", source="evidence")
    return min(answers, key=lambda item: _WORST_FIRST.index(item.met))
