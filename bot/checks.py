"""Check runs: their names and ids, what the Plan and the Verdict make of them, and who may overwrite whom.

A completed check run cannot be reopened, so a new plan creates new ones and the newest wins.
Source: lyft/atlantis#265; GITHUB.md section 3. `started_at` is never sent: the gate trusts GitHub's own.
"""

import re
from typing import Final

from bot.ports import CheckRun
from levels.model import Record

NAME: Final = "bridge-e2e"
_EXTERNAL_ID: Final = re.compile(r"bridge-e2e:([0-9a-f]{12}|crashed):(\d{1,6})(?::([a-z0-9-]{1,63}))?", re.ASCII)
CRASHED: Final = "crashed"
"""Stands for the plan id where no plan could be made."""


class Mark(Record, frozen=True, kw_only=True):
    """What our `external_id` says."""

    plan: str
    attempt: int
    leg: str | None

    @property
    def text(self) -> str:
        """As it is sent to GitHub."""
        return ":".join((NAME, self.plan, str(self.attempt), *((self.leg,) if self.leg else ())))


def mark_of(run: CheckRun) -> Mark | None:
    """The mark of a check run; null for one that is not ours by its `external_id`."""
    found = _EXTERNAL_ID.fullmatch(run.external_id)
    return Mark(plan=found[1], attempt=int(found[2]), leg=found[3]) if found else None


def is_own(run: CheckRun, bot_login: str) -> bool:
    """Whether this is a `bridge-e2e` check that this bot's own app wrote."""
    mark = mark_of(run)
    return run.name == NAME and run.author == bot_login and mark is not None and mark.leg is None
