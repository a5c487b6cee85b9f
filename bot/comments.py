"""Our own comments on one pull request: found by marker *and* author, written once, edited in place. No texts here."""

import re
from collections.abc import Callable
from typing import Final, Literal

import msgspec

from bot.ports import Comment, Comments
from levels.errors import GitHubError
from levels.model import Commit, Record

STICKY: Final = "<!-- bridge-e2e:sticky -->"
_ORDER: Final = re.compile(r"<!-- bridge-e2e:run=(\d{1,20})\.(\d{1,6}) -->", re.ASCII)
_ABOUT: Final = re.compile(r"<!-- bridge-e2e:about=([0-9a-f]{40}) (open|told|closed) -->", re.ASCII)
_MARKERS: Final = 300
"""Characters at a comment's start that may hold markers."""
Order = tuple[int, int]
"""Workflow run id and attempt: the greater one is newer."""


class Sticky(Record, frozen=True, kw_only=True):
    """What the markers of a result comment say."""

    order: Order
    head: Commit | None
    """The commit that it is about; null in one that does not say."""
    state: "State"

    @property
    def open(self) -> bool:
        """Whether the end of a run on that commit is still to be told."""
        return self.state != "closed"


State = Literal["open", "told", "closed"]
"""The run goes on; its result is told and an older run on the same commit goes on; all is told."""


class Thread:
    """The comments of one pull request; read when first needed."""

    def __init__(self, comments: Comments, number: int, bot_login: str) -> None:
        """Nothing is asked yet."""
        self._comments = comments
        self._number = number
        self._login = bot_login
        self._all: tuple[Comment, ...] | None = None

    @property
    def sticky(self) -> Sticky | None:
        """What the result comment tells of; null when there is none yet."""
        existing = self._own(STICKY)
        return sticky_of(existing, self._login) if existing else None

    def stick(self, body: str, order: Order, head: Commit | None = None, state: State = "closed") -> bool:
        """Make the one result comment say `body`; false when it already tells of a newer run.

        A run that came to its end is not opened again: its report may be there before its receipt.
        """
        about = f"<!-- bridge-e2e:about={head} {state} -->\n" if head else ""
        marked = f"{STICKY}\n<!-- bridge-e2e:run={order[0]}.{order[1]} -->\n{about}{body}"
        existing = self._own(STICKY)
        told = sticky_of(existing, self._login) if existing else None
        again = state == "open" and told is not None and told.order == order and told.state != "open"
        if again or (told is not None and told.order > order):
            return False
        self._write(existing, marked, STICKY)
        return True

    def close(self, order: Order) -> None:
        """Say that all is told about the run `order`; the text stays."""
        existing = self._own(STICKY)
        told = sticky_of(existing, self._login) if existing else None
        if existing is None or told is None or told.order != order or not told.open:
            return
        start, rest = existing.body[:_MARKERS], existing.body[_MARKERS:]
        self._write(
            existing, start.replace(f"{told.head} {told.state} -->", f"{told.head} closed -->", 1) + rest, STICKY
        )

    def reply(self, key: str, body: str) -> None:
        """Answer what `key` names, once."""
        marker = f"<!-- bridge-e2e:reply={key} -->"
        self._write(self._own(marker), f"{marker}\n{body}", marker)

    def _write(self, existing: Comment | None, body: str, marker: str) -> None:
        if existing is None:
            created = self._comments.create(self._number, body, self._is(marker))
            self._check_login(created)
        elif existing.body.replace("\r\n", "\n").rstrip() != body.rstrip():
            self._comments.update(existing.id, body)

    def _check_login(self, created: Comment) -> None:
        """Under another login we would not know this comment, nor our own checks, again.

        Raises:
            GitHubError: when the token writes as somebody else than it was said to.

        """
        if created.author != self._login:
            raise GitHubError(
                doing=f"commenting on #{self._number}",
                found=f"that the token comments as {created.author}",
                expected=self._login,
                next_step=f"set BRIDGE_E2E_BOT_LOGIN (input bot-login) to {created.author}",
            )

    def _own(self, marker: str) -> Comment | None:
        if self._all is None:
            self._all = self._comments.all(self._number)
        return next(filter(self._is(marker), self._all), None)

    def _is(self, marker: str) -> Callable[[Comment], bool]:
        """Whether a comment is ours: anybody can write the marker, only we write under our login."""
        return lambda comment: comment.author == self._login and comment.body.startswith(marker)


def sticky_of(comment: Comment, bot_login: str) -> Sticky | None:
    """What a result comment of ours tells of; null for any other comment."""
    if comment.author != bot_login or not comment.body.startswith(STICKY):
        return None
    start = comment.body[:_MARKERS]
    order, about = _ORDER.search(start), _ABOUT.search(start)
    return Sticky(
        order=(int(order[1]), int(order[2])) if order else (0, 0),
        head=about[1] if about else None,
        state=msgspec.convert(about[2], State) if about else "closed",
    )
