"""State to the JSON of accounts, repositories, issues and pull requests. Decisions and changes never belong here.

Every required field of GitHub's published schemas is there; fields with nothing to tell hold GitHub's empty value.
Source: npm `@octokit/openapi` 23.0.2, `generated/api.github.com.json`.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from bot.rehearsal.state import (
    App,
    ChangedFile,
    Comment,
    Issue,
    Label,
    Pull,
    Reaction,
    Repository,
    State,
    User,
    node_id,
)

Json = dict[str, Any]

EPOCH: Final = "2020-01-01T00:00:00Z"
REACTIONS: Final = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")

# Suffix of each `*_url` of a user and of a repository.
USER_URLS: Final = {
    "followers_url": "/followers",
    "following_url": "/following{/other_user}",
    "gists_url": "/gists{/gist_id}",
    "starred_url": "/starred{/owner}{/repo}",
    "subscriptions_url": "/subscriptions",
    "organizations_url": "/orgs",
    "repos_url": "/repos",
    "events_url": "/events{/privacy}",
    "received_events_url": "/received_events",
}
REPOSITORY_URLS: Final = {
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "contributors_url": "/contributors",
    "deployments_url": "/deployments",
    "downloads_url": "/downloads",
    "events_url": "/events",
    "forks_url": "/forks",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "languages_url": "/languages",
    "merges_url": "/merges",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "tags_url": "/tags",
    "teams_url": "/teams",
    "trees_url": "/git/trees{/sha}",
    "hooks_url": "/hooks",
}
APP_PERMISSIONS: Final = {"issues": "write", "checks": "write", "metadata": "read", "contents": "read"}


class Links(NamedTuple):
    """Where the API and the web pages are said to be."""

    api: str
    html: str

    def repo(self, repo: Repository) -> str:
        """API address of the repository."""
        return f"{self.api}/repos/{repo.full_name}"

    def page(self, repo: Repository) -> str:
        """Web address of the repository."""
        return f"{self.html}/{repo.full_name}"


def stamp(moment: datetime) -> str:
    """ISO 8601 in UTC with whole seconds, as GitHub writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def maybe(moment: datetime | None) -> str | None:
    """The same, or null."""
    return stamp(moment) if moment else None


def user(links: Links, account: User) -> Json:
    """`simple-user`."""
    api = f"{links.api}/users/{account.login}"
    return {
        "login": account.login,
        "id": account.id,
        "node_id": node_id("User", account.id),
        "avatar_url": f"https://avatars.githubusercontent.com/u/{account.id}?v=4",
        "gravatar_id": "",
        "url": api,
        "html_url": f"{links.html}/{account.login}",
        **{name: api + suffix for name, suffix in USER_URLS.items()},
        "type": account.kind,
        "site_admin": False,
        "user_view_type": "public",
    }


def account(links: Links, state: State, login: str) -> Json:
    """`simple-user` by login; someone without an account is shown as GitHub shows a deleted one."""
    return user(links, state.user(login) or User(login="ghost", id=10137))


def app(links: Links, state: State, one: App) -> Json:
    """`integration`."""
    return {
        "id": one.id,
        "slug": one.slug,
        "node_id": node_id("App", one.id),
        "owner": account(links, state, one.owner),
        "name": one.name,
        "description": None,
        "external_url": f"{links.html}/apps/{one.slug}",
        "html_url": f"{links.html}/apps/{one.slug}",
        "created_at": EPOCH,
        "updated_at": EPOCH,
        "permissions": APP_PERMISSIONS,
        "events": [],
    }


def repository(links: Links, state: State, repo: Repository) -> Json:
    """`repository`: all that its short and full form share."""
    api, page = links.repo(repo), links.page(repo)
    open_issues = sum(issue.state == "open" for issue in repo.issues.values())
    return {
        "id": repo.id,
        "node_id": node_id("Repository", repo.id),
        "name": repo.name,
        "full_name": repo.full_name,
        "owner": account(links, state, repo.owner),
        "private": repo.private,
        "visibility": "private" if repo.private else "public",
        "html_url": page,
        "description": None,
        "fork": repo.parent is not None,
        "url": api,
        **{name: api + suffix for name, suffix in REPOSITORY_URLS.items()},
        "git_url": f"git:{page.partition(':')[2]}.git",
        "ssh_url": f"git@{links.html.partition('//')[2]}:{repo.full_name}.git",
        "clone_url": repo.clone_url,
        "svn_url": page,
        "mirror_url": None,
        "homepage": None,
        "language": "Python",
        "license": None,
        "default_branch": repo.default_branch,
        "size": 1,
        "topics": [],
        **dict.fromkeys(("forks", "forks_count", "watchers", "watchers_count", "stargazers_count"), 0),
        **dict.fromkeys(("open_issues", "open_issues_count"), open_issues),
        **dict.fromkeys(("has_issues", "has_downloads", "allow_forking"), True),
        **dict.fromkeys(("has_projects", "has_wiki", "has_pages", "has_discussions"), False),
        **dict.fromkeys(("archived", "disabled", "is_template", "web_commit_signoff_required"), False),
        "pushed_at": stamp(repo.created_at),
        "created_at": stamp(repo.created_at),
        "updated_at": stamp(repo.created_at),
    }


def full_repository(links: Links, state: State, repo: Repository) -> Json:
    """`full-repository`."""
    parent = state.repository(repo.parent) if repo.parent else None
    relatives = dict.fromkeys(("parent", "source"), repository(links, state, parent)) if parent else {}
    return {**repository(links, state, repo), "subscribers_count": 0, "network_count": 0, **relatives}


def label(links: Links, repo: Repository, one: Label) -> Json:
    """`label`."""
    return {
        "id": one.id,
        "node_id": node_id("Label", one.id),
        "url": f"{links.repo(repo)}/labels/{quote(one.name)}",
        "name": one.name,
        "description": one.description,
        "color": one.color,
        "default": one.default,
    }


def labels(links: Links, repo: Repository, issue: Issue) -> list[Json]:
    """The labels of an issue, in the order in which they were added."""
    return [label(links, repo, found) for name in issue.labels if (found := repo.label(name))]


def association(repo: Repository, login: str) -> str:
    """`author_association`. It says what somebody was, never what they may do."""
    if login.lower() == repo.owner.lower():
        return "OWNER"
    return "NONE" if repo.role_of(login) in {"read", "none"} else "COLLABORATOR"


def reaction(links: Links, state: State, one: Reaction) -> Json:
    """`reaction`."""
    return {
        "id": one.id,
        "node_id": node_id("Reaction", one.id),
        "user": account(links, state, one.user),
        "content": one.content,
        "created_at": stamp(one.created_at),
    }


def rollup(url: str, reactions: Iterable[Reaction]) -> Json:
    """`reaction-rollup`."""
    contents = [one.content for one in reactions]
    counts = {name: contents.count(name) for name in REACTIONS}
    return {"url": f"{url}/reactions", "total_count": len(contents), **counts}


def comment(links: Links, state: State, repo: Repository, one: Comment) -> Json:
    """`issue-comment`."""
    url = f"{links.repo(repo)}/issues/comments/{one.id}"
    issue = repo.issues[one.issue]
    kind = "pull" if issue.pull else "issues"
    return {
        "id": one.id,
        "node_id": node_id("IssueComment", one.id),
        "url": url,
        "html_url": f"{links.page(repo)}/{kind}/{one.issue}#issuecomment-{one.id}",
        "issue_url": f"{links.repo(repo)}/issues/{one.issue}",
        "body": one.body,
        "user": account(links, state, one.user),
        "created_at": stamp(one.created_at),
        "updated_at": stamp(one.updated_at),
        "author_association": association(repo, one.user),
        "performed_via_github_app": app(links, state, state.apps[one.app]) if one.app else None,
        "reactions": rollup(url, one.reactions),
    }


def _conversation(links: Links, state: State, repo: Repository, issue: Issue) -> Json:
    """What the issue and the pull request view of one number share."""
    return {
        "number": issue.number,
        "state": issue.state,
        "title": issue.title,
        "body": issue.body,
        "user": account(links, state, issue.user),
        "labels": labels(links, repo, issue),
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "locked": False,
        "active_lock_reason": None,
        "comments": sum(one.issue == issue.number for one in repo.comments.values()),
        "created_at": stamp(issue.created_at),
        "updated_at": stamp(issue.updated_at),
        "closed_at": maybe(issue.closed_at),
        "author_association": association(repo, issue.user),
    }


def issue(links: Links, state: State, repo: Repository, one: Issue) -> Json:
    """`issue`, with `pull_request` only where it is one."""
    url = f"{links.repo(repo)}/issues/{one.number}"
    page = f"{links.page(repo)}/{'pull' if one.pull else 'issues'}/{one.number}"
    pull_links = {
        "url": f"{links.repo(repo)}/pulls/{one.number}",
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "merged_at": maybe(one.pull.merged_at) if one.pull else None,
    }
    return {
        **_conversation(links, state, repo, one),
        "id": one.id,
        "node_id": node_id("Issue", one.id),
        "url": url,
        "repository_url": links.repo(repo),
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "timeline_url": f"{url}/timeline",
        "html_url": page,
        "reactions": rollup(url, one.reactions),
        "performed_via_github_app": None,
        "state_reason": None,
        **({"pull_request": pull_links, "draft": one.pull.draft} if one.pull else {}),
    }


def _side(links: Links, state: State, repo: Repository | None, owner: str, ref: str, sha: str) -> Json:
    return {
        "label": f"{owner}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": account(links, state, owner),
        "repo": repository(links, state, repo) if repo else None,
    }


def pull_request(links: Links, state: State, repo: Repository, one: Issue, pull: Pull) -> Json:
    """`pull-request`. `head.repo` is null when the head repository is gone, whatever the schema says."""
    api, page = f"{links.repo(repo)}/pulls/{one.number}", f"{links.page(repo)}/pull/{one.number}"
    issue_url = f"{links.repo(repo)}/issues/{one.number}"
    head_repo = state.repository(pull.head_repository) if pull.head_repository else None
    addresses = {
        "url": api,
        "html_url": page,
        "issue_url": issue_url,
        "commits_url": f"{api}/commits",
        "review_comments_url": f"{api}/comments",
        "review_comment_url": f"{links.repo(repo)}/pulls/comments{{/number}}",
        "comments_url": f"{issue_url}/comments",
        "statuses_url": f"{links.repo(repo)}/statuses/{pull.head_sha}",
    }
    short = {"self": api, **{name.removesuffix("_url"): url for name, url in addresses.items() if name != "url"}}
    return {
        **_conversation(links, state, repo, one),
        **addresses,
        "id": one.id,
        "node_id": node_id("PullRequest", one.id),
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "_links": {name: {"href": url} for name, url in short.items()},
        "head": _side(links, state, head_repo, pull.head_owner, pull.head_ref, pull.head_sha),
        "base": _side(links, state, repo, repo.owner, pull.base_ref, pull.base_sha),
        "draft": pull.draft,
        "merged": pull.merged_at is not None,
        "merged_at": maybe(pull.merged_at),
        "merged_by": None,
        "merge_commit_sha": pull.merge_commit_sha,
        "mergeable": pull.mergeable,
        "rebaseable": pull.mergeable,
        "mergeable_state": {True: "clean", False: "dirty", None: "unknown"}[pull.mergeable],
        "auto_merge": None,
        "requested_reviewers": [],
        "requested_teams": [],
        "review_comments": 0,
        "maintainer_can_modify": head_repo is not None and head_repo is not repo,
        "commits": len(pull.commits),
        "additions": sum(file.additions for file in pull.files),
        "deletions": sum(file.deletions for file in pull.files),
        "changed_files": len(pull.files),
    }


def changed_file(links: Links, repo: Repository, sha: str, one: ChangedFile) -> Json:
    """`diff-entry` as of commit `sha`."""
    page, path = links.page(repo), quote(one.filename)
    return {
        "sha": one.sha,
        "filename": one.filename,
        "status": one.status,
        "additions": one.additions,
        "deletions": one.deletions,
        "changes": one.additions + one.deletions,
        "blob_url": f"{page}/blob/{sha}/{path}",
        "raw_url": f"{page}/raw/{sha}/{path}",
        "contents_url": f"{links.repo(repo)}/contents/{path}?ref={sha}",
        **({"patch": one.patch} if one.patch is not None else {}),
        **({"previous_filename": one.previous_filename} if one.previous_filename else {}),
    }


def permission(links: Links, state: State, repo: Repository, login: str) -> Json:
    """`repository-collaborator-permission`."""
    word, role = repo.permission_of(login), repo.role_of(login)
    base = repo.custom_roles.get(role, role)
    order = ("none", "read", "triage", "write", "maintain", "admin")
    grants = {"pull": "read", "triage": "triage", "push": "write", "maintain": "maintain", "admin": "admin"}
    granted = {name: order.index(base) >= order.index(least) for name, least in grants.items()}
    person = {**account(links, state, login), "permissions": granted, "role_name": role}
    return {"permission": word, "role_name": role, "user": person}
