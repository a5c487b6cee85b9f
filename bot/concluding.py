"""Plan, Verdict and notes to rows of the gate table in levels/conclusion.py. No row of that table stands here."""

from collections.abc import Iterable

from bot.choosing import is_left_out
from bot.notes import LegNote, Note, verdict_of
from levels.conclusion import Conclusion, GateState, conclude, conclude_leg, conclude_plan, conclude_verdict
from levels.model import Outcome, Record
from levels.plan import Leg, Plan, Waiver
from levels.verdict import LegVerdict, Verdict


class Asked(Record, frozen=True, kw_only=True):
    """What a run was to show, beside its own legs."""

    left: tuple[str, ...] = ()
    """Levels that the rules ask for and the request did not."""
    uncovered: tuple[str, ...] = ()
    """Levels that the rules ask for and this release does not have."""
    proven: tuple[str, ...] = ()
    """Levels that an earlier run on this commit had proven."""


def asked_of(plan: Plan) -> Asked:
    """The same of a plan."""
    skipped = plan.selection.skipped
    return Asked(
        left=tuple(f"{choice.suite.label} L{choice.level}" for choice in skipped if is_left_out(choice)),
        uncovered=tuple(f"{choice.suite.label} L{choice.level}" for choice in plan.selection.uncovered),
        proven=tuple(dict.fromkeys(f"{one.suite.label} L{one.level}" for one in plan.proven)),
    )


def of_plan(plan: Plan) -> Conclusion | None:
    """What the required check says before anything has run; null when the plan leaves the check alone."""
    concluded = conclude_plan(plan)
    if concluded is None or concluded.state is not GateState.PASSED:
        return concluded
    return _passed(asked_of(plan), concluded)


def of_run(plan: Plan, verdict: Verdict | None, waivers: Iterable[Waiver] = ()) -> Conclusion:
    """What the required check says after a run. Every planned leg counts, and every level that was needed."""
    if verdict is None:
        return conclude(GateState.BLOCKED, "Blocked: no verdict")
    judged = {leg.leg for leg in verdict.legs}
    missing = [leg.title for leg in plan.legs if leg.id not in judged]
    return _of_legs(verdict.legs, missing, waivers, asked_of(plan))


def of_notes(main: Note, legs: Iterable[LegNote], waivers: Iterable[Waiver]) -> Conclusion:
    """The same from what the checks of a finished run remember."""
    found = {leg.leg: leg for leg in legs}
    judged = [verdict for leg in found.values() if (verdict := verdict_of(leg)) is not None]
    missing = [name for name in main.legs if name not in {leg.leg for leg in judged}]
    asked = Asked(left=main.left, uncovered=main.uncovered, proven=main.proven)
    return _of_legs(judged, missing, waivers, asked)


def _of_legs(legs: Iterable[LegVerdict], missing: list[str], waivers: Iterable[Waiver], asked: Asked) -> Conclusion:
    judged = tuple(legs)
    accepted = {(one.suite, one.level): one.actor for one in waivers}
    waived = {leg.leg: f"by {accepted[leg.suite, leg.level]}" for leg in judged if (leg.suite, leg.level) in accepted}
    verdict = Verdict(plan="", repository="", pull_request=None, head=None, outcome=Outcome.BLOCKED, legs=judged)
    concluded = conclude_verdict(verdict, waived)
    if missing and concluded.state is not GateState.FAILED:
        return conclude(GateState.BLOCKED, f"Blocked: no verdict for {missing[0]}")
    if concluded.state not in {GateState.PASSED, GateState.WAIVED}:
        return concluded
    return _passed(asked, concluded)


def _passed(asked: Asked, concluded: Conclusion) -> Conclusion:
    """A Pass of what ran is not a Pass of what the change needs: what was left out is named, or asked for."""
    title = concluded.title
    if asked.proven:
        title = f"{title}; {', '.join(asked.proven)} proven before on this commit"
    if asked.left:
        return conclude(GateState.NOT_ASKED, f"{title}; {', '.join(asked.left)} needed too")
    if asked.uncovered:
        title = f"{title}; not in this release: {', '.join(asked.uncovered)}"
    return conclude(concluded.state, title.removeprefix("Waived "))


def of_leg(leg: Leg, judged: LegVerdict | None) -> Conclusion:
    """What the check of one leg says."""
    if judged is None:
        return conclude(GateState.BLOCKED, f"{leg.title}: no verdict")
    return conclude_leg(judged)


def superseded(by: str = "a newer run on this commit") -> Conclusion:
    """Something newer tells its own story."""
    return conclude(GateState.SUPERSEDED, f"superseded by {by}")


def ended(because: str) -> Conclusion:
    """Somebody ended it."""
    return conclude(GateState.CANCELLED, because)


def crashed() -> Conclusion:
    """No plan could be made."""
    return conclude(GateState.PLAN_CRASHED, "this says nothing about the change")
