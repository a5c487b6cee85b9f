"""Our own comments on one pull request: found by marker *and* author, written once, edited in place. No texts here."""

import re
from collections.abc import Callable
from typing import Final

from bot.ports import Comment, Comments
from levels.errors import GitHubError

STICKY: Final = "<!-- bridge-e2e:sticky -->"
_ORDER: Final = re.compile(r"<!-- bridge-e2e:run=(\d{1,20})\.(\d{1,6}) -->", re.ASCII)
Order = tuple[int, int]
"""Workflow run id and attempt: the greater one is newer."""


class Thread:
    """The comments of one pull request; read when first needed."""

    def __init__(self, comments: Comments, number: int, bot_login: str) -> None:
        """Nothing is asked yet."""
        self._comments = comments
        self._number = number
        self._login = bot_login
        self._all: tuple[Comment, ...] | None = None

    def stick(self, body: str, order: Order) -> bool:
        """Make the one result comment say `body`; false when it already tells of a newer run."""
        marked = f"{STICKY}\n<!-- bridge-e2e:run={order[0]}.{order[1]} -->\n{body}"
        existing = self._own(STICKY)
        if existing is not None and order_of(existing.body) > order:
            return False
        self._write(existing, marked, STICKY)
        return True

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


def order_of(body: str) -> Order:
    """The run that a result comment tells of; zero when it does not say."""
    found = _ORDER.search(body[:300])
    return (int(found[1]), int(found[2])) if found else (0, 0)
