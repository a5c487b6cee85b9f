"""The events that GitHub would send about a state, as the file at GITHUB_EVENT_PATH holds them. It changes nothing."""

from typing import Final, Literal, get_args

from bot.rehearsal import views
from bot.rehearsal.state import Comment, Issue, Repository, State
from bot.rehearsal.views import Json, Links

PullAction = Literal[
    "labeled",
    "unlabeled",
    "opened",
    "synchronize",
    "reopened",
    "ready_for_review",
    "converted_to_draft",
    "closed",
]
PULL_ACTIONS: Final[tuple[PullAction, ...]] = get_args(PullAction)
API: Final = "https://api.github.com"
"""The addresses in a payload are GitHub's own, wherever the API of a rehearsal is."""


def _about(state: State, repo: Repository, sender: str) -> tuple[Links, Json]:
    links = Links(API, state.html_url)
    return links, {"repository": webhook_repository(links, state, repo), "sender": views.account(links, state, sender)}


def webhook_repository(links: Links, state: State, repo: Repository) -> Json:
    """`repository-webhooks`; its clone address is the repository's own, `file:` in a rehearsal."""
    return {**views.repository(links, state, repo), "custom_properties": {}}


def pull_request(
    state: State,
    repo: Repository,
    issue: Issue,
    action: PullAction,
    *,
    sender: str,
    label: str | None = None,
    before: str | None = None,
) -> Json:
    """The payload of `pull_request` and `pull_request_target`.

    `label` goes with labeled and unlabeled, `before` (the old head) with synchronize.

    Raises:
        ValueError: when one of these does not fit the action, or when the issue is no pull request.

    """
    if issue.pull is None or (label is not None) != (action in {"labeled", "unlabeled"}):
        message = f"#{issue.number}: {action} with label {label}"
        raise ValueError(message)
    if (before is not None) != (action == "synchronize"):
        message = f"#{issue.number}: {action} with before {before}"
        raise ValueError(message)
    links, about = _about(state, repo, sender)
    shown = views.pull_request(links, state, repo, issue, issue.pull)
    definition = repo.label(label) if label else None
    return {
        "action": action,
        "number": issue.number,
        "pull_request": shown,
        **({"label": views.label(links, repo, definition)} if definition else {}),
        **({"before": before, "after": issue.pull.head_sha} if before else {}),
        **about,
    }


def issue_comment(state: State, repo: Repository, comment: Comment) -> Json:
    """The payload of `issue_comment` with action created; its sender is the comment's author."""
    links, about = _about(state, repo, comment.user)
    return {
        "action": "created",
        "issue": views.issue(links, state, repo, repo.issues[comment.issue]),
        "comment": views.comment(links, state, repo, comment),
        **about,
    }


def merge_group(state: State, repo: Repository, number: int, *, head_sha: str, base_sha: str) -> Json:
    """The payload of `merge_group` with action checks_requested, for a group that ends with pull request `number`."""
    _, about = _about(state, repo, repo.owner)
    base = repo.default_branch
    commit = repo.commits[head_sha]
    person = {"name": commit.author.name, "email": commit.author.email}
    return {
        "action": "checks_requested",
        "merge_group": {
            "head_sha": head_sha,
            "head_ref": f"refs/heads/gh-readonly-queue/{base}/pr-{number}-{base_sha}",
            "base_sha": base_sha,
            "base_ref": f"refs/heads/{base}",
            "head_commit": {
                "id": commit.sha,
                "tree_id": commit.tree,
                "message": commit.message,
                "timestamp": views.stamp(commit.committer.date),
                "author": person,
                "committer": person,
            },
        },
        **about,
    }
