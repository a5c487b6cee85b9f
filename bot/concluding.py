"""Plan and Verdict to rows of the gate table in levels/conclusion.py. No row of that table stands here."""

from bot.choosing import is_left_out
from levels.conclusion import Conclusion, GateState, conclude, conclude_leg, conclude_plan, conclude_verdict
from levels.plan import Leg, Plan
from levels.verdict import LegVerdict, Verdict


def of_plan(plan: Plan) -> Conclusion | None:
    """What the required check says before anything has run; null when the plan leaves the check alone."""
    return conclude_plan(plan)


def of_run(plan: Plan, verdict: Verdict | None) -> Conclusion:
    """What the required check says after a run. Every planned leg counts, and every level that was needed."""
    if verdict is None:
        return conclude(GateState.BLOCKED, "Blocked: no verdict")
    judged = {leg.leg for leg in verdict.legs}
    concluded = conclude_verdict(verdict)
    missing = [leg for leg in plan.legs if leg.id not in judged]
    if missing and concluded.state is not GateState.FAILED:
        return conclude(GateState.BLOCKED, f"Blocked: no verdict for {missing[0].title}")
    if concluded.state is not GateState.PASSED:
        return concluded
    return _passed(plan, concluded)


def _passed(plan: Plan, concluded: Conclusion) -> Conclusion:
    """A Pass of what ran is not a Pass of what the change needs: what was left out is named, or asked for."""
    left = [f"{choice.suite.label} L{choice.level}" for choice in plan.selection.skipped if is_left_out(choice)]
    if left:
        return conclude(GateState.NOT_ASKED, f"{concluded.title}; {', '.join(left)} needed too")
    uncovered = [f"{choice.suite.label} L{choice.level}" for choice in plan.selection.uncovered]
    if uncovered:
        return conclude(GateState.PASSED, f"{concluded.title}; not in this release: {', '.join(uncovered)}")
    return concluded


def of_leg(leg: Leg, judged: LegVerdict | None) -> Conclusion:
    """What the check of one leg says."""
    if judged is None:
        return conclude(GateState.BLOCKED, f"{leg.title}: no verdict")
    return conclude_leg(judged)


def superseded() -> Conclusion:
    """A newer run on the same commit tells its own story."""
    return conclude(GateState.SUPERSEDED, "superseded by a newer run on this commit")


def crashed() -> Conclusion:
    """No plan could be made."""
    return conclude(GateState.PLAN_CRASHED, "this says nothing about the change")
