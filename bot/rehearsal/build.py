"""Builds a state: people, apps, tokens, and repositories read from real git directories. Requests never belong here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from bot.rehearsal import gitread
from bot.rehearsal.state import (
    ACTIONS_APP,
    ACTIONS_LOGIN,
    App,
    ChangedFile,
    CheckRun,
    CheckSuite,
    Comment,
    Conclusion,
    Issue,
    Job,
    Label,
    Output,
    Pull,
    Repository,
    State,
    Token,
    User,
    WorkflowRun,
)

ACTIONS_APP_ID: Final = 15368
ACTIONS_USER_ID: Final = 41898282
"""Source: both are GitHub's own and the same in every repository."""
BOT_PERMISSIONS: Final[Mapping[str, Literal["read", "write"]]] = {
    "checks": "write",
    "contents": "read",
    "issues": "write",
    "pull-requests": "write",
    "actions": "write",
}


ROLES: Final[Mapping[str, str]] = {
    "ada": "admin",
    "mia": "maintain",
    "wim": "write",
    "tri": "triage",
    "rea": "read",
    "nona": "none",
}
"""One person of each role."""


def small(
    git_dir: Path,
    *,
    full_name: str = "NVIDIA-NeMo/Megatron-Bridge",
    head: str = "topic",
    author: str = "wim",
    clock: datetime | None = None,
) -> tuple[State, Repository, Issue]:
    """A state with one repository, one person of each role, and pull request 1 from branch `head` of `git_dir`."""
    state = new_state(clock)
    repo = add_repository(state, full_name, git_dir, roles=ROLES)
    return state, repo, open_pull(state, repo, git_dir, head=head, author=author)


def new_state(clock: datetime | None = None) -> State:
    """A state with the GitHub Actions app and nothing else. Without `clock` its time is the machine's."""
    state = State(clock=clock)
    add_user(state, "github", kind="Organization")
    add_app(state, ACTIONS_APP, name="GitHub Actions", owner="github", app_id=ACTIONS_APP_ID, user_id=ACTIONS_USER_ID)
    return state


def add_user(state: State, login: str, kind: Literal["User", "Bot", "Organization"] = "User") -> User:
    """The account, made if it is not there."""
    user = state.user(login) or User(login=login, id=state.new_id(), kind=kind)
    state.users[user.login] = user
    return user


def add_app(
    state: State,
    slug: str,
    *,
    name: str,
    owner: str,
    app_id: int | None = None,
    user_id: int | None = None,
) -> App:
    """A GitHub App with its bot account."""
    add_user(state, owner, kind="Organization")
    app = App(slug=slug, id=app_id or state.new_id(), name=name, owner=owner, login=f"{slug}[bot]")
    state.apps[slug] = app
    state.users[app.login] = User(login=app.login, id=user_id or state.new_id(), kind="Bot")
    return app


def grant(
    state: State,
    token: str,
    *,
    app: str | None = ACTIONS_APP,
    login: str = ACTIONS_LOGIN,
    permissions: Mapping[str, Literal["read", "write"]] = BOT_PERMISSIONS,
    repository: str | None = None,
) -> str:
    """Make `token` valid, as a job's `permissions:` would; the token again. A person's has `app=None` and a login."""
    who = state.apps[app].login if app else login
    state.tokens[token] = Token(login=who, app=app, permissions=dict(permissions), repository=repository)
    return token


def add_repository(
    state: State,
    full_name: str,
    git_dir: Path,
    *,
    default_branch: str = "main",
    roles: Mapping[str, str] | None = None,
    parent: str | None = None,
    private: bool = False,
    keep: Callable[[str], bool] = lambda _path: True,
) -> Repository:
    """A repository whose branches, commits and files are those of `git_dir`, which is also its clone address.

    `keep` chooses the paths whose bytes are served by the contents API. Of a large repository only the newest commits
    are there, and the branches that end in one of them.
    """
    owner, _, name = full_name.partition("/")
    if state.user(owner) is None:
        add_user(state, owner, kind="Organization")
    repo = Repository(
        id=state.new_id(),
        owner=owner,
        name=name,
        default_branch=default_branch,
        clone_url=git_dir.resolve().as_uri(),
        created_at=state.now(),
        private=private,
        parent=parent,
        roles=dict(roles or {}),
    )
    for login in repo.roles:
        add_user(state, login)
    state.repositories[full_name] = repo
    branches = gitread.branches(git_dir)
    load_commits(repo, git_dir, [branches[default_branch]])
    load_commits(repo, git_dir, branches.values())
    repo.refs |= {f"refs/heads/{name}": sha for name, sha in branches.items() if sha in repo.commits}
    load_tree(repo, git_dir, branches[default_branch], keep)
    return repo


def load_commits(repo: Repository, git_dir: Path, tips: Iterable[str]) -> None:
    """Add the newest commits reachable from `tips`, with the files that each changed."""
    repo.commits |= gitread.commits(git_dir, list(tips), known=frozenset(repo.commits))


def load_diff(repo: Repository, git_dir: Path, base: str, head: str) -> list[ChangedFile]:
    """Make the comparison of two commits answerable; its files. `base` is an ancestor of `head`."""
    files = gitread.diff(git_dir, base, head)
    repo.diffs[f"{base}..{head}"] = files
    return files


def load_tree(repo: Repository, git_dir: Path, sha: str, keep: Callable[[str], bool] = lambda _path: True) -> None:
    """Make the files of a commit readable by the contents API."""
    tree = gitread.tree(git_dir, sha)
    repo.trees[repo.commits[sha].tree] = tree
    wanted = {entry.sha for path, entry in tree.items() if entry.kind in {"file", "symlink"} and keep(path)}
    repo.blobs |= gitread.blobs(git_dir, sorted(wanted - set(repo.blobs)))


def open_pull(
    state: State,
    repo: Repository,
    git_dir: Path,
    *,
    head: str,
    author: str,
    number: int | None = None,
    base: str | None = None,
    head_repository: str | None = "",
) -> Issue:
    """A pull request for branch `head` of `git_dir`, with the files and patches that git reports from the merge base.

    `head_repository` is empty for a branch of `repo` itself, a fork's name, or null when the fork was deleted.
    Title, body, draft and the like can be set on what is returned.
    """
    add_user(state, author)
    now, base_ref = state.now(), base or repo.default_branch
    source = repo.full_name if head_repository == "" else head_repository
    issue = Issue(
        number=number or max(repo.issues, default=0) + 1,
        id=state.new_id(),
        title="A small change",
        body=None,
        user=author,
        created_at=now,
        updated_at=now,
        pull=Pull(
            head_repository=source,
            head_owner=source.partition("/")[0] if source else author,
            head_ref=head,
            head_sha="",
            base_ref=base_ref,
            base_sha=repo.refs[f"refs/heads/{base_ref}"],
            files=[],
            commits=[],
        ),
    )
    repo.issues[issue.number] = issue
    push(state, repo, git_dir, issue.number, gitread.resolve(git_dir, head))
    return issue


def push(state: State, repo: Repository, git_dir: Path, number: int, sha: str) -> None:
    """New commits on a pull request: its head, files and commits become those of `sha`."""
    issue = repo.issues[number]
    pull = issue.pull
    if pull is None:
        message = f"#{number} is an issue"
        raise ValueError(message)
    load_commits(repo, git_dir, [sha])
    load_tree(repo, git_dir, sha)
    merge_base = repo.merge_base(pull.base_sha, sha)
    if merge_base is None:
        message = f"{sha} has no common ancestor with {pull.base_sha}"
        raise ValueError(message)
    pull.head_sha = repo.refs[f"refs/pull/{number}/head"] = sha
    if pull.head_repository == repo.full_name:
        repo.refs[f"refs/heads/{pull.head_ref}"] = sha
    fork = state.repository(pull.head_repository) if pull.head_repository else None
    if fork and fork is not repo:
        fork.commits |= {known: repo.commits[known] for known in repo.ancestors(sha)}
        fork.refs[f"refs/heads/{pull.head_ref}"] = sha
    pull.commits = [known for known in repo.ancestors(sha) if known not in repo.ancestors(merge_base)][::-1]
    pull.files = load_diff(repo, git_dir, merge_base, sha)
    issue.updated_at = state.now()


def put_label(state: State, repo: Repository, number: int, *names: str) -> None:
    """Labels on an issue or pull request, defined in the repository where they were not."""
    for name in names:
        if repo.label(name) is None:
            repo.labels.append(Label(id=state.new_id(), name=name))
        if name not in repo.issues[number].labels:
            repo.issues[number].labels.append(name)
    repo.issues[number].updated_at = state.now()


def add_comment(
    state: State, repo: Repository, number: int, *, author: str, body: str, app: str | None = None
) -> Comment:
    """A comment made at the server's present time."""
    add_user(state, author)
    now = state.now()
    comment = Comment(id=state.new_id(), issue=number, user=author, app=app, body=body, created_at=now, updated_at=now)
    repo.comments[comment.id] = comment
    repo.issues[number].updated_at = now
    return comment


def add_check(
    state: State,
    repo: Repository,
    head_sha: str,
    *,
    name: str = "bridge-e2e",
    app: str = ACTIONS_APP,
    at: datetime | None = None,
    conclusion: Conclusion | None = None,
    external_id: str | None = None,
) -> CheckRun:
    """A check run that was there before, made (and, with a conclusion, completed) at `at`."""
    moment = at or state.now()
    suite = repo.suite_for(app, head_sha) or CheckSuite(id=state.new_id(), app=app, head_sha=head_sha)
    repo.check_suites[suite.id] = suite
    run = CheckRun(
        id=state.new_id(),
        name=name,
        head_sha=head_sha,
        suite=suite.id,
        app=app,
        status="completed" if conclusion else "in_progress",
        conclusion=conclusion,
        started_at=moment,
        completed_at=moment if conclusion else None,
        created_at=moment,
        external_id=external_id,
        output=Output(),
    )
    repo.check_runs[run.id] = run
    return run


def add_run(
    state: State, repo: Repository, head_sha: str, *, event: str, jobs: Sequence[str] = (), run_id: int | None = None
) -> WorkflowRun:
    """A workflow run in progress, with its jobs queued."""
    now = state.now()
    run = WorkflowRun(
        id=run_id or state.new_id(),
        head_sha=head_sha,
        head_branch=repo.default_branch,
        event=event,
        created_at=now,
        jobs=[Job(id=state.new_id(), name=name, status="queued", created_at=now, started_at=now) for name in jobs],
    )
    repo.runs[run.id] = run
    return run


def end_run(state: State, run: WorkflowRun, conclusion: Conclusion) -> None:
    """The run is over; what had not ended ends like it."""
    now = state.now()
    run.status, run.conclusion = "completed", conclusion
    for job in run.jobs:
        if job.status != "completed":
            job.status, job.conclusion, job.completed_at = "completed", conclusion, now


def rename(state: State, repo: Repository, full_name: str) -> None:
    """The repository gets another name; GitHub sends on who asks under the old one."""
    old = repo.full_name
    del state.repositories[old]
    repo.owner, _, repo.name = full_name.partition("/")
    state.repositories[full_name] = repo
    state.renamed[old.lower()] = full_name
    for token in state.tokens.values():
        if token.repository == old:
            token.repository = full_name
