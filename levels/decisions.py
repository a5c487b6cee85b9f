"""From answers to an outcome with boundary, attribution and first error, in TAXONOMY's order. No I/O."""

from typing import Final, assert_never

import msgspec

from levels.answers import Answer
from levels.causes import Cause, first_cause
from levels.evidence import Stop
from levels.model import (
    AdaptersAttached,
    AssertionsPassed,
    Attribution,
    Boundary,
    BridgeChecksPassed,
    Criterion,
    Deliverable,
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
    NothingSkipped,
    Outcome,
    ReachedStage,
    Resumed,
    StagesShown,
    SuiteChecksPassed,
    TransferTimings,
    TreesAsPlanned,
    WeightsImported,
)
from levels.probe_errors import import_error
from levels.shapes import NotStarted
from levels.signatures import Built, Knowledge
from levels.subject import PhaseView, Subject
from levels.verdict import FirstError, Met

MAX_CONTEXT: Final = 20
MAX_TEXT: Final = 500
NOT_STARTED: Final = "not-started"
NO_EVIDENCE: Final = "evidence"
"""Category of a leg that there is nothing to judge about."""
_NOT_FOUND: Final = 127
_NOT_RUNNABLE: Final = 126
_CHECKS: Final = (BridgeChecksPassed, SuiteChecksPassed)

Answers = tuple[tuple[Criterion, Answer], ...]


class Decision(msgspec.Struct):
    """Outcome with its reasons, before the document is assembled."""

    outcome: Outcome
    boundary: Boundary | None
    attribution: Attribution | None
    category: str
    sentence: str
    first_error: FirstError | None = None
    remedy: str = ""


def refused(found: str) -> Decision:
    """Blocked, because there is nothing to judge."""
    return Decision(
        outcome=Outcome.BLOCKED,
        boundary=Boundary.ENVIRONMENT,
        attribution=Attribution.ENVIRONMENT,
        category=NO_EVIDENCE,
        sentence=f"there is nothing to judge: {found}",
        first_error=FirstError(text=found[:MAX_TEXT], log=None, line=None),
        remedy="look at the run's job and start it again",
    )


def not_started(why: NotStarted) -> Decision:
    """Blocked by the plan: no machine was asked for."""
    return Decision(
        outcome=Outcome.BLOCKED,
        boundary=why.boundary,
        attribution=Attribution.ENVIRONMENT,
        category=NOT_STARTED,
        sentence=f"not started: found {why.found}; expected {why.expected}"[:MAX_TEXT],
        first_error=FirstError(text=why.found[:MAX_TEXT], log=None, line=None),
        remedy=why.next_step,
    )


def stopped(stop: Stop) -> Decision:
    """Blocked, because the runner itself could not go on."""
    found = stop.found.strip().splitlines()[-1] if stop.ours and stop.found.strip() else stop.found
    return Decision(
        outcome=Outcome.BLOCKED,
        boundary=stop.boundary,
        attribution=Attribution.ENVIRONMENT,
        category="runner-bug" if stop.ours else f"stopped-{stop.step}",
        sentence=f"{stop.doing}: found {found}; expected {stop.expected}"[:MAX_TEXT],
        first_error=FirstError(text=found[:MAX_TEXT], log=None, line=None),
        remedy=stop.next_step,
    )


def decide(subject: Subject, answers: Answers, knowledge: Knowledge) -> Decision:
    """Outcome in the order of TAXONOMY: wrong tree or backend, Bridge checks, first cause, criteria, unverified."""
    unmet = [(item, answer) for item, answer in answers if answer.met is Met.UNMET]
    return (
        _wrong_path(subject, unmet, knowledge)
        or next((_not_met(item, answer) for item, answer in unmet if isinstance(item, _CHECKS)), None)
        or next((found for phase in subject.phases if (found := _broken(phase, subject, knowledge))), None)
        or _partial(subject)
        or next((_not_met(item, answer) for item, answer in unmet), None)
        or next((_not_shown(item, answer) for item, answer in answers if _hidden(item, answer, subject)), None)
        or _passed(subject)
    )


def _wrong_path(subject: Subject, unmet: list[tuple[Criterion, Answer]], knowledge: Knowledge) -> Decision | None:
    """Another tree, or a backend that never touches Bridge: whatever else the run shows is evidence for nothing.

    A variant's flag is no such thing: a run of other sizes that broke did break, and its first cause counts.
    """
    for item, answer in unmet:
        backend = isinstance(item, LogFlag) and item.deliverable is Deliverable.RUN
        if (backend or isinstance(item, ImportPath | TreesAsPlanned)) and item.unmet is Outcome.BLOCKED:
            return _own_code(subject, item, answer, knowledge) or _not_met(item, answer)
    return None


def _broken(phase: PhaseView, subject: Subject, knowledge: Knowledge) -> Decision | None:
    """What stopped this phase; None when it ended well, or only criteria tell that it did not."""
    empty = phase.log is not None and phase.log.tail.size_bytes == 0 and not phase.helper
    if empty and subject.proof == "log-only":
        return _silent(phase, knowledge)
    if phase.log is None or not phase.ended_badly:
        return None
    if phase.helper:
        return None if phase.assertions else _helper_broke(phase, knowledge)
    cause = first_cause(phase.last, knowledge, done_line=phase.done_line, bridge_root=subject.bridge_root)
    # What a run says while it is being stopped at its time limit is no cause of that.
    if cause is not None and not (phase.timed_out and cause.consequence):
        return _caused(cause, phase, knowledge)
    if phase.done_line is None and (phase.timed_out or phase.exit_code not in (0, None) or phase.signal is not None):
        return _silent(phase, knowledge)
    return None


def _helper_broke(phase: PhaseView, knowledge: Knowledge) -> Decision:
    """The run was done, and what it measured could not be read: no metrics, and no fault of the change is known."""
    cause = first_cause(phase.last, knowledge, done_line=None, bridge_root=None)
    last = phase.log.last_line if phase.log else None
    text = cause.error.text if cause else last.raw if last else f"exit code {phase.exit_code}"
    return Decision(
        outcome=Outcome.FAIL,
        boundary=Boundary.METRICS,
        attribution=cause.attribution if cause else Attribution.UNDETERMINED,
        category="metrics-not-read",
        sentence=f"the asked steps were done, but {phase.id} could not read what they measured",
        first_error=FirstError(
            text=text[:MAX_TEXT], log=phase.log_name, line=cause.error.number if cause else last.line if last else None
        ),
        remedy=(cause.remedy if cause else "") or f"look at {phase.log_name} and run that command again",
    )


def _partial(subject: Subject) -> Decision | None:
    """Phases without a whole log prove nothing, whatever the criteria make of the rest."""
    if subject.proof == "log-only":
        return None
    for phase in subject.phases:
        if phase.log is None or phase.log_problem:
            return refused(f"{phase.log_name}: {phase.log_problem or 'missing'}")
        if phase.log.tail.size_bytes == 0 and not phase.helper:
            return refused(f"{phase.log_name} is empty, although the wrapper ended with exit code {phase.exit_code}")
    return None


def _hidden(item: Criterion, answer: Answer, subject: Subject) -> bool:
    """Whether nothing shows this criterion, and that is not tolerated."""
    return answer.met is Met.UNVERIFIED and not (subject.proof == "log-only" and item.log_may_omit)


def _own_code(subject: Subject, item: Criterion, answer: Answer, knowledge: Knowledge) -> Decision | None:
    """What a failed import probe says by its traceback: the checkout's own code broke, or a package is missing."""
    if subject.evidence is None or not isinstance(item, ImportPath) or answer.log_name is not None:
        return None

    for probe in subject.evidence.imports:
        if probe.file is None and probe.error:
            cause = import_error(probe.error, knowledge, subject.bridge_root)
            if cause is not None and cause.outcome is Outcome.FAIL:
                return _from_cause(cause, Outcome.FAIL, f"probe {probe.process.value}", f"importing {probe.module}")
            asked = (probe.process, probe.module) == (item.process, item.module)
            if cause is not None and asked and cause.boundary is Boundary.DEPENDENCY:
                return _from_cause(cause, Outcome.BLOCKED, f"probe {probe.process.value}", f"importing {probe.module}")
    return None


def _caused(cause: Cause, phase: PhaseView, knowledge: Knowledge) -> Decision:
    outcome = cause.outcome or outcome_at(cause.boundary, cause.built, knowledge)
    return _from_cause(cause, outcome, phase.log_name, "")


def _from_cause(cause: Cause, outcome: Outcome, log_name: str, doing: str) -> Decision:
    error = cause.error
    where = f" while {doing}" if doing else ""
    first = FirstError(
        text=error.text[:MAX_TEXT],
        log=log_name,
        line=error.number,
        frame=cause.frame,
        context=_context(error.message),
    )
    return Decision(
        outcome=outcome,
        boundary=cause.boundary,
        attribution=cause.attribution,
        category=cause.category,
        sentence=_sentence(outcome, cause.boundary, cause.built, where),
        first_error=first,
        remedy=cause.remedy,
    )


def _sentence(outcome: Outcome, boundary: Boundary, built: Built, where: str = "") -> str:
    if outcome is Outcome.BLOCKED:
        return f"blocked at {boundary.value}{where}; this is not evidence against the Bridge provider"
    if boundary is Boundary.SHUTDOWN:
        return f"the asked steps were done, but the run did not end successfully{where}"
    built_words = {
        Built.NO: "before the model was built",
        Built.PARTIAL: "while the model was being built",
        Built.YES: "after the model was built",
    }
    return f"failed at {boundary.value}{where}, {built_words[built]}"


def outcome_at(boundary: Boundary, built: Built, knowledge: Knowledge) -> Outcome:
    """What a break at `boundary` means, by how far construction had come."""
    rule = knowledge.rules.get(boundary)
    if rule is None:
        return Outcome.FAIL
    match built:
        case Built.NO:
            return rule.before
        case Built.PARTIAL:
            return rule.during
        case Built.YES:
            return rule.after
        case _:
            assert_never(built)


def _silent(phase: PhaseView, knowledge: Knowledge) -> Decision:
    """A run that ended early and said nothing about why."""
    launch = phase.last
    stage = launch.stage or Boundary.ENVIRONMENT
    empty = phase.log is None or phase.log.tail.size_bytes == 0
    if (
        empty
        or phase.timed_out
        or (launch.built is Built.NO and phase.killed)
        or phase.exit_code in (_NOT_FOUND, _NOT_RUNNABLE)
    ):
        stage = Boundary.ENVIRONMENT
    outcome = outcome_at(stage, launch.built, knowledge)
    how = _how_it_ended(phase)
    last = phase.log.last_line if phase.log else None
    environment = phase.timed_out or empty or launch.built is Built.NO
    return Decision(
        outcome=outcome,
        boundary=stage,
        attribution=Attribution.ENVIRONMENT if environment else Attribution.UNDETERMINED,
        category="killed-time-limit" if phase.timed_out else "empty-log" if empty else "no-error-shown",
        sentence=f"{how} without an error in the log; " + _sentence(outcome, stage, launch.built),
        first_error=FirstError(text=last.raw, log=phase.log_name, line=last.line) if last else None,
        remedy="look at the scheduler's and the node's own logs",
    )


def _how_it_ended(phase: PhaseView) -> str:
    if phase.timed_out:
        return "the run was stopped at its time limit"
    if phase.signal is not None:
        return f"the run was ended by signal {phase.signal}"
    if phase.exit_code == _NOT_FOUND:
        return "the command was not found (exit code 127)"
    return f"the run ended with exit code {phase.exit_code}"


def _not_met(item: Criterion, answer: Answer) -> Decision:
    cause = answer.cause
    first = None
    if answer.lines:
        quoted = answer.lines[0]
        first = FirstError(
            text=quoted.raw[:MAX_TEXT],
            log=answer.log_name,
            line=quoted.line or None,
            frame=cause.frame if cause else None,
            context=_context(
                (*(cause.error.message if cause else ()), *(note.raw for note in answer.lines), answer.found)
            ),
        )
    elif answer.found:
        first = FirstError(text=answer.found[:MAX_TEXT], log=None, line=None)
    not_evidence = "; this is not evidence against the Bridge provider" if item.unmet is Outcome.BLOCKED else ""
    told = cause or answer.skip
    return Decision(
        outcome=item.unmet,
        boundary=told.boundary if told else item.boundary,
        attribution=told.attribution if told else _attribution(item, answer),
        category=cause.category if cause else answer.skip.id if answer.skip else _category(item),
        sentence=f"not met: {item.says} ({answer.found}){not_evidence}"[:MAX_TEXT],
        first_error=first,
        remedy=(told.remedy if told else "") or item.remedy,
    )


def _context(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(line[:MAX_TEXT] for line in lines[:MAX_CONTEXT])


def _not_shown(item: Criterion, answer: Answer) -> Decision:
    return Decision(
        outcome=Outcome.BLOCKED,
        boundary=item.boundary,
        attribution=Attribution.ENVIRONMENT,
        category="unverified",
        sentence=f"nothing shows that {item.says} ({answer.found}); this is not evidence against the Bridge provider"[
            :MAX_TEXT
        ],
        first_error=FirstError(text=answer.found[:MAX_TEXT], log=None, line=None),
        remedy=item.remedy,
    )


def _passed(subject: Subject) -> Decision:
    trained = [phase for phase in subject.phases if not phase.helper]
    steps = ", ".join(f"{phase.id} to step {phase.wanted_step}" for phase in trained)
    return Decision(
        outcome=Outcome.PASS,
        boundary=None,
        attribution=None,
        category="pass",
        sentence=f"{subject.title} passed: {steps}",
    )


def _category(item: Criterion) -> str:  # noqa: PLR0911 - one line for each kind of criterion
    match item:
        case ImportPath():
            return "wrong-bridge-path"
        case LogFlag():
            return "not-exercised"
        case LastStep():
            return "fewer-steps"
        case Resumed():
            return "resume-silent"
        case AdaptersAttached():
            return "lora-targets"
        case ExitZero():
            return "exit-nonzero"
        case _:
            return item.id


def _attribution(item: Criterion, answer: Answer) -> Attribution:
    match item:
        case ImportPath() | TreesAsPlanned() | LogFlag() | LastStep() | MetricsLogged() | LogCaptured():
            return Attribution.ENVIRONMENT
        case (
            BridgeChecksPassed()
            | WeightsImported()
            | AdaptersAttached()
            | MetricsFinite()
            | MetricBound()
            | AssertionsPassed()
        ):
            return Attribution.BRIDGE_SIDE
        case LearningSignal():
            return Attribution.DOWNSTREAM if "lr is 0" in answer.found else Attribution.BRIDGE_SIDE
        case Resumed():
            return Attribution.DOWNSTREAM
        case SuiteChecksPassed():
            # Only where the merge base was asked too is it known that the suite itself does not break them.
            compared = "pass on the merge base" in answer.found
            return Attribution.BRIDGE_SIDE if compared else Attribution.UNDETERMINED
        case ReachedStage() | NoException() | ExitZero() | TransferTimings() | NothingSkipped() | StagesShown():
            return Attribution.UNDETERMINED
        case _:
            assert_never(item)
