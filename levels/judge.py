"""Leg and evidence, or a log by itself, to a LegVerdict: total, never raises on content. No I/O, no clock."""

from collections.abc import Mapping
from typing import Final

import msgspec

from levels.answers import Answer
from levels.assemble import assemble
from levels.catalogue import Catalogue, criteria_of, limitations_of, variants_of
from levels.claims import learned
from levels.criteria import check
from levels.decisions import NO_EVIDENCE, Decision, decide, not_started, refused, stopped
from levels.deliverables import Ask
from levels.errors import UsageError
from levels.evidence import Evidence, PhaseRun
from levels.log_stages import LogFacts
from levels.metrics import MetricsFile
from levels.model import Boundary, Criterion, Limitation, Outcome, Phase
from levels.plan import Convergence, Leg, Plan
from levels.shapes import gpus_of
from levels.signatures import Knowledge
from levels.subject import ChecksSaid, FallbackRun, PhaseView, Subject
from levels.verdict import LegVerdict, Met, Verdict, overall

LOCAL: Final = "local"
"""`Evidence.plan` of a person's run."""


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
                convergence=plan.convergence,
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
    convergence: tuple[Convergence, ...] = (),
) -> LegVerdict:
    """The verdict of one leg. Missing, partial or foreign evidence is Blocked, never Pass."""
    try:
        level = catalogue.level(leg.suite, leg.level)
        variants = variants_of(level, leg.variants)
    except UsageError as error:
        return assemble(
            _subject(leg, None, LegLogs(), ()),
            (),
            refused(f"the plan asks for what this catalogue lacks: {error.found}"),
            (),
        )
    criteria = criteria_of(level, variants)
    subject = _subject(leg, evidence, logs, criteria)
    subject.local = expected_plan is None and evidence is not None and evidence.plan == LOCAL
    limits = (
        *limitations_of(level, variants, leg.phases),
        *_fewer_gpus(leg, gpus_of(level, variants)),
        *(item.limitation for item in leg.workarounds),
    )
    if evidence is None or leg.blocked is not None:
        answers = tuple((item, Answer(met=Met.UNVERIFIED, found="no evidence", source="evidence")) for item in criteria)
        if leg.blocked is not None:
            return assemble(subject, answers, not_started(leg.blocked), limits)
        return assemble(subject, answers, refused(problem or "no evidence arrived"), limits)
    limits = (*limits, *evidence.settings, *_origins(leg, evidence), *_as_it_is(subject, evidence))
    foreign = _foreign(leg, evidence, expected_plan)
    answers = tuple((item, check(item, subject, knowledge)) for item in criteria)
    if foreign:
        return assemble(subject, answers, refused(foreign), limits)
    decision = decide(subject, answers, knowledge)
    if evidence.stop is not None and _stop_decides(evidence, decision):
        decision = stopped(evidence.stop)
    elif decision.outcome is Outcome.PASS and not evidence.complete:
        decision = refused("the evidence was not closed: the runner was ended before its last step")
    elif evidence.stop is not None and decision.boundary is evidence.stop.boundary:
        # The runner saw more than the criterion knows: the package to install, the folder to fill.
        decision.remedy = evidence.stop.next_step
    if decision.outcome is Outcome.PASS and (claim := learned(subject, answers, convergence)):
        decision.sentence = f"{decision.sentence}; {claim}"
    return assemble(subject, answers, decision, limits)


def _fewer_gpus(leg: Leg, default: int) -> tuple[str, ...]:
    """The number of GPUs, when it is smaller than what the level counts on."""
    return (
        (f"{leg.gpus} of the {default} GPUs that the level counts on: fewer ranks ran",) if leg.gpus < default else ()
    )


def _origins(leg: Leg, evidence: Evidence) -> tuple[str, ...]:
    """What nobody recorded about model and data: a local folder may hold random weights or made-up rows."""
    said = [
        f"{item.path} was there before the run; its content was not compared with the public data set"
        for item in evidence.preparations
        if item.found and not item.made and item.id in {need.id for need in leg.requirements if need.kind == "dataset"}
    ]
    if leg.model.revision is None:
        said.insert(0, f"{leg.model.name} has no recorded revision: no claim about a pretrained checkpoint")
    return tuple(said)


def _as_it_is(subject: Subject, evidence: Evidence) -> tuple[str, ...]:
    """What a person's own trees hold beside their commits."""
    return tuple(
        f"{tree.name} ran as it was, with {tree.dirty_count or len(tree.dirty)} local changes: not publishable"
        for tree in evidence.trees
        if subject.local and tree.expected is None and (tree.dirty or tree.dirty_count)
    )


def _stop_decides(evidence: Evidence, decision: Decision) -> bool:
    """Whether the runner's own stop says more than the criteria: nothing ran yet, or what ran is not whole."""
    if decision.boundary in (Boundary.BRIDGE_IMPORT, Boundary.BRIDGE_CHECKS):
        return False
    return not evidence.phases or decision.outcome is Outcome.PASS or decision.category == NO_EVIDENCE


def judge_log(  # noqa: PLR0913 - one keyword for each option of `judge --log`
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
    one = phase_of(ask, steps)
    criteria = tuple(
        _of(item, one, ask) for item in ask.criteria if item.phase in (None, one.id) or item.id in ask.asked
    )
    phase = PhaseView(
        id=one.id,
        steps=steps if steps is not None else (one.steps if ask.base.number == ask.number else None),
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
        criteria=criteria,
        phases=(phase,),
        proof="log-only",
        checks=checks,
        bridge_root=bridge_root,
    )
    answers = tuple((item, check(item, subject, knowledge)) for item in criteria)
    limits = ["judged from a log by itself: no commit, no dirty file and no worker import is proven"]
    limits += [
        f"only phase {one.id} was judged: phase {other.id} has a log of its own"
        for other in ask.base.phases
        if ask.base.number == ask.number and other.id != one.id
    ]
    shown = {name: values[-1].value for name, values in facts.last.settings.values.items()}
    limits += [item.says for item in ask.base.limitations if _shown(item, shown)]
    limits += [f"nothing is known that would show {word}" for word in ask.unknown]
    decision = decide(subject, answers, knowledge)
    if decision.outcome is Outcome.PASS and (claim := learned(subject, answers, ())):
        decision.sentence = f"{decision.sentence}; {claim}"
    return assemble(subject, answers, decision, tuple(dict.fromkeys(limits)), ask.titles)


def phase_of(ask: Ask, steps: int | None) -> Phase:
    """The phase that a log is taken for: the last one asked for, else the one with these steps, else the last."""
    phases = ask.base.phases
    fitting = [phase for phase in phases if phase.id in ask.phases] or [p for p in phases if p.steps == steps] or phases
    return fitting[-1]


def _of(criterion: Criterion, phase: Phase, ask: Ask) -> Criterion:
    """`criterion`, asked of `phase`: one log may hold what a leg spreads over several."""
    return msgspec.structs.replace(criterion, phase=phase.id) if criterion.id in ask.asked else criterion


def _shown(item: Limitation, shown: Mapping[str, str]) -> bool:
    return all(
        _same(shown.get(name), value) for name, value in {**item.when_env, **item.when_override}.items()
    ) and not any(_same(shown.get(name), value) for name, value in item.unless_override.items())


def _same(shown: str | None, wanted: str) -> bool:
    """Whether a log's value is `wanted`; what stands for `@{data}` and the like differs from machine to machine."""
    placeholder, closing, rest = wanted.partition("}")
    if placeholder.startswith("@{") and closing:
        return shown is not None and shown.endswith(rest)
    return shown is not None and shown.casefold() == wanted.casefold()


# ---- reading the evidence --------------------------------------------------------------------------------------------


def _subject(leg: Leg, evidence: Evidence | None, logs: LegLogs, criteria: tuple[Criterion, ...]) -> Subject:
    runs = {run.id: run for run in evidence.phases} if evidence else {}
    views = [_view(phase, runs.get(phase.id), logs) for phase in leg.phases if phase.fallback is None]
    _hand_on_metrics(views)
    roots = evidence.roots if evidence else None
    return Subject(
        suite=leg.suite,
        level=leg.level,
        title=leg.title,
        criteria=criteria,
        phases=tuple(views),
        proof="full",
        leg=leg,
        evidence=evidence,
        bridge_root=roots.bridge_src if roots else None,
        fallbacks=tuple(
            FallbackRun(of=phase.fallback.of, label=phase.fallback.label, view=_view(phase, runs[phase.id], logs))
            for phase in leg.phases
            if phase.fallback is not None and phase.id in runs
        ),
    )


def _view(phase: Phase, run: PhaseRun | None, logs: LegLogs) -> PhaseView:
    view = PhaseView(
        id=phase.id,
        steps=phase.steps,
        log_name=f"run-{phase.id}.log",
        metrics_wanted=phase.metrics is not None,
        helper=phase.kind == "helper",
        assertions=phase.assertions,
    )
    if run is None:
        view.log_problem = "the phase did not run"
        return view
    view.exit_code, view.signal, view.timed_out = run.exit_code, run.signal, run.timed_out
    view.command = " ".join(run.command)
    view.log = logs.logs.get(phase.id)
    view.log_problem = logs.problems.get(phase.id)
    view.metrics = logs.metrics.get(phase.id)
    return view


def _hand_on_metrics(views: list[PhaseView]) -> None:
    """The metrics that a helper dumps are those of the phase that trained before it, and of the helpers behind it."""
    trained: PhaseView | None = None
    dumped: PhaseView | None = None
    for view in views:
        if not view.helper:
            trained, dumped = view, view
        elif view.metrics_wanted:
            dumped = view
            if trained is not None and not trained.metrics_wanted:
                trained.metrics, trained.metrics_wanted = view.metrics, True
        elif dumped is not None:
            view.metrics = dumped.metrics


def _foreign(leg: Leg, evidence: Evidence, expected_plan: str | None) -> str | None:
    """Why the evidence is not this leg's."""
    if evidence.leg != leg.id:
        return f"evidence of leg {evidence.leg}, not {leg.id}"
    if expected_plan is not None and evidence.plan != expected_plan:
        return f"evidence of plan {evidence.plan}, not {expected_plan}"
    return None
