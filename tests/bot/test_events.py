import json
from pathlib import Path
from typing import Any

import pytest

from bot import policy
from bot.events import (
    MAX_BODY,
    MAX_PAYLOAD_BYTES,
    Action,
    CommentCreated,
    Event,
    Ignored,
    LabelAdded,
    LabelRemoved,
    MergeGroup,
    PullChanged,
    parse,
)
from levels.errors import DocumentError

PAYLOADS = Path(__file__).parents[1] / "fixtures" / "payloads"
LABELS = policy.load().labels


def payload(name: str, **changes: object) -> dict[str, Any]:
    """A recorded payload; `a__b=value` replaces `payload["a"]["b"]`."""
    data: dict[str, Any] = json.loads((PAYLOADS / f"{name}.json").read_text())
    for path, value in changes.items():
        *parents, last = path.split("__")
        target = data
        for key in parents:
            target = target[key]
        target[last] = value
    return data


def event_of(data: dict[str, Any], name: str = "pull_request_target") -> Event:
    return parse(json.dumps(data).encode(), name=name, labels=LABELS, bot_login="github-actions[bot]")


def comment(**changes: object) -> dict[str, Any]:
    return payload("issue_comment.created", issue__pull_request={"url": "https://api.github.com/x"}, **changes)


def test_a_label_of_ours() -> None:
    event = event_of(payload("pull_request.labeled", label__name="verl-e2e"))
    assert isinstance(event, LabelAdded)
    assert (event.label, event.actor, event.pull.number) == ("verl-e2e", "Codertocat", 2)
    assert event.pull.head == "ec26c3e57ca3a959ca5aad62de7213c562f8c821"
    assert event.at.isoformat() == "2019-05-15T15:20:35+00:00"
    assert not event.pull.fork


def test_a_label_taken_away() -> None:
    assert isinstance(event_of(payload("pull_request.unlabeled", label__name="verl-e2e")), LabelRemoved)


@pytest.mark.parametrize("action", list(Action))
def test_a_head_that_needs_its_check(action: Action) -> None:
    event = event_of(payload(f"pull_request.{action.value}"))
    assert isinstance(event, PullChanged)
    assert event.action is action


def test_a_draft_gets_its_check_too() -> None:
    assert isinstance(event_of(payload("pull_request.opened", pull_request__draft=True)), PullChanged)


def test_a_comment_on_a_pull_request() -> None:
    event = event_of(comment(comment__body="/run-e2e"), "issue_comment")
    assert isinstance(event, CommentCreated)
    assert (event.body, event.actor, event.number) == ("/run-e2e", "Codertocat", 1)


def test_a_merge_group() -> None:
    event = event_of(payload("merge_group.checks_requested"), "merge_group")
    assert isinstance(event, MergeGroup)
    assert len(event.head) == len(event.base) == 40


def test_a_deleted_head_repository_counts_as_a_fork() -> None:
    event = event_of(payload("pull_request.labeled", label__name="verl-e2e", pull_request__head__repo=None))
    assert isinstance(event, LabelAdded)
    assert event.pull.fork


def test_a_deleted_author_is_no_error() -> None:
    assert isinstance(event_of(payload("pull_request.opened", pull_request__user=None)), PullChanged)


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        pytest.param(payload("pull_request.labeled"), "pull_request_target", "not one of ours", id="unknown-label"),
        pytest.param(payload("pull_request.unlabeled"), "pull_request_target", "not one of ours", id="unknown-unlabel"),
        pytest.param(
            payload("pull_request.labeled", label__name="verl-e2e", pull_request__draft=True),
            "pull_request_target",
            "draft",
            id="label-on-a-draft",
        ),
        pytest.param(
            payload("pull_request.labeled", label__name="verl-e2e", pull_request__state="closed"),
            "pull_request_target",
            "closed",
            id="label-on-a-closed-one",
        ),
        pytest.param(payload("pull_request.assigned"), "pull_request_target", "assigned", id="assigned"),
        pytest.param(payload("pull_request.opened"), "pull_request", "pull_request_target", id="wrong-trigger"),
        pytest.param(payload("issue_comment.created"), "issue_comment", "issue", id="comment-on-an-issue"),
        pytest.param(payload("issue_comment.edited"), "issue_comment", "edited", id="edited-comment"),
        pytest.param(payload("issue_comment.deleted"), "issue_comment", "deleted", id="deleted-comment"),
        pytest.param(comment(comment__user__type="Bot"), "issue_comment", "bot", id="a-bots-comment"),
        pytest.param(comment(comment__user__login="github-actions[bot]"), "issue_comment", "bot", id="our-own-comment"),
        pytest.param(comment(comment__user=None), "issue_comment", "bot", id="nobodys-comment"),
        pytest.param(comment(comment__body="x" * (MAX_BODY + 1)), "issue_comment", "65,536", id="endless-comment"),
        pytest.param(
            payload("merge_group.checks_requested", action="destroyed"), "merge_group", "destroyed", id="group-gone"
        ),
        pytest.param({}, "push", "push", id="push"),
        pytest.param({}, "schedule", "only the reconciler", id="schedule"),
        pytest.param({}, "workflow_dispatch", "workflow_dispatch", id="dispatch"),
    ],
)
def test_nothing_of_ours(data: dict[str, Any], name: str, reason: str) -> None:
    event = event_of(data, name)
    assert isinstance(event, Ignored)
    assert reason in event.reason


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{", id="broken"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b" " * (MAX_PAYLOAD_BYTES + 1), id="endless"),
        pytest.param(json.dumps(payload("pull_request.opened", pull_request__head__sha="main")).encode(), id="branch"),
        pytest.param(
            json.dumps(payload("pull_request.opened", repository__full_name="o/r\n")).encode(), id="newline-in-a-name"
        ),
        pytest.param(json.dumps(payload("pull_request.opened", sender__login="x" * 301)).encode(), id="long-login"),
    ],
)
def test_a_payload_that_github_would_not_send(data: bytes) -> None:
    with pytest.raises(DocumentError, match="payload of a pull_request_target event"):
        parse(data, name="pull_request_target", labels=LABELS, bot_login="x")
