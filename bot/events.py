"""A webhook payload as one Event. No API calls, no permissions, no reading of commands."""

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final, TypeVar

import msgspec

from levels.errors import DocumentError
from levels.model import Commit, Record
from levels.plan import Repository

MAX_PAYLOAD_BYTES: Final = 26_000_000
"""GitHub caps payloads at 25 MB."""
MAX_BODY: Final = 70_000
"""Characters of a comment; GitHub refuses more than 65,536. Source: GITHUB.md section 6."""


_STOPS: Final = frozenset({"closed", "converted_to_draft"})


class Action(StrEnum):
    """What happened to a pull request, apart from labels."""

    OPENED = "opened"
    SYNCHRONIZE = "synchronize"
    REOPENED = "reopened"
    READY_FOR_REVIEW = "ready_for_review"


class Pull(Record, frozen=True, kw_only=True):
    """What a payload or an API answer says about a pull request."""

    number: int
    head: Commit
    base: Commit
    """Tip of the base branch when the payload was written; not the merge base."""
    fork: bool
    """Also true when the head repository is gone."""
    draft: bool
    open: bool
    author: str
    labels: tuple[str, ...]


class LabelAdded(Record, frozen=True, kw_only=True):
    """Somebody put one of our labels on an open pull request."""

    repository: Repository
    pull: Pull
    label: str
    actor: str
    at: datetime
    """`pull_request.updated_at`: GitHub's clock."""


class LabelRemoved(Record, frozen=True, kw_only=True):
    """Somebody took one of our labels away."""

    repository: Repository
    pull: Pull
    label: str
    actor: str


class PullChanged(Record, frozen=True, kw_only=True):
    """A pull request has a head that needs its check."""

    repository: Repository
    pull: Pull
    action: Action
    actor: str
    before: Commit | None = None
    """The head until now, when this is a push."""


class PullStopped(Record, frozen=True, kw_only=True):
    """A pull request was closed, merged or made a draft: nobody waits for its run any more."""

    repository: Repository
    pull: Pull
    actor: str


class CommentCreated(Record, frozen=True, kw_only=True):
    """Somebody commented on a pull request."""

    repository: Repository
    number: int
    comment: int
    body: str
    actor: str
    at: datetime
    """`comment.created_at`: GitHub's clock."""


class MergeGroup(Record, frozen=True, kw_only=True):
    """The merge queue asks for checks on a group."""

    repository: Repository
    head: Commit
    base: Commit
    branch: str
    """Of the group: `gh-readonly-queue/main/pr-12-<commit that it is built on>`."""
    actor: str


class Ignored(Record, frozen=True, kw_only=True):
    """Nothing of ours."""

    reason: str


T = TypeVar("T", bound=msgspec.Struct)

Event = LabelAdded | LabelRemoved | PullChanged | PullStopped | CommentCreated | MergeGroup | Ignored


# The payload's own shapes: unknown fields are GitHub's business, sizes and types are checked.
_Text = Annotated[str, msgspec.Meta(max_length=300)]


class _User(msgspec.Struct):
    login: _Text
    type: _Text = "User"


class _Repo(msgspec.Struct):
    full_name: Repository


class _Tip(msgspec.Struct):
    sha: Commit
    repo: _Repo | None = None
    """Null when the head repository was deleted."""


class _Label(msgspec.Struct):
    name: _Text


class PullPayload(msgspec.Struct):
    """A pull request as payloads and the API both write it."""

    number: Annotated[int, msgspec.Meta(ge=1)]
    state: _Text
    head: _Tip
    base: _Tip
    updated_at: datetime
    user: _User | None = None
    draft: bool = False
    labels: list[_Label] = []

    def facts(self) -> Pull:
        """The fields that we use."""
        same = self.head.repo is not None and self.base.repo is not None and self.head.repo == self.base.repo
        return Pull(
            number=self.number,
            head=self.head.sha,
            base=self.base.sha,
            fork=not same,
            draft=self.draft,
            open=self.state == "open",
            author=self.user.login if self.user else "ghost",
            labels=tuple(label.name for label in self.labels),
        )


class _PullEvent(msgspec.Struct):
    action: _Text
    pull_request: PullPayload
    repository: _Repo
    sender: _User
    label: _Label | None = None
    before: Commit | None = None


class _Issue(msgspec.Struct):
    number: Annotated[int, msgspec.Meta(ge=1)]
    state: _Text
    pull_request: dict[str, object] | None = None


class _Comment(msgspec.Struct):
    id: int
    created_at: datetime
    user: _User | None = None
    body: str | None = None


class _CommentEvent(msgspec.Struct):
    action: _Text
    issue: _Issue
    comment: _Comment
    repository: _Repo
    sender: _User


class _Group(msgspec.Struct):
    head_sha: Commit
    base_sha: Commit
    head_ref: _Text


class _GroupEvent(msgspec.Struct):
    action: _Text
    merge_group: _Group
    repository: _Repo
    sender: _User


_WHY_IGNORED: Final = {
    "pull_request": "pull_request runs without a usable token for forks; the caller must use pull_request_target",
    "schedule": "schedule: only the reconciler works",
}


def parse(data: bytes, *, name: str, labels: Collection[str], bot_login: str) -> Event:
    """The event in a payload.

    Args:
        data: the payload's JSON.
        name: the event's name, as in `X-GitHub-Event`.
        labels: the labels that mean something to us.
        bot_login: our own login, whose comments are never commands.

    Raises:
        DocumentError: when an event that we handle does not have the shape that GitHub documents.

    """
    if len(data) > MAX_PAYLOAD_BYTES:
        raise _broken(name, f"{len(data)} bytes", f"at most {MAX_PAYLOAD_BYTES} bytes")
    match name:
        case "pull_request_target":
            return _pull_event(_decode(data, _PullEvent, name), labels)
        case "issue_comment":
            return _comment_event(_decode(data, _CommentEvent, name), bot_login)
        case "merge_group":
            group = _decode(data, _GroupEvent, name)
            if group.action != "checks_requested":
                return Ignored(reason=f"merge_group {group.action}: no checks are asked for")
            return MergeGroup(
                repository=group.repository.full_name,
                head=group.merge_group.head_sha,
                base=group.merge_group.base_sha,
                branch=group.merge_group.head_ref.removeprefix("refs/heads/"),
                actor=group.sender.login,
            )
        case _:
            return Ignored(reason=_WHY_IGNORED.get(name, f"event {name[:100]} starts nothing here"))


def _pull_event(event: _PullEvent, labels: Collection[str]) -> Event:
    pull = event.pull_request.facts()
    if event.action in {"labeled", "unlabeled"}:
        return _label_event(event, pull, labels)
    if event.action in set(Action) and pull.open:
        return PullChanged(
            repository=event.repository.full_name,
            pull=pull,
            action=Action(event.action),
            actor=event.sender.login,
            before=event.before,
        )
    if event.action in _STOPS:
        return PullStopped(repository=event.repository.full_name, pull=pull, actor=event.sender.login)
    return Ignored(reason=f"pull request {event.action}: nothing to run")


def _label_event(event: _PullEvent, pull: Pull, labels: Collection[str]) -> Event:
    label = event.label.name if event.label else ""
    repository, actor = event.repository.full_name, event.sender.login
    if label not in labels:
        return Ignored(reason=f"label {label!r} is not one of ours")
    if event.action == "unlabeled":
        return LabelRemoved(repository=repository, pull=pull, label=label, actor=actor)
    if not pull.open or pull.draft:
        return Ignored(reason="the pull request is a draft" if pull.open else "the pull request is closed")
    return LabelAdded(repository=repository, pull=pull, label=label, actor=actor, at=event.pull_request.updated_at)


def _comment_event(event: _CommentEvent, bot_login: str) -> Event:
    comment, author = event.comment, event.comment.user
    if event.action != "created":
        return Ignored(reason=f"comment {event.action}: only new comments are read")
    if event.issue.pull_request is None:
        return Ignored(reason="a comment on an issue, not on a pull request")
    if author is None or author.type == "Bot" or author.login == bot_login:
        return Ignored(reason="a bot's comment")
    body = comment.body or ""
    if len(body) > MAX_BODY:
        return Ignored(reason=f"a comment of {len(body)} characters; GitHub allows 65,536")
    return CommentCreated(
        repository=event.repository.full_name,
        number=event.issue.number,
        comment=comment.id,
        body=body,
        actor=author.login,
        at=comment.created_at,
    )


def _decode(data: bytes, kind: type[T], name: str) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _broken(name, str(error)[:300], "the payload that GitHub documents for this event") from error


def _broken(name: str, found: str, expected: str) -> DocumentError:
    return DocumentError(
        doing=f"reading the payload of a {name[:100]} event",
        found=found,
        expected=expected,
        next_step="look at the event file; nothing was started",
    )
