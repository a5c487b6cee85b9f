"""Which address does what, and which permission it needs. HTTP and faults never belong here."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from bot.rehearsal.call import Answer, Call, Problem, not_found
from bot.rehearsal.endpoints import actions, checks, codebase, conversation
from bot.rehearsal.state import State, Token
from bot.rehearsal.views import Links

REPO: Final = "/repos/{owner}/{repo}"
ISSUE: Final = f"{REPO}/issues/{{issue_number}}"
COMMENT: Final = f"{REPO}/issues/comments/{{comment_id}}"
PULL: Final = f"{REPO}/pulls/{{pull_number}}"
RUN: Final = f"{REPO}/actions/runs/{{run_id}}"
SLASHED: Final = frozenset({"path", "ref", "basehead"})
"""Parameters that may contain a slash."""
WRITES: Final = frozenset({"POST", "PATCH", "PUT", "DELETE"})


class Route(NamedTuple):
    """One operation. `scope` is the permission of a workflow's token; `conversation` means issues or pull-requests."""

    method: str
    template: str
    does: Callable[[Call], Answer]
    scope: str = "metadata"


ROUTES: Final = (
    Route("GET", "/user", codebase.get_user),
    Route("GET", "/rate_limit", codebase.get_rate_limit),
    Route("GET", REPO, codebase.get_repository),
    Route("GET", f"{REPO}/collaborators/{{username}}/permission", conversation.get_permission),
    Route("GET", f"{REPO}/commits/{{ref}}/check-runs", checks.list_check_runs, "checks"),
    Route("GET", f"{REPO}/commits/{{ref}}", codebase.get_commit, "contents"),
    Route("GET", f"{REPO}/compare/{{basehead}}", codebase.compare, "contents"),
    Route("GET", f"{REPO}/contents/{{path}}", codebase.get_content, "contents"),
    Route("GET", f"{REPO}/git/ref/{{ref}}", codebase.get_ref, "contents"),
    Route("GET", f"{REPO}/git/matching-refs/{{ref}}", codebase.list_matching_refs, "contents"),
    Route("GET", PULL, conversation.get_pull, "pull-requests"),
    Route("GET", f"{PULL}/files", conversation.list_files, "pull-requests"),
    # Before the issue: a word is no number.
    Route("GET", f"{REPO}/issues/comments", conversation.list_all_comments),
    Route("GET", ISSUE, conversation.get_issue, "conversation"),
    Route("GET", f"{ISSUE}/comments", conversation.list_comments, "conversation"),
    Route("POST", f"{ISSUE}/comments", conversation.create_comment, "conversation"),
    Route("GET", COMMENT, conversation.get_comment, "conversation"),
    Route("PATCH", COMMENT, conversation.update_comment, "conversation"),
    Route("DELETE", COMMENT, conversation.delete_comment, "conversation"),
    Route("GET", f"{COMMENT}/reactions", conversation.list_comment_reactions, "conversation"),
    Route("POST", f"{COMMENT}/reactions", conversation.react_to_comment, "conversation"),
    Route("GET", f"{ISSUE}/reactions", conversation.list_issue_reactions, "conversation"),
    Route("POST", f"{ISSUE}/reactions", conversation.react_to_issue, "conversation"),
    Route("GET", f"{ISSUE}/labels", conversation.list_labels, "conversation"),
    Route("POST", f"{ISSUE}/labels", conversation.add_labels, "conversation"),
    Route("DELETE", f"{ISSUE}/labels/{{name}}", conversation.remove_label, "conversation"),
    Route("POST", f"{REPO}/check-runs", checks.create_check_run, "checks"),
    Route("GET", f"{REPO}/check-runs/{{check_run_id}}", checks.get_check_run, "checks"),
    Route("PATCH", f"{REPO}/check-runs/{{check_run_id}}", checks.update_check_run, "checks"),
    Route("GET", f"{REPO}/check-runs/{{check_run_id}}/annotations", checks.list_annotations, "checks"),
    Route("GET", f"{REPO}/actions/runs", actions.list_runs, "actions"),
    Route("GET", RUN, actions.get_run, "actions"),
    Route("GET", f"{RUN}/jobs", actions.list_jobs, "actions"),
    Route("POST", f"{RUN}/cancel", actions.cancel_run, "actions"),
)


def _pattern(template: str) -> re.Pattern[str]:
    def group(match: re.Match[str]) -> str:
        name = match.group(1)
        return f"(?P<{name}>{'.+' if name in SLASHED else '[^/]+'})"

    return re.compile(re.sub(r"\{(\w+)\}", group, template) + r"\Z")


_COMPILED: Final = tuple((route, _pattern(route.template)) for route in ROUTES)


def find(method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """The route and its unquoted parameters; null when this server has no such operation."""
    for route, pattern in _COMPILED:
        match = pattern.match(path) if route.method == method else None
        if match:
            return route, {name: unquote(value) for name, value in match.groupdict().items()}
    root = re.fullmatch(r"(/repos/[^/]+/[^/]+/contents)/?", path)
    if root and method == "GET":
        found = find(method, f"{root.group(1)}/.")
        return (found[0], {**found[1], "path": ""}) if found else None
    return None


def _about_pull(call: Call) -> bool:
    """True when the conversation of this address is a pull request's."""
    repo = call.repo
    if "comment_id" in call.params:
        comment = repo.comments.get(call.number("comment_id"))
        issue = repo.issues.get(comment.issue) if comment else None
    else:
        issue = repo.issues.get(call.number("issue_number"))
    return bool(issue and issue.pull)


def authorize(route: Route, call: Call) -> None:
    """Return when the token may do this.

    A public repository is readable by everyone; a token with an app writes by its permissions, and only in its own
    repository; a person's token also needs the person's role.

    Raises:
        Problem: 401, 403, or 404 where GitHub hides that something exists.

    """
    if "{repo}" not in route.template:
        return
    repo, write = call.repo, route.method in WRITES
    if not write and (not repo.private or route.scope == "metadata"):
        return
    token = call.actor
    scopes = {"conversation": ("issues", "pull-requests"), "metadata": ()}.get(route.scope, (route.scope,))
    if route.scope == "conversation" and not _about_pull(call):
        scopes = ("issues",)
    levels = {"write"} if write else {"read", "write"}
    here = not write or token.repository is None or token.repository.lower() == repo.full_name.lower()
    if not here or not any(token.permissions.get(scope) in levels for scope in scopes):
        kind = "integration" if token.app else "personal access token"
        raise Problem(403, f"Resource not accessible by {kind}")


def authenticate(state: State, header: str | None) -> Token | None:
    """Who the Authorization header names; null without one.

    Raises:
        Problem: 401 for a token that the state does not know.

    """
    if header is None:
        return None
    scheme, _, value = header.partition(" ")
    token = state.tokens.get(value.strip()) if scheme.lower() in {"token", "bearer"} else None
    if token is None:
        raise Problem(401, "Bad credentials")
    return token


def _moved(state: State, links: Links, path: str, params: Mapping[str, str]) -> Answer | None:
    """The way to a repository's new name; null for one that is where it was."""
    old = f"{params.get('owner')}/{params.get('repo')}"
    new = state.renamed.get(old.lower())
    if new is None:
        return None
    url = links.api + path.replace(f"/repos/{old}", f"/repos/{new}", 1)
    return Answer(status=301, body={"message": "Moved Permanently", "url": url}, headers={"Location": url})


class Outcome(NamedTuple):
    """An answer with what is worth writing down about it."""

    answer: Answer
    route: Route | None
    """null when this server has no such operation."""
    token: Token | None


class Request(NamedTuple):
    """A request as it came in. `path` is still quoted."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    authorization: str | None


def answer(state: State, links: Links, request: Request) -> Outcome:
    """The outcome of one request; the state is changed on the way."""
    found = find(request.method, request.path)
    route, params = found or (None, {})
    token = None
    try:
        token = authenticate(state, request.authorization)
        if route is None:
            raise not_found()
        moved = _moved(state, links, request.path, params)
        if moved is not None:
            return Outcome(moved, route, token)
        call = Call(
            state=state,
            links=links,
            path=request.path,
            params=params,
            query=request.query,
            body=request.body,
            token=token,
        )
        authorize(route, call)
        return Outcome(route.does(call), route, token)
    except Problem as problem:
        return Outcome(problem.answer, route, token)
