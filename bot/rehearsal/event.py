"""The event of a rehearsal and the embedded GitHub that goes with it. Running the workflow never belongs here."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec

from bot.checks import Mark
from bot.rehearsal import build, payloads
from bot.rehearsal.repos import BRANCH, Repos
from bot.rehearsal.state import Comment, Issue, Repository, State
from levels.errors import UsageError
from levels.model import Record, Suite

REPOSITORY: Final = "NVIDIA-NeMo/Megatron-Bridge"
LABEL: Final = "verl-e2e"
PERSON: Final = "mia"
AUTHOR: Final = "wim"
NUMBER: Final = 4391
TOKEN: Final = "ghs_of-the-embedded-github"
SETTLED: Final = timedelta(minutes=10)
"""How long the pull request's head has stood before the event: longer than any policy's default asks for."""
PERMISSIONS: Final[Mapping[str, Any]] = {
    "actions": "write",
    "checks": "write",
    "contents": "read",
    "pull-requests": "write",
}
"""What the caller grants. act gives one token to every job, so that the jobs' own lower grants are not rehearsed."""


class Told(Record, frozen=True, kw_only=True):
    """A payload, as GitHub would send it."""

    name: str
    """Of the event."""
    payload: dict[str, Any]
    repository: str
    number: int | None
    says: str
    """What happened, for people."""


def label(state: State, repo: Repository, issue: Issue) -> Told:
    """Somebody with write access puts our label on the pull request."""
    build.put_label(state, repo, issue.number, LABEL)
    payload = payloads.pull_request(state, repo, issue, "labeled", sender=PERSON, label=LABEL)
    says = f"{PERSON} puts the label {LABEL} on pull request #{issue.number}"
    return Told(name="pull_request_target", payload=payload, repository=repo.full_name, number=issue.number, says=says)


def command(state: State, repo: Repository, issue: Issue, suite: Suite | None, level: int) -> Told:
    """Somebody with write access asks for one level."""
    head = issue.pull.head_sha if issue.pull else ""
    asked = f"suite={suite.value} " if suite else ""
    body = f"/run-e2e {asked}level={level} sha={head}"
    comment = build.add_comment(state, repo, issue.number, author=PERSON, body=body)
    payload = payloads.issue_comment(state, repo, comment)
    says = f"{PERSON} comments on pull request #{issue.number}: {body}"
    return Told(name="issue_comment", payload=payload, repository=repo.full_name, number=issue.number, says=says)


def github(repos: Repos, *, full_name: str = REPOSITORY, number: int = NUMBER) -> tuple[State, Repository, Issue]:
    """The embedded GitHub with the repository and its pull request, whose check has stood for a while."""
    state = build.new_state()
    repo = build.add_repository(state, full_name, repos.bridge, roles={PERSON: "maintain", AUTHOR: "write"})
    issue = build.open_pull(state, repo, repos.bridge, head=BRANCH, author=AUTHOR, number=number)
    issue.title = "Qwen2: a default sequence length"
    settle(state, repo, repos.head, datetime.now(UTC))
    build.grant(state, TOKEN, permissions=PERMISSIONS, repository=full_name)
    return state, repo, issue


def settle(state: State, repo: Repository, head: str, moment: datetime) -> None:
    """Our own check has stood on `head` since some minutes before `moment`."""
    earlier = Mark(plan="0" * 12, attempt=1).text
    build.add_check(state, repo, head, at=moment - SETTLED, conclusion="action_required", external_id=earlier)


def recorded(path: Path, name: str | None) -> tuple[str, dict[str, Any]]:
    """Event name and payload of a recorded file.

    Raises:
        UsageError: when it cannot be read, or when nobody could tell what event it is.

    """
    try:
        payload = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(
            doing=f"reading the event {path}",
            found=str(error),
            expected="a webhook payload as JSON",
            next_step="record one, or leave --event out",
        ) from error
    kinds = {"comment": "issue_comment", "pull_request": "pull_request_target", "merge_group": "merge_group"}
    found = name or next((event for key, event in kinds.items() if key in payload), None)
    if found is None or not isinstance(payload.get("repository"), dict):
        raise UsageError(
            doing=f"reading the event {path}",
            found="keys " + ", ".join(sorted(payload)[:20]),
            expected="a payload with a repository, and with a pull request, a comment or a merge group",
            next_step="name the event with --event-name",
        )
    return found, payload


def replay(name: str, payload: dict[str, Any], repos: Repos) -> tuple[State, Told]:
    """The recorded event on the miniature repository: names, numbers and texts stay, commits become the miniature's.

    Whoever sent it has write access here; nobody can tell what they had there.
    """
    full_name = str(payload["repository"]["full_name"])
    about = payload.get("pull_request") or payload.get("issue") or {}
    number = int(about.get("number", NUMBER))
    state, repo, issue = github(repos, full_name=full_name, number=number)
    sender = str(payload.get("sender", {}).get("login", PERSON))
    build.add_user(state, sender)
    repo.roles[sender] = "write"
    repo.check_runs.clear()
    if payload.get("action") in {"labeled", "created"}:
        settle(state, repo, repos.head, _moment(payload))
    for one in about.get("labels", []):
        build.put_label(state, repo, number, str(one["name"]))
    if isinstance(payload.get("comment"), dict):
        _comment(state, repo, issue, payload["comment"])
    told = Told(
        name=name,
        payload=_with_commits(payload, repos),
        repository=full_name,
        number=number,
        says=f"{sender} sends {name} ({payload.get('action', 'no action')}) about {full_name}#{number}",
    )
    return state, told


def _moment(payload: Mapping[str, Any]) -> datetime:
    """When it happened, by GitHub's clock; now where the payload does not say."""
    for part, key in (("comment", "created_at"), ("pull_request", "updated_at")):
        text = (payload.get(part) or {}).get(key)
        if isinstance(text, str):
            return datetime.fromisoformat(text)
    return datetime.now(UTC)


def _comment(state: State, repo: Repository, issue: Issue, recorded_comment: Mapping[str, Any]) -> None:
    author = str((recorded_comment.get("user") or {}).get("login", PERSON))
    made: Comment = build.add_comment(
        state, repo, issue.number, author=author, body=str(recorded_comment.get("body") or "")
    )
    del repo.comments[made.id]
    made.id = int(recorded_comment.get("id", made.id))
    repo.comments[made.id] = made


def _with_commits(payload: dict[str, Any], repos: Repos) -> dict[str, Any]:
    copied: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(payload))
    pull = copied.get("pull_request")
    if isinstance(pull, dict):
        for side, commit in (("head", repos.head), ("base", repos.base)):
            if isinstance(pull.get(side), dict):
                pull[side]["sha"] = commit
    group = copied.get("merge_group")
    if isinstance(group, dict):
        group |= {"head_sha": repos.head, "base_sha": repos.base}
    return copied
