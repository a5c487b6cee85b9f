"""Leg and evidence, or a log by itself, to a LegVerdict: total, never raises on content. I/O and clock never belong here."""

from collections.abc import Mapping
from typing import Final, Literal, assert_never

import msgspec

from levels.catalogue import Catalogue, criteria_of, limitations_of, variants_of
from levels.causes import Cause, first_cause
from levels.criteria import Answer, check
from levels.deliverables import Ask
from levels.errors import UsageError
from levels.evidence import Evidence, PhaseRun, Stop
from levels.logs import Launch, LogFacts
from levels.metrics import MetricsFile
from levels.model import (
    AdaptersAttached,
    AssertionsPassed,
    Attribution,
    Boundary,
    BridgeChecksPassed,
    Criterion,
    ExitZero,
    ImportPath,
    LastStep,
    LearningSignal,
    Limitation,
    LogCaptured,
    LogFlag,
    MetricBound,
    MetricsFinite,
    MetricsLogged,
    NoException,
    Outcome,
    ReachedStage,
    Resumed,
    TreesAsPlanned,
    WeightsImported,
)
from levels.plan import Leg, Plan
from levels.probe_errors import import_error
from levels.rows import deliverables, key_lines
from levels.signatures import Built, Knowledge
from levels.subject import ChecksSaid, PhaseView, Subject
from levels.verdict import CriterionResult, FirstError, LegVerdict, Met, Verdict, overall

MAX_CONTEXT: Final = 20
MAX_TEXT: Final = 500
_NOT_FOUND: Final = 127
_NOT_RUNNABLE: Final = 126


class Decision(msgspec.Struct):
    """Outcome with its reasons, before the document is assembled."""

    outcome: Outcome
    boundary: Boundary | None
    attribution: Attribution | None
    category: str
    sentence: str
    first_error: FirstError | None = None
    remedy: str = ""


class LegLogs(msgspec.Struct):
    """Everything read from the files of one bundle."""

    logs: dict[str, LogFacts] = {}
    """By phase id."""
    metrics: dict[str, MetricsFile] = {}
    problems: dict[str, str] = {}
    """Phase id to why its log could not be used: missing, another digest, too large, cut."""


class Bundle(msgspec.Struct):
    """One leg's folder, read."""

    evidence: Evidence | None
    logs: LegLogs
    problem: str | None = None
    """Why there is no evidence: missing, too large, not the document."""


def judge_plan(
    plan: Plan, bundles: Mapping[str, Bundle | None], catalogue: Catalogue, knowledge: Mapping[str, Knowledge]
) -> Verdict:
    """One verdict for each planned leg, whatever `bundles` holds; legs that nobody planned are not looked at.

    Args:
        plan: what was to run.
        bundles: by leg id; None and absence mean that no evidence arrived.
        catalogue: the levels.
        knowledge: compiled signatures, by suite value.

    """
    legs = []
    for leg in plan.legs:
        bundle = bundles.get(leg.id) or Bundle(evidence=None, logs=LegLogs(), problem="no evidence arrived")
        legs.append(
            judge_leg(
                leg,
                bundle.evidence,
                bundle.logs,
                catalogue,
                knowledge[leg.suite.value],
                expected_plan=plan.id,
                problem=bundle.problem,
            )
        )
    return Verdict(
        plan=plan.id,
        repository=plan.repository,
        pull_request=plan.pull_request,
        head=plan.head,
        attempt=plan.attempt,
        outcome=overall(tuple(leg.outcome for leg in legs)),
        legs=tuple(legs),
    )


def judge_leg(
    leg: Leg,
    evidence: Evidence | None,
    logs: LegLogs,
    catalogue: Catalogue,
    knowledge: Knowledge,
    *,
    expected_plan: str | None = None,
    problem: str | None = None,
) -> LegVerdict:
    """The verdict of one leg. Missing, partial or foreign evidence is Blocked, never Pass."""
    try:
        level = catalogue.level(leg.suite, leg.level)
        variants = variants_of(level, leg.variants)
    except UsageError as error:
        return _assemble(
            _subject(leg, None, LegLogs(), ()),
            (),
            _refused(f"the plan asks for what this catalogue lacks: {error.found}"),
            (),
        )
    criteria = criteria_of(level, variants)
    subject = _subject(leg, evidence, logs, criteria)
    limits = (*limitations_of(level, variants, leg.phases), *(item.limitation for item in leg.workarounds))
    if evidence is None:
        answers = tuple((item, Answer(met=Met.UNVERIFIED, found="no evidence", source="evidence")) for item in criteria)
        return _assemble(subject, answers, _refused(problem or "no evidence arrived"), limits)
    limits = (*limits, *evidence.settings)
    foreign = _foreign(leg, evidence, expected_plan)
    answers = tuple((item, check(item, subject, knowledge)) for item in criteria)
    if foreign:
        return _assemble(subject, answers, _refused(foreign), limits)
    decision = _decide(subject, answers, knowledge)
    if evidence.stop is not None and decision.boundary is not Boundary.BRIDGE_IMPORT:
        decision = _stopped(evidence.stop)
    elif decision.outcome is Outcome.PASS and not evidence.complete:
        decision = _refused("the evidence was not closed: the runner was ended before its last step")
    return _assemble(subject, answers, decision, limits)


def judge_log(
    ask: Ask,
    facts: LogFacts,
    knowledge: Knowledge,
    *,
    log_name: str,
    exit_code: int | None = None,
    timed_out: bool = False,
    steps: int | None = None,
    bridge_root: str | None = None,
    metrics: MetricsFile | None = None,
    checks: ChecksSaid = "skipped",
) -> LegVerdict:
    """The verdict of a log by itself; never publishable, because it proves no commit and no import path."""
    own = ask.base.phases[-1].steps if ask.base.number == ask.number else None
    phase = PhaseView(
        id=ask.base.phases[-1].id,
        steps=steps if steps is not None else own,
        log_name=log_name,
        exit_code=exit_code,
        timed_out=timed_out,
        log=facts,
        metrics=metrics,
        metrics_wanted=metrics is not None,
    )
    subject = Subject(
        suite=ask.suite,
        level=ask.number,
        title=f"{ask.suite.label} {ask.number} {ask.title}",
        criteria=ask.criteria,
        phases=(phase,),
        proof="log-only",
        checks=checks,
        bridge_root=bridge_root,
    )
    answers = tuple((item, check(item, subject, knowledge)) for item in ask.criteria)
    limits = ["judged from a log by itself: no commit, no dirty file and no worker import is proven"]
    shown = {name: values[-1].value for name, values in facts.last.settings.values.items()}
    limits += [item.says for item in ask.base.limitations if _shown(item, shown)]
    limits += [f"nothing is known that would show {word}" for word in ask.unknown]
    return _assemble(subject, answers, _decide(subject, answers, knowledge), tuple(dict.fromkeys(limits)), ask.titles)


def _shown(item: Limitation, shown: Mapping[str, str]) -> bool:
    return all(shown.get(name) == value for name, value in {**item.when_env, **item.when_override}.items())


# ---- reading the evidence --------------------------------------------------------------------------------------------


def _subject(leg: Leg, evidence: Evidence | None, logs: LegLogs, criteria: tuple[Criterion, ...]) -> Subject:
    runs = {run.id: run for run in evidence.phases} if evidence else {}
    phases = tuple(
        _view(phase.id, phase.steps, phase.metrics is not None, runs.get(phase.id), logs) for phase in leg.phases
    )
    roots = evidence.roots if evidence else None
    return Subject(
        suite=leg.suite,
        level=leg.level,
        title=leg.title,
        criteria=criteria,
        phases=phases,
        proof="full",
        leg=leg,
        evidence=evidence,
        bridge_root=roots.bridge_src if roots else None,
    )


def _view(name: str, steps: int, metrics_wanted: bool, run: PhaseRun | None, logs: LegLogs) -> PhaseView:  # noqa: FBT001 - private
    view = PhaseView(id=name, steps=steps, log_name=f"run-{name}.log", metrics_wanted=metrics_wanted)
    if run is None:
        view.log_problem = "the phase did not run"
        return view
    view.exit_code, view.signal, view.timed_out = run.exit_code, run.signal, run.timed_out
    view.command = " ".join(run.command)
    view.log = logs.logs.get(name)
    view.log_problem = logs.problems.get(name)
    view.metrics = logs.metrics.get(name)
    return view


def _foreign(leg: Leg, evidence: Evidence, expected_plan: str | None) -> str | None:
    """Why the evidence is not this leg's."""
    if evidence.leg != leg.id:
        return f"evidence of leg {evidence.leg}, not {leg.id}"
    if expected_plan is not None and evidence.plan != expected_plan:
        return f"evidence of plan {evidence.plan}, not {expected_plan}"
    return None


def _refused(found: str) -> Decision:
    return Decision(
        outcome=Outcome.BLOCKED,
        boundary=Boundary.ENVIRONMENT,
        attribution=Attribution.ENVIRONMENT,
        category="evidence",
        sentence=f"there is nothing to judge: {found}",
        first_error=FirstError(text=found[:MAX_TEXT], log=None, line=None),
        remedy="look at the run's job and start it again",
    )


def _stopped(stop: Stop) -> Decision:
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


# ---- deciding --------------------------------------------------------------------------------------------------------

Answers = tuple[tuple[Criterion, Answer], ...]


def _decide(subject: Subject, answers: Answers, knowledge: Knowledge) -> Decision:
    """Outcome in the order of TAXONOMY: wrong tree or backend, Bridge checks, first cause, criteria, unverified."""
    unmet = [(item, answer) for item, answer in answers if answer.met is Met.UNMET]
    for item, answer in unmet:
        if isinstance(item, ImportPath | TreesAsPlanned | LogFlag) and item.unmet is Outcome.BLOCKED:
            return _own_code(subject, item, answer, knowledge) or _not_met(item, answer)
    for item, answer in unmet:
        if isinstance(item, BridgeChecksPassed):
            return _not_met(item, answer)
    for phase in subject.phases:
        if phase.log is not None and phase.ended_badly:
            cause = first_cause(phase.last, knowledge, done_line=phase.done_line, bridge_root=subject.bridge_root)
            if cause is not None:
                return _caused(cause, phase, knowledge)
            if phase.done_line is None and (phase.timed_out or phase.exit_code != 0 or phase.signal is not None):
                return _silent(phase, knowledge)
    for item, answer in unmet:
        return _not_met(item, answer)
    for item, answer in answers:
        tolerated = subject.proof == "log-only" and item.log_may_omit
        if answer.met is Met.UNVERIFIED and not tolerated:
            return _not_shown(item, answer)
    return _passed(subject)


def _own_code(subject: Subject, item: Criterion, answer: Answer, knowledge: Knowledge) -> Decision | None:
    """A failed import probe whose traceback ends in the checkout's own code is a Fail of the change."""
    if subject.evidence is None or not isinstance(item, ImportPath) or answer.log_name is not None:
        return None

    for probe in subject.evidence.imports:
        if probe.file is None and probe.error:
            cause = import_error(probe.error, knowledge, subject.bridge_root)
            if cause is not None and cause.outcome is Outcome.FAIL:
                return _from_cause(cause, Outcome.FAIL, f"probe {probe.process.value}", f"importing {probe.module}")
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
    boundary = cause.boundary if cause else item.boundary
    return Decision(
        outcome=item.unmet,
        boundary=boundary,
        attribution=cause.attribution if cause else _attribution(item, answer),
        category=cause.category if cause else _category(item),
        sentence=f"not met: {item.says} ({answer.found}){not_evidence}"[:MAX_TEXT],
        first_error=first,
        remedy=(cause.remedy if cause else "") or item.remedy,
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
    steps = ", ".join(f"{phase.id} to step {phase.wanted_step}" for phase in subject.phases)
    return Decision(
        outcome=Outcome.PASS,
        boundary=None,
        attribution=None,
        category="pass",
        sentence=f"{subject.title} passed: {steps}",
    )


def _category(item: Criterion) -> str:
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
        case ReachedStage() | NoException() | ExitZero():
            return Attribution.UNDETERMINED
        case _:
            assert_never(item)


# ---- the document ----------------------------------------------------------------------------------------------------


def _assemble(
    subject: Subject, answers: Answers, decision: Decision, limits: tuple[str, ...], asked: tuple[str, ...] = ()
) -> LegVerdict:
    results = tuple(
        CriterionResult(
            id=item.id,
            met=answer.met,
            says=item.says,
            found=answer.found[:MAX_TEXT],
            source=answer.source,
            deliverable=item.deliverable,
            remedy=item.remedy,
        )
        for item, answer in answers
    )
    noise = tuple(note.raw for phase in subject.phases for notes in phase.last.notes.values() for note in notes[:1])
    limits = (*limits, *_found_limits(subject))
    proof: Literal["full", "log-only", "none"] = subject.proof
    if subject.proof == "full" and subject.evidence is None:
        proof = "none"
    return LegVerdict(
        leg=subject.leg.id if subject.leg else "log",
        suite=subject.suite,
        level=subject.level,
        variants=subject.leg.variants if subject.leg else (),
        title=subject.title,
        outcome=decision.outcome,
        sentence=decision.sentence,
        boundary=decision.boundary,
        category=decision.category,
        attribution=decision.attribution,
        first_error=decision.first_error,
        proof=proof,
        model=_model(subject),
        requested=_requested(subject, asked),
        criteria=results,
        deliverables=deliverables(subject, answers, decision.outcome, asked),
        bridge_state=_tree(subject, "bridge"),
        suite_state=_tree(subject, "suite"),
        command=next((phase.command for phase in subject.phases if phase.command), "not recorded"),
        key_lines=key_lines(subject, answers, decision.first_error),
        limitations=tuple(dict.fromkeys(limits)),
        residual_noise=tuple(dict.fromkeys(noise)),
        follow_ups=_follow_ups(decision, results),
        metrics=_metrics(subject),
    )


def _found_limits(subject: Subject) -> tuple[str, ...]:
    """Limitations that follow from what the run shows."""
    found: list[str] = []
    for phase in subject.phases:
        launch: Launch = phase.last
        if launch.dropped_errors:
            found.append(f"{phase.log_name} holds more errors than are kept ({launch.dropped_errors} left out)")
        if phase.log and len(phase.log.launches) > 1:
            found.append(
                f"{phase.log_name} shows {len(phase.log.launches)} starts of the program; the last one is judged"
            )
        if launch.notes:
            found.append("known shutdown or platform warnings: " + ", ".join(sorted(launch.notes)))
    return tuple(found)


def _model(subject: Subject) -> str:
    if subject.leg:
        revision = subject.leg.model.revision
        return f"{subject.leg.model.name}@{revision[:9]}" if revision else subject.leg.model.name
    names = ("MODEL_ID", "MODEL_PATH", "policy.model_name", "actor_rollout_ref.model.path")
    shown = subject.phases[0].last.settings.values if subject.phases else {}
    return next((shown[name][0].value for name in names if name in shown), "not shown")


def _requested(subject: Subject, asked: tuple[str, ...]) -> str:
    extra = tuple(subject.leg.variants) if subject.leg else asked
    return f"Level {subject.level}" + (f" ({', '.join(extra)})" if extra else "")


def _tree(subject: Subject, name: str) -> str:
    for tree in subject.evidence.trees if subject.evidence else ():
        if tree.name == name:
            dirty = f", dirty: {'; '.join(tree.dirty)}" if tree.dirty else ", clean"
            applied = f", with {', '.join(tree.applied)}" if tree.applied else ""
            return f"{tree.short or (tree.commit or 'unknown')[:9]}{dirty}{applied}"
    return "not recorded"


def _follow_ups(decision: Decision, results: tuple[CriterionResult, ...]) -> tuple[str, ...]:
    if decision.outcome is Outcome.PASS:
        return ()
    remedies = [decision.remedy] if decision.remedy else [item.remedy for item in results if item.met is Met.UNMET]
    return tuple(dict.fromkeys(remedies))[:5]


_METRICS: Final = (
    "actor/grad_norm",
    "actor/entropy",
    "actor/kl_loss",
    "critic/score/mean",
    "training/rollout_actor_probs_pearson_corr",
    "train/loss",
    "train/grad_norm",
    "train/reward",
    "train/token_mult_prob_error",
    "train/gen_kl_error",
)


def _metrics(subject: Subject) -> dict[str, float]:
    found: dict[str, float] = {}
    for phase in subject.phases:
        series = phase.series()
        found |= {name: series[name].last for name in _METRICS if name in series and series[name].finite}
    return found
