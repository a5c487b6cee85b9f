"""Actor, role, commit and times to Admitted or Refused. Pure: roles and times are passed in.

Consent is to one commit of 40 hex digits. Whoever does not name it means the head that stood on the page; that is only
believed when our own check had stood on that head for a while before the label or the comment was made, by GitHub's
clock: a push just before the click would otherwise run unread code. The times are `pull_request.updated_at` and
`comment.created_at` of the payload, and `started_at` of our check run, which we never send and GitHub fills.
"""

from datetime import datetime
from typing import assert_never

from bot.policy import Policy
from bot.roles import Role
from levels.model import Commit, Record
from levels.plan import Consent


class ByLabel(Record, frozen=True, kw_only=True):
    """Consent by a label; the commit is the head in the payload."""

    label: str


class ByComment(Record, frozen=True, kw_only=True):
    """Consent by a command. `sha` is the commit that it names, if any."""

    comment: int
    sha: Commit | None


class Ask(Record, frozen=True, kw_only=True):
    """One person's wish to use the GPU machines."""

    via: ByLabel | ByComment
    actor: str
    at: datetime
    head: Commit
    """Head of the pull request: the payload's for a label, the current one for a comment."""
    fork: bool


class Facts(Record, frozen=True, kw_only=True):
    """What GitHub says about it."""

    role: Role | None
    """Null when GitHub could not say."""
    check_since: datetime | None
    """When our own check first stood on `Ask.head`; null when there is none."""


class Admitted(Record, frozen=True, kw_only=True):
    """The gate's yes, bound to one commit."""

    consent: Consent


class Refused(Record, frozen=True, kw_only=True):
    """The gate's no, with what the person can do."""

    doing: str
    found: str
    expected: str
    hint: str


def decide(ask: Ask, facts: Facts, policy: Policy) -> Admitted | Refused:
    """Whether this person may run this commit on the GPU machines."""
    refusal = _by_role(ask, facts, policy) or _by_commit(ask, facts, policy)
    if refusal is not None:
        return refusal
    role = facts.role or Role.NONE
    consent = Consent(actor=ask.actor, role=role.value, via=_via(ask), commit=ask.head, given_at=ask.at.isoformat())
    return Admitted(consent=consent)


def may_ask(role: Role | None, actor: str, policy: Policy) -> Refused | None:
    """Why this person gets no answer to a question (help, explain, dry run); null when they do."""
    return _role_refusal(role, actor, policy.minimum_role_to_ask, "reading a command")


def may_run(role: Role | None, actor: str, policy: Policy, doing: str) -> Refused | None:
    """Why this person may not start or end a run; null when they may."""
    return _role_refusal(role, actor, policy.minimum_role, doing)


def _by_role(ask: Ask, facts: Facts, policy: Policy) -> Refused | None:
    return _role_refusal(facts.role, ask.actor, policy.minimum_role, f"checking who asked by {_via(ask)}")


def _role_refusal(role: Role | None, actor: str, minimum: Role, doing: str) -> Refused | None:
    if role is None:
        return Refused(
            doing=doing,
            found=f"no answer from GitHub about the role of {actor}",
            expected=f"role {minimum.value} or above",
            hint="ask again in a minute; without an answer nothing runs",
        )
    if not role.at_least(minimum):
        return Refused(
            doing=doing,
            found=f"{actor} has role {role.value}",
            expected=f"role {minimum.value} or above",
            hint=f"ask a person with role {minimum.value} to read the change and to ask for the run",
        )
    return None


def _by_commit(ask: Ask, facts: Facts, policy: Policy) -> Refused | None:
    match ask.via:
        case ByComment(sha=str() as sha):
            return None if sha == ask.head else _other_commit(ask, sha)
        case ByLabel() if ask.fork and not policy.labels_on_forks:
            return _unsettled(ask, "a label on a pull request from a fork", "a command that names the commit")
        case ByLabel() | ByComment():
            return _by_age(ask, facts, policy)
        case _:
            assert_never(ask.via)


def _by_age(ask: Ask, facts: Facts, policy: Policy) -> Refused | None:
    settled = policy.settled_seconds
    needed = settled.fork if ask.fork else settled.same_repository
    expected = f"a head that had stood for {needed} seconds before"
    if facts.check_since is None:
        return _unsettled(ask, f"no check of ours on {ask.head[:12]}", expected)
    age = int((ask.at - facts.check_since).total_seconds())
    if age < needed:
        return _unsettled(ask, f"{ask.head[:12]}, which had stood for {max(age, 0)} seconds", expected)
    return None


def _unsettled(ask: Ask, found: str, expected: str) -> Refused:
    return Refused(
        doing=f"binding {_via(ask)} to a commit",
        found=found,
        expected=expected,
        hint=f"read the change, then comment: /run-e2e sha={ask.head}",
    )


def _other_commit(ask: Ask, sha: Commit) -> Refused:
    return Refused(
        doing=f"binding {_via(ask)} to a commit",
        found=f"sha={sha}",
        expected=f"the head of the pull request, {ask.head}",
        hint=f"read the new commits, then comment: /run-e2e sha={ask.head}",
    )


def _via(ask: Ask) -> str:
    match ask.via:
        case ByLabel(label=label):
            return f"label {label}"
        case ByComment(comment=comment):
            return f"comment {comment}"
        case _:
            assert_never(ask.via)
