"""Real PyGithub against every operation, each answer held against GitHub's description."""

from collections.abc import Callable
from typing import Any

import pytest
from github.CheckRun import CheckRun
from github.ContentFile import ContentFile
from github.IssueComment import IssueComment
from github.Repository import Repository

from bot.rehearsal import build
from bot.rehearsal.routes import COMMENT, ISSUE, PULL, REPO, ROUTES, RUN
from tests.bot.rehearsal.conftest import PERSONAL, TOKEN, Opened, Session, World

Result = Any
"""Whatever the call shows of its answer; the expected value beside it is of the same shape."""
Call = Callable[[Repository, World, Session], Result]
TABLE: dict[tuple[str, str], tuple[Call, Result]] = {}
ANNOTATION = {"path": "src/a.py", "start_line": 1, "end_line": 1, "annotation_level": "warning", "message": "m"}
OUTPUT = {"title": "t", "summary": "s", "text": "x", "annotations": [ANNOTATION]}


def operation(method: str, template: str, expected: Result) -> Callable[[Call], Call]:
    """Put the call into the table."""

    def register(call: Call) -> Call:
        TABLE[method, template] = (call, expected)
        return call

    return register


def new_check(repo: Repository, world: World) -> CheckRun:
    return repo.create_check_run("bridge-e2e", head_sha=world.head, status="in_progress", external_id="bridge-e2e:p:1")


def new_comment(repo: Repository) -> IssueComment:
    return repo.get_pull(1).create_issue_comment("a")


@operation("GET", "/user", "mia")
def _(_repo: Repository, _world: World, session: Session) -> Result:
    return session.github.get_user().login


@operation("GET", "/rate_limit", 1000)
def _(_repo: Repository, _world: World, session: Session) -> Result:
    return session.github.get_rate_limit().rate.limit


@operation("GET", REPO, ("NVIDIA-NeMo/Megatron-Bridge", "main", True))
def _(repo: Repository, world: World, _session: Session) -> Result:
    return repo.full_name, repo.default_branch, repo.clone_url == world.git.path.as_uri()


@operation(
    "GET",
    f"{REPO}/collaborators/{{username}}/permission",
    {
        "ada": ("admin", "admin"),
        "mia": ("write", "maintain"),
        "wim": ("write", "write"),
        "tri": ("read", "triage"),
        "rea": ("read", "read"),
        "nona": ("none", "none"),
    },
)
def _(repo: Repository, _world: World, _session: Session) -> Result:
    return {n: (repo.get_collaborator_permission(n), repo.get_collaborator_role_name(n)) for n in build.ROLES}


@operation("GET", f"{REPO}/commits/{{ref}}", ["src/a.py", "src/new.py"])
def _(repo: Repository, world: World, _session: Session) -> Result:
    return [file.filename for file in repo.get_commit(world.head).files]


@operation("GET", f"{REPO}/commits/{{ref}}/check-runs", [("bridge-e2e", "bridge-e2e:p:1")])
def _(repo: Repository, world: World, _session: Session) -> Result:
    new_check(repo, world)
    return [(run.name, run.external_id) for run in repo.get_commit(world.head).get_check_runs(filter="all")]


@operation("GET", f"{REPO}/compare/{{basehead}}", ("ahead", 1, 0, ["src/a.py", "src/new.py"], ["topic"]))
def _(repo: Repository, world: World, _session: Session) -> Result:
    found = repo.compare("main", world.head)
    messages = [commit.commit.message for commit in found.commits]
    return found.status, found.ahead_by, found.behind_by, [file.filename for file in found.files], messages


@operation("GET", f"{REPO}/contents/{{path}}", (b"labels: {}\n", [".github", "README.md", "src"]))
def _(repo: Repository, _world: World, _session: Session) -> Result:
    file, listing = repo.get_contents(".github/bridge-e2e.yml", ref="main"), repo.get_contents("")
    assert isinstance(file, ContentFile)
    assert isinstance(listing, list)
    return file.decoded_content, [entry.path for entry in listing]


@operation("GET", f"{REPO}/git/ref/{{ref}}", [True, True])
def _(repo: Repository, world: World, _session: Session) -> Result:
    return [repo.get_git_ref(name).object.sha == world.head for name in ("heads/topic", "pull/1/head")]


@operation("GET", PULL, (1, "topic", "main", 2, "NVIDIA-NeMo/Megatron-Bridge", False))
def _(repo: Repository, _world: World, _session: Session) -> Result:
    pull = repo.get_pull(1)
    return pull.number, pull.head.ref, pull.base.ref, pull.changed_files, pull.head.repo.full_name, pull.draft


@operation("GET", f"{PULL}/files", [("src/a.py", "modified", 1, 1), ("src/new.py", "added", 1, 0)])
def _(repo: Repository, _world: World, _session: Session) -> Result:
    return [(file.filename, file.status, file.additions, file.deletions) for file in repo.get_pull(1).get_files()]


@operation("GET", ISSUE, (True, "A small change"))
def _(repo: Repository, _world: World, _session: Session) -> Result:
    issue = repo.get_issue(1)
    return issue.pull_request is not None, issue.title


@operation("GET", f"{ISSUE}/comments", ["a", "a"])
def _(repo: Repository, _world: World, _session: Session) -> Result:
    new_comment(repo)
    new_comment(repo)
    return [comment.body for comment in repo.get_pull(1).get_issue_comments()]


@operation("POST", f"{ISSUE}/comments", ("github-actions[bot]", "a"))
def _(repo: Repository, _world: World, _session: Session) -> Result:
    comment = new_comment(repo)
    return comment.user.login, comment.body


@operation("GET", COMMENT, "a")
def _(repo: Repository, _world: World, _session: Session) -> Result:
    return repo.get_issue(1).get_comment(new_comment(repo).id).body


@operation("PATCH", COMMENT, ["b"])
def _(repo: Repository, world: World, _session: Session) -> Result:
    new_comment(repo).edit("b")
    return [comment.body for comment in world.repo.comments.values()]


@operation("DELETE", COMMENT, {})
def _(repo: Repository, world: World, _session: Session) -> Result:
    new_comment(repo).delete()
    return world.repo.comments


@operation("POST", f"{COMMENT}/reactions", "eyes")
def _(repo: Repository, _world: World, _session: Session) -> Result:
    return new_comment(repo).create_reaction("eyes").content


@operation("GET", f"{COMMENT}/reactions", ["rocket"])
def _(repo: Repository, _world: World, _session: Session) -> Result:
    comment = new_comment(repo)
    comment.create_reaction("rocket")
    return [reaction.content for reaction in comment.get_reactions()]


@operation("POST", f"{ISSUE}/reactions", 1)
def _(repo: Repository, world: World, _session: Session) -> Result:
    repo.get_issue(1).create_reaction("+1")
    repo.get_issue(1).create_reaction("+1")
    return len(world.pull.reactions)


@operation("GET", f"{ISSUE}/reactions", ["github-actions[bot]"])
def _(repo: Repository, _world: World, _session: Session) -> Result:
    repo.get_issue(1).create_reaction("-1")
    return [reaction.user.login for reaction in repo.get_issue(1).get_reactions()]


@operation("GET", f"{ISSUE}/labels", ["verl-e2e"])
def _(repo: Repository, world: World, _session: Session) -> Result:
    build.put_label(world.state, world.repo, 1, "verl-e2e")
    return [label.name for label in repo.get_pull(1).get_labels()]


@operation("POST", f"{ISSUE}/labels", ["verl-e2e", "a b"])
def _(repo: Repository, world: World, _session: Session) -> Result:
    repo.get_pull(1).add_to_labels("verl-e2e", "a b")
    return world.pull.labels


@operation("DELETE", f"{ISSUE}/labels/{{name}}", ["verl-e2e"])
def _(repo: Repository, world: World, _session: Session) -> Result:
    build.put_label(world.state, world.repo, 1, "verl-e2e", "a b")
    repo.get_pull(1).remove_from_labels("A B")
    return world.pull.labels


@operation("POST", f"{REPO}/check-runs", ("in_progress", None, "github-actions", "bridge-e2e:p:1"))
def _(repo: Repository, world: World, _session: Session) -> Result:
    run = new_check(repo, world)
    return run.status, run.conclusion, run.app.slug, run.external_id


@operation("GET", f"{REPO}/check-runs/{{check_run_id}}", "bridge-e2e")
def _(repo: Repository, world: World, _session: Session) -> Result:
    return repo.get_check_run(new_check(repo, world).id).name


@operation("PATCH", f"{REPO}/check-runs/{{check_run_id}}", ("completed", "success", "t"))
def _(repo: Repository, world: World, _session: Session) -> Result:
    run = new_check(repo, world)
    run.edit(conclusion="success", output=OUTPUT)
    return run.status, run.conclusion, run.output.title


@operation("GET", f"{REPO}/check-runs/{{check_run_id}}/annotations", ["m", "m"])
def _(repo: Repository, world: World, _session: Session) -> Result:
    run = new_check(repo, world)
    run.edit(output=OUTPUT)
    run.edit(output=OUTPUT)
    return [annotation.message for annotation in run.get_annotations()]


@operation("GET", f"{REPO}/issues/comments", ["second", "first"])
def _(repo: Repository, world: World, _session: Session) -> Result:
    for body in ("first", "second"):
        build.add_comment(world.state, world.repo, 1, author="wim", body=body)
    return [comment.body for comment in repo.get_issues_comments(sort="updated", direction="desc")]


@operation("GET", f"{REPO}/git/matching-refs/{{ref}}", ["refs/heads/main"])
def _(repo: Repository, _world: World, _session: Session) -> Result:
    _, rows = repo.requester.requestJsonAndCheck("GET", f"{repo.url}/git/matching-refs/heads/ma")
    return [row["ref"] for row in rows]


@operation("GET", f"{REPO}/actions/runs", [77])
def _(repo: Repository, world: World, _session: Session) -> Result:
    build.add_run(world.state, world.repo, world.head, event="push", run_id=78)
    return [run.id for run in repo.get_workflow_runs(event="pull_request_target")]


@operation("GET", RUN, "pull_request_target")
def _(repo: Repository, _world: World, _session: Session) -> Result:
    return repo.get_workflow_run(77).event


@operation("GET", f"{RUN}/jobs", ["plan", "report"])
def _(repo: Repository, _world: World, _session: Session) -> Result:
    return [job.name for job in repo.get_workflow_run(77).jobs()]


@operation("POST", f"{RUN}/cancel", (True, True))
def _(repo: Repository, world: World, _session: Session) -> Result:
    return repo.get_workflow_run(77).cancel(), world.repo.runs[77].cancel_requested


@pytest.mark.parametrize("key", TABLE, ids=" ".join)
def test_pygithub_gets_what_it_asks_for(key: tuple[str, str], world: World, opened: Opened) -> None:
    call, expected = TABLE[key]
    build.add_run(world.state, world.repo, world.head, event="pull_request_target", jobs=("plan", "report"), run_id=77)
    with opened(token=PERSONAL if key == ("GET", "/user") else TOKEN) as session:
        assert call(session.github.get_repo(world.repo.full_name), world, session) == expected
        assert key in {(method, template) for method, template, _ in session.checker.checked}


def test_the_table_has_every_operation() -> None:
    assert set(TABLE) == {(route.method, route.template) for route in ROUTES}
