"""Check runs: their names, ids and payloads. What they conclude is levels/conclusion.py's; bot/board.py writes them.

A completed check run cannot be reopened, so a new plan creates new ones and the newest wins.
Source: lyft/atlantis#265; GITHUB.md section 3. `started_at` is never sent: the gate trusts GitHub's own.
"""

import re
from typing import Final

from bot import notes
from bot.comments import Order
from bot.escape import one_line
from bot.notes import Note
from bot.ports import CheckConclusion, CheckPayload, CheckRun, CheckStatus
from levels.conclusion import Conclusion
from levels.model import Commit, Record
from levels.plan import Plan

NAME: Final = "bridge-e2e"
CRASHED: Final = "crashed"
"""Stands for the plan id where no plan could be made."""
MAX_TITLE: Final = 200
_EXTERNAL_ID: Final = re.compile(
    r"bridge-e2e:([0-9a-f]{12}|crashed):(?:(\d{1,20})\.)?(\d{1,6})(?::([a-z0-9-]{1,63}))?", re.ASCII
)
"""Without a run id it is older than every run: what is not known to be newer never closes anything."""


class Mark(Record, frozen=True, kw_only=True):
    """What our `external_id` says."""

    plan: str
    run: int = 0
    """Id of the workflow run; zero outside one."""
    attempt: int
    leg: str | None = None

    @property
    def order(self) -> Order:
        """Which of two marks is newer: GitHub gives run ids in rising order, whatever the order of the writes."""
        return self.run, self.attempt

    @property
    def text(self) -> str:
        """As it is sent to GitHub."""
        return ":".join((NAME, self.plan, f"{self.run}.{self.attempt}", *((self.leg,) if self.leg else ())))

    @property
    def name(self) -> str:
        """Name of the check run."""
        return f"{NAME} / {self.leg}" if self.leg else NAME


def mark_of(external_id: str) -> Mark | None:
    """The mark in an `external_id`; null for one that is not ours."""
    found = _EXTERNAL_ID.fullmatch(external_id)
    if found is None:
        return None
    return Mark(plan=found[1], run=int(found[2] or 0), attempt=int(found[3]), leg=found[4])


def is_own(run: CheckRun, bot_login: str) -> bool:
    """Whether this is a `bridge-e2e` check that this bot's own app wrote."""
    mark = mark_of(run.external_id)
    return run.name == NAME and run.author == bot_login and mark is not None and mark.leg is None


def payload(plan: Plan, mark: Mark, concluded: Conclusion, summary: str, note: Note | None = None) -> CheckPayload:
    """A check run on the plan's head.

    Raises:
        ValueError: for a plan without a head.

    """
    if plan.head is None:
        message = "a plan without a head has no checks"
        raise ValueError(message)
    return for_commit(plan.head, mark, concluded, summary, plan.run_url, note)


def for_commit(
    head: Commit, mark: Mark, concluded: Conclusion, summary: str, url: str | None, note: Note | None = None
) -> CheckPayload:
    """A check run on `head`, which remembers `note`; without one, its state alone."""
    return CheckPayload(
        name=mark.name,
        head=head,
        external_id=mark.text,
        status=CheckStatus(concluded.status),
        conclusion=CheckConclusion(concluded.conclusion) if concluded.conclusion else None,
        title=one_line(concluded.title, MAX_TITLE),
        summary=summary,
        details_url=url,
        text=notes.write(note or Note(state=concluded.state)),
    )
