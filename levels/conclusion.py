"""The gate: what state becomes which conclusion of the required check. What a run shows never belongs here.

Source: the design's *Verdict, attribution, gate*. `neutral` and `skipped` satisfy a required check, so neither is
ever written.
"""

from enum import StrEnum
from typing import Final, Literal, assert_never

from levels.model import Attribution, Boundary, Outcome, Record
from levels.plan import Decision, Plan
from levels.verdict import LegVerdict, Verdict

Word = Literal["success", "failure", "action_required", "cancelled"]
MAX_TITLE: Final = 140


class GateState(StrEnum):
    """Everything that the required check can stand for."""

    PASSED = "passed"
    NOT_NEEDED = "not-needed"
    FAILED = "failed"
    """Fail, bridge-side or undetermined, and not known to be shared with the base."""
    FAILED_ELSEWHERE = "failed-elsewhere"
    """Fail, but environment or downstream must act, or the base fails as well."""
    BLOCKED = "blocked"
    NOT_ASKED = "not-asked"
    CONSENT_VOID = "consent-void"
    QUEUED = "queued"
    RUNNING = "running"
    QUEUE_LIMIT = "queue-limit"
    WAIVED = "waived"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"
    """Somebody ended it: a command, or the pull request was closed or made a draft."""
    PLAN_CRASHED = "plan-crashed"
    REFUSED = "refused"
    CARRIED = "carried"
    """A merge group: every pull request in it is proven on its own head."""
    UNPROVEN = "unproven"
    """A merge group that nothing proves; it is said at once and never left pending."""


class Conclusion(Record, frozen=True, kw_only=True):
    """What to write into a check run."""

    state: GateState
    status: Literal["in_progress", "completed"]
    conclusion: Word | None
    """null while the check is in progress."""
    title: str


def conclude(  # noqa: C901, PLR0912 - one branch for each row of the table
    state: GateState, detail: str = "", *, when_not_asked: Literal["success", "action_required"] = "action_required"
) -> Conclusion:
    """The one table, total over the states.

    Args:
        state: what happened.
        detail: what was proven, the rule, the failing leg, the waiver or the waiting time.
        when_not_asked: the caller's configuration for levels that nobody has asked for.

    """
    word: Word | None
    match state:
        case GateState.PASSED:
            word, title = "success", detail or "passed"
        case GateState.NOT_NEEDED:
            word, title = "success", f"not needed: {detail or 'no rule selects a level'}"
        case GateState.FAILED:
            word, title = "failure", detail or "Fail"
        case GateState.FAILED_ELSEWHERE:
            word, title = (
                "action_required",
                f"Fail, not this change's: {detail}" if detail else "Fail, not this change's",
            )
        case GateState.BLOCKED:
            word, title = "action_required", f"{detail or 'Blocked'}: not evidence against this change"
        case GateState.NOT_ASKED:
            word, title = when_not_asked, "add label or `/run-e2e`" + (f" ({detail})" if detail else "")
        case GateState.CONSENT_VOID:
            word, title = "action_required", "new commits since consent"
        case GateState.QUEUED:
            word, title = None, f"waiting for a runner{', ' + detail if detail else ''}"
        case GateState.RUNNING:
            word, title = None, f"running{': ' + detail if detail else ''}"
        case GateState.QUEUE_LIMIT:
            word, title = "action_required", f"no runner came{': ' + detail if detail else ''}"
        case GateState.WAIVED:
            word, title = "success", f"Waived {detail}".rstrip()
        case GateState.SUPERSEDED:
            word, title = "cancelled", detail or "superseded by a newer run"
        case GateState.CANCELLED:
            word, title = "cancelled", detail or "cancelled"
        case GateState.PLAN_CRASHED:
            word, title = "failure", f"the plan could not be made{': ' + detail if detail else ''}"
        case GateState.REFUSED:
            word, title = "action_required", f"not started{': ' + detail if detail else ''}"
        case GateState.CARRIED:
            word, title = "success", f"proved on PR heads, not on the combination{': ' + detail if detail else ''}"
        case GateState.UNPROVEN:
            word, title = "failure", f"not proven{': ' + detail if detail else ''}"
        case _:
            assert_never(state)
    return Conclusion(
        state=state,
        status="in_progress" if word is None else "completed",
        conclusion=word,
        title=" ".join(title.split())[:MAX_TITLE],
    )


def leg_state(leg: LegVerdict) -> GateState:
    """The state of one leg, waivers aside."""
    match leg.outcome:
        case Outcome.PASS:
            return GateState.PASSED
        case Outcome.BLOCKED:
            return GateState.BLOCKED
        case Outcome.FAIL:
            elsewhere = leg.attribution in (Attribution.ENVIRONMENT, Attribution.DOWNSTREAM)
            return GateState.FAILED_ELSEWHERE if elsewhere or leg.comparison == "shared-with-base" else GateState.FAILED
        case _:
            assert_never(leg.outcome)


def leg_title(leg: LegVerdict) -> str:
    """`verl L2 Fail at hf-import`."""
    where = f" at {leg.boundary.value}" if leg.boundary else ""
    return f"{leg.suite.label} L{leg.level} {leg.outcome.value}{where}"


def conclude_leg(leg: LegVerdict) -> Conclusion:
    """The per-leg check. A waiver does not change it: the red check stays."""
    return conclude(leg_state(leg), leg_title(leg))


_WORST_FIRST: Final = (GateState.FAILED, GateState.FAILED_ELSEWHERE, GateState.BLOCKED, GateState.PASSED)


def conclude_verdict(verdict: Verdict, waived: dict[str, str] | None = None) -> Conclusion:
    """The required check for a finished run.

    Args:
        verdict: all planned legs.
        waived: leg id to `by NAME`, for valid waivers only. A wrong import cannot be waived by anybody.

    """
    waivers = waived or {}
    open_legs = [leg for leg in verdict.legs if leg.outcome is not Outcome.PASS and not _waived(leg, waivers)]
    if open_legs:
        worst = min(open_legs, key=lambda leg: _WORST_FIRST.index(leg_state(leg)))
        rest = f" (+{len(open_legs) - 1} more)" if len(open_legs) > 1 else ""
        return conclude(leg_state(worst), leg_title(worst) + rest)
    by = [f"{waivers[leg.leg]}: {leg_title(leg)}" for leg in verdict.legs if leg.outcome is not Outcome.PASS]
    if by:
        return conclude(GateState.WAIVED, "; ".join(by))
    if not verdict.legs:
        return conclude(GateState.BLOCKED, "nothing was judged")
    return conclude(GateState.PASSED, ", ".join(f"{leg.suite.label} L{leg.level}" for leg in verdict.legs) + " passed")


def _waived(leg: LegVerdict, waivers: dict[str, str]) -> bool:
    """Whether a waiver counts: never for a run on another tree, nor for one without evidence."""
    return leg.leg in waivers and leg.boundary is not Boundary.BRIDGE_IMPORT and leg.proof == "full"


_STATE_OF: Final = {
    Decision.RUN: GateState.QUEUED,
    Decision.NOT_NEEDED: GateState.NOT_NEEDED,
    Decision.NOT_ASKED: GateState.NOT_ASKED,
    Decision.VOID: GateState.CONSENT_VOID,
    Decision.REFUSED: GateState.REFUSED,
    Decision.PROVEN: GateState.PASSED,
    Decision.CARRIED: GateState.CARRIED,
    Decision.UNPROVEN: GateState.UNPROVEN,
    Decision.ANSWER: None,
    Decision.IGNORED: None,
    Decision.WAIVED: None,
    Decision.CANCEL: None,
}
"""Null where the plan answers without a row of its own."""
_UNEXPLAINED: Final = frozenset({GateState.QUEUED, GateState.CONSENT_VOID})


def conclude_plan(
    plan: Plan, *, when_not_asked: Literal["success", "action_required"] = "action_required"
) -> Conclusion | None:
    """The required check right after planning; None when the plan answers without touching the gate."""
    state = _STATE_OF[plan.decision]
    if state is None:
        return None
    return conclude(state, "" if state in _UNEXPLAINED else plan.because, when_not_asked=when_not_asked)
