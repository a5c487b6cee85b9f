"""Endpoints of issues, pull requests, comments, labels and reactions."""

from typing import Final, get_args

import msgspec

from bot.rehearsal import views
from bot.rehearsal.call import Answer, Call, Problem, invalid, not_found
from bot.rehearsal.state import Comment, Content, Issue, Label, Pull, Reaction

MAX_BODY: Final = 65_536
"""Source: GITHUB.md section 6; peter-evans/create-or-update-comment#181."""
MAX_FILES: Final = 3_000
"""Source: docs.github.com/en/rest/pulls/pulls#list-pull-requests-files."""
MAX_LABEL: Final = 50


def get_issue(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/issues/{issue_number}."""
    return Answer(body=views.issue(call.links, call.state, call.repo, call.issue()))


def _pull(call: Call) -> tuple[Issue, Pull]:
    issue = call.repo.issues.get(call.number("pull_number"))
    if issue is None or issue.pull is None:
        raise not_found()
    return issue, issue.pull


def get_pull(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/pulls/{pull_number}."""
    return Answer(body=views.pull_request(call.links, call.state, call.repo, *_pull(call)))


def list_files(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/pulls/{pull_number}/files: 3,000 at most, without a word about the rest."""
    _, pull = _pull(call)
    files = pull.files[:MAX_FILES]
    page = call.page()
    rows = [views.changed_file(call.links, call.repo, pull.head_sha, file) for file in files[page]]
    return Answer(body=rows, headers=call.link_header(len(files), page))


def _body(call: Call) -> str:
    body = call.fields().get("body")
    if not isinstance(body, str) or not body.strip():
        raise invalid("IssueComment", "body", "missing_field")
    if call.state.length(body) > MAX_BODY:
        raise invalid("IssueComment", "body", "custom", f"body is too long (maximum is {MAX_BODY} characters)")
    return body


def _comment(call: Call) -> Comment:
    comment = call.repo.comments.get(call.number("comment_id"))
    if comment is None:
        raise not_found()
    return comment


def _shown(call: Call, comment: Comment, status: int = 200) -> Answer:
    return Answer(status=status, body=views.comment(call.links, call.state, call.repo, comment))


def list_comments(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/issues/{issue_number}/comments: oldest first."""
    number = call.issue().number
    since = call.query.get("since", "")
    found = [one for _, one in sorted(call.repo.comments.items()) if one.issue == number]
    kept = [one for one in found if views.stamp(one.updated_at) >= since]
    return call.listing([views.comment(call.links, call.state, call.repo, one) for one in kept])


def list_all_comments(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/issues/comments: of every issue and pull request."""
    since, by_update = call.query.get("since", ""), call.query.get("sort") == "updated"
    found = sorted(
        call.repo.comments.values(), key=lambda one: (one.updated_at if by_update else one.created_at, one.id)
    )
    kept = [one for one in found if views.stamp(one.updated_at) >= since]
    ordered = kept[::-1] if call.query.get("direction") == "desc" else kept
    return call.listing([views.comment(call.links, call.state, call.repo, one) for one in ordered])


def get_comment(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/issues/comments/{comment_id}."""
    return _shown(call, _comment(call))


def create_comment(call: Call) -> Answer:
    """POST /repos/{owner}/{repo}/issues/{issue_number}/comments."""
    issue, body, now = call.issue(), _body(call), call.state.now()
    comment = Comment(
        id=call.state.new_id(),
        issue=issue.number,
        user=call.actor.login,
        app=call.actor.app,
        body=body,
        created_at=now,
        updated_at=now,
    )
    call.repo.comments[comment.id] = comment
    issue.updated_at = now
    return _shown(call, comment, 201)


def update_comment(call: Call) -> Answer:
    """PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}: anybody's, with write permission."""
    comment = _comment(call)
    comment.body = _body(call)
    comment.updated_at = call.state.now()
    return _shown(call, comment)


def delete_comment(call: Call) -> Answer:
    """DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}."""
    del call.repo.comments[_comment(call).id]
    return Answer(status=204)


def _react(call: Call, reactions: list[Reaction]) -> Answer:
    """201 for a new reaction, 200 when the same person had already left it."""
    content = call.fields().get("content")
    if content not in get_args(Content):
        raise invalid("Reaction", "content", "invalid")
    mine = [one for one in reactions if (one.user, one.content) == (call.actor.login, content)]
    if not mine:
        kind = msgspec.convert(content, Content)
        new = Reaction(id=call.state.new_id(), user=call.actor.login, content=kind, created_at=call.state.now())
        reactions.append(new)
    shown = views.reaction(call.links, call.state, mine[0] if mine else reactions[-1])
    return Answer(status=200 if mine else 201, body=shown)


def _reactions(call: Call, reactions: list[Reaction]) -> Answer:
    wanted = call.query.get("content")
    kept = [one for one in reactions if wanted in {None, one.content}]
    return call.listing([views.reaction(call.links, call.state, one) for one in kept])


def react_to_comment(call: Call) -> Answer:
    """POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions."""
    return _react(call, _comment(call).reactions)


def react_to_issue(call: Call) -> Answer:
    """POST /repos/{owner}/{repo}/issues/{issue_number}/reactions."""
    return _react(call, call.issue().reactions)


def list_comment_reactions(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions."""
    return _reactions(call, _comment(call).reactions)


def list_issue_reactions(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/issues/{issue_number}/reactions."""
    return _reactions(call, call.issue().reactions)


def list_labels(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/issues/{issue_number}/labels."""
    return call.listing(views.labels(call.links, call.repo, call.issue()))


def _wanted_labels(call: Call) -> list[str]:
    """The names of the request: a list, or an object with `labels`; each a string or an object with `name`."""
    given = call.body if isinstance(call.body, list) else call.fields().get("labels")
    rows = given if isinstance(given, list) else []
    names = [row.get("name") if isinstance(row, dict) else row for row in rows]
    texts = [name for name in names if isinstance(name, str) and 0 < len(name) <= MAX_LABEL]
    if not names or len(texts) != len(names):
        raise invalid("Label", "name", "invalid")
    return texts


def add_labels(call: Call) -> Answer:
    """POST /repos/{owner}/{repo}/issues/{issue_number}/labels; unknown ones are defined on the way."""
    repo, issue = call.repo, call.issue()
    for name in _wanted_labels(call):
        label = repo.label(name)
        if label is None:
            label = Label(id=call.state.new_id(), name=name)
            repo.labels.append(label)
        if label.name not in issue.labels:
            issue.labels.append(label.name)
    issue.updated_at = call.state.now()
    return Answer(body=views.labels(call.links, repo, issue))


def remove_label(call: Call) -> Answer:
    """DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name}."""
    repo, issue = call.repo, call.issue()
    label = repo.label(call.params["name"])
    if label is None or label.name not in issue.labels:
        raise Problem(404, "Label does not exist")
    issue.labels.remove(label.name)
    issue.updated_at = call.state.now()
    return Answer(body=views.labels(call.links, repo, issue))


def get_permission(call: Call) -> Answer:
    """GET /repos/{owner}/{repo}/collaborators/{username}/permission."""
    login, repo, _ = call.params["username"], call.repo, call.actor
    account = call.state.user(login)
    if account is None:
        raise Problem(404, f"{login} is not a user")
    return Answer(body=views.permission(call.links, call.state, repo, account.login))
