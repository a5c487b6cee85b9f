"""Check runs: their names and ids, and who may overwrite whom. What they conclude is levels/conclusion.py's.

A completed check run cannot be reopened, so a new plan creates new ones and the newest wins.
Source: lyft/atlantis#265; GITHUB.md section 3. `started_at` is never sent: the gate trusts GitHub's own.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from bot.escape import one_line
from bot.ports import CheckConclusion, CheckPayload, CheckRun, Checks, CheckStatus
from levels.conclusion import Conclusion
from levels.model import Commit, Record
from levels.plan import Plan

NAME: Final = "bridge-e2e"
CRASHED: Final = "crashed"
"""Stands for the plan id where no plan could be made."""
MAX_TITLE: Final = 200
_EXTERNAL_ID: Final = re.compile(r"bridge-e2e:([0-9a-f]{12}|crashed):(\d{1,6})(?::([a-z0-9-]{1,63}))?", re.ASCII)


class Mark(Record, frozen=True, kw_only=True):
    """What our `external_id` says."""

    plan: str
    attempt: int
    leg: str | None = None

    @property
    def text(self) -> str:
        """As it is sent to GitHub."""
        return ":".join((NAME, self.plan, str(self.attempt), *((self.leg,) if self.leg else ())))

    @property
    def name(self) -> str:
        """Name of the check run."""
        return f"{NAME} / {self.leg}" if self.leg else NAME


def mark_of(external_id: str) -> Mark | None:
    """The mark in an `external_id`; null for one that is not ours."""
    found = _EXTERNAL_ID.fullmatch(external_id)
    return Mark(plan=found[1], attempt=int(found[2]), leg=found[3]) if found else None


def is_own(run: CheckRun, bot_login: str) -> bool:
    """Whether this is a `bridge-e2e` check that this bot's own app wrote."""
    mark = mark_of(run.external_id)
    return run.name == NAME and run.author == bot_login and mark is not None and mark.leg is None


def payload(plan: Plan, mark: Mark, concluded: Conclusion, summary: str) -> CheckPayload:
    """A check run on the plan's head.

    Raises:
        ValueError: for a plan without a head.

    """
    if plan.head is None:
        message = "a plan without a head has no checks"
        raise ValueError(message)
    return for_commit(plan.head, mark, concluded, summary, plan.run_url)


def for_commit(head: Commit, mark: Mark, concluded: Conclusion, summary: str, url: str | None) -> CheckPayload:
    """A check run on `head`."""
    return CheckPayload(
        name=mark.name,
        head=head,
        external_id=mark.text,
        status=CheckStatus(concluded.status),
        conclusion=CheckConclusion(concluded.conclusion) if concluded.conclusion else None,
        title=one_line(concluded.title, MAX_TITLE),
        summary=summary,
        details_url=url,
    )


class Board:
    """Our check runs of one commit, as they were when it was made."""

    def __init__(self, checks: Checks, head: str, bot_login: str) -> None:
        """Read them."""
        self._checks = checks
        self._own = [
            (mark, run)
            for run in checks.on(head)
            if run.author == bot_login and (mark := mark_of(run.external_id)) is not None and run.name == mark.name
        ]

    @property
    def has_answer(self) -> bool:
        """Whether the required check already stands there, and not only because a plan crashed."""
        return any(mark.leg is None and mark.plan != CRASHED for mark, _ in self._own)

    def superseded(self, plan: str) -> bool:
        """Whether a newer plan has its required check on this commit."""
        mains = [(run.id, mark.plan) for mark, run in self._own if mark.leg is None]
        ours = max((check for check, owner in mains if owner == plan), default=None)
        return ours is not None and any(check > ours for check, owner in mains if owner != plan)

    def publish(self, payloads: Sequence[CheckPayload]) -> None:
        """Make GitHub say what `payloads` say: each created once, and never over a newer attempt."""
        for wanted in payloads:
            self._put(wanted)

    def close_older(self, payloads: Iterable[CheckPayload], concluded: Conclusion) -> None:
        """Close, as `concluded` says, what an older plan left unfinished under the names of `payloads`."""
        ours = {wanted.name: wanted for wanted in payloads}
        for mark, run in self._own:
            wanted = ours.get(run.name)
            if wanted is None or run.status == CheckStatus.COMPLETED or _plan_of(wanted) == mark.plan:
                continue
            old = for_commit(wanted.head, mark, concluded, "A newer run on this commit took its place.", None)
            self._checks.update(run.id, old)

    def _put(self, wanted: CheckPayload) -> None:
        mark = mark_of(wanted.external_id)
        same = [(m, run) for m, run in self._own if mark and (m.plan, m.leg) == (mark.plan, mark.leg)]
        if mark is None or not same:
            self._checks.create(wanted)
            return
        newest, run = same[-1]
        reopens = run.status == CheckStatus.COMPLETED and wanted.status is not CheckStatus.COMPLETED
        if newest.attempt > mark.attempt or (reopens and newest.attempt == mark.attempt):
            return
        if reopens:
            self._checks.create(wanted)
        else:
            self._checks.update(run.id, wanted)


def _plan_of(wanted: CheckPayload) -> str | None:
    mark = mark_of(wanted.external_id)
    return mark.plan if mark else None
