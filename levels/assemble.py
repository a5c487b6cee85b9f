"""Decision and answers to the LegVerdict document. Deciding never belongs here."""

from typing import Final, Literal

from levels.criteria_skips import stated
from levels.decisions import MAX_TEXT, Answers, Decision
from levels.log_stages import Launch
from levels.model import Outcome
from levels.reruns import Broke, follow_ups
from levels.rows import deliverables, key_lines
from levels.subject import Subject
from levels.verdict import CriterionResult, LegVerdict, Met

MAX_FOLLOW_UPS: Final = 8


def assemble(
    subject: Subject, answers: Answers, decision: Decision, limits: tuple[str, ...], asked: tuple[str, ...] = ()
) -> LegVerdict:
    """The document of one leg; `limits` are said with it, `asked` are the titles of requested deliverables."""
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
        command="; then ".join(phase.command for phase in subject.phases if phase.command) or "not recorded",
        key_lines=key_lines(subject, answers, decision.first_error),
        limitations=tuple(dict.fromkeys(limits)),
        residual_noise=tuple(dict.fromkeys(noise)),
        follow_ups=_follow_ups(decision, results, subject),
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
        found += stated(phase, subject.suite)
        if launch.notes:
            found.append("known shutdown or platform warnings: " + ", ".join(sorted(launch.notes)))
    for run in subject.fallbacks:
        said = f"a {run.label}" if run.passed else "which broke too"
        found.append(f"{run.of} broke, and {run.view.id} was run to tell why: {said}; both logs are kept")
    return tuple(found)


def _model(subject: Subject) -> str:
    if subject.leg:
        revision = subject.leg.model.revision
        return f"{subject.leg.model.name}@{revision[:9]}" if revision else subject.leg.model.name
    names = ("MODEL_ID", "MODEL_PATH", "policy.model_name", "actor_rollout_ref.model.path")
    shown = subject.phases[0].last.settings.values if subject.phases else {}
    return next((shown[name][-1].value for name in names if name in shown), "not shown")


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


def _follow_ups(decision: Decision, results: tuple[CriterionResult, ...], subject: Subject) -> tuple[str, ...]:
    if decision.outcome is Outcome.PASS:
        return ()
    unmet = [item for item in results if item.met is Met.UNMET]
    remedies = [decision.remedy] if decision.remedy else [item.remedy for item in unmet]
    broke = Broke(
        suite=subject.suite,
        level=subject.level,
        variants=subject.leg.variants if subject.leg else (),
        boundary=decision.boundary,
        category=decision.category,
    )
    return tuple(dict.fromkeys((*remedies[:5], *follow_ups(broke))))[:MAX_FOLLOW_UPS]


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
