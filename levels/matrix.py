"""Legs as a job matrix, and which of the deeper ones may start. No job output is written here."""

from collections.abc import Iterable
from typing import Final

import msgspec

from levels.model import Outcome
from levels.plan import Leg, Plan
from levels.verdict import Verdict

JOB_OVERHEAD_MINUTES: Final = 40
"""Added to a leg's own limit for checkout, probes, preparation and collection."""


def matrix(legs: Iterable[Leg]) -> str:
    """One entry for each leg that can start, as JSON on one line: its id, its title, and the minutes of its job."""
    entries = [
        {"leg": leg.id, "title": leg.title, "minutes": leg.minutes + JOB_OVERHEAD_MINUTES}
        for leg in legs
        if leg.blocked is None
    ]
    return msgspec.json.encode(entries).decode()


def startable(plan: Plan, verdict: Verdict) -> tuple[Leg, ...]:
    """The `deep` legs of every suite none of whose `smoke` legs is anything but Pass, in the plan's order.

    A suite without a smoke leg in this plan has its level 0 proven already: that is why there is none.
    """
    outcomes = {leg.leg: leg.outcome for leg in verdict.legs}
    broken = {leg.suite for leg in plan.stage("smoke") if outcomes.get(leg.id) is not Outcome.PASS}
    return tuple(leg for leg in plan.stage("deep") if leg.suite not in broken)
