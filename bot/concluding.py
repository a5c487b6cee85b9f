"""What this zone needs of the gate table in levels/conclusion.py. No rows of that table stand here."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from levels.plan import Leg, Plan
from levels.verdict import Verdict


class Concluded(Protocol):
    """A conclusion of a check run, and its title."""

    @property
    def conclusion(self) -> str:
        """`success`, `failure`, `action_required` or `cancelled`."""

    @property
    def title(self) -> str:
        """One line for people."""


Concluder = Callable[[Plan, Verdict | None], Concluded]
"""The gate table: a Plan, and the Verdict when there is one, to what the required check says."""


def of_leg(conclude: Concluder, plan: Plan, verdict: Verdict | None, leg: Leg) -> Concluded:
    """What the same table says of one leg, as if nothing else had been planned."""
    chosen = tuple(c for c in plan.selection.chosen if (c.suite, c.level) == (leg.suite, leg.level))
    selection = msgspec.structs.replace(plan.selection, chosen=chosen, skipped=())
    alone = msgspec.structs.replace(plan, legs=(leg,), selection=selection)
    judged = tuple(one for one in verdict.legs if one.leg == leg.id) if verdict else ()
    if verdict is None or not judged:
        return conclude(alone, None)
    return conclude(alone, msgspec.structs.replace(verdict, legs=judged, outcome=judged[0].outcome, plan=alone.id))
