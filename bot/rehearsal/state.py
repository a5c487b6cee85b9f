"""What the embedded GitHub remembers: plain data and questions about it. HTTP, JSON shapes and git never belong here.

The whole state is one Struct that JSON can hold, so that a rehearsal can be inspected and replayed.
"""

import base64
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, assert_never

import msgspec

ROLE_PERMISSION: Final = {
    "admin": "admin",
    "maintain": "write",
    "write": "write",
    "triage": "read",
    "read": "read",
    "none": "none",
}
"""`role_name` to the older `permission` word. Source: docs.github.com/en/rest/collaborators/collaborators."""
ACTIONS_APP: Final = "github-actions"
ACTIONS_LOGIN: Final = "github-actions[bot]"

Conclusion = Literal["action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out"]
Content = Literal["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"]
LengthUnit = Literal["characters", "utf16-units", "utf8-bytes"]


class Row(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Base of everything remembered; mutable, because a server's state is."""


class User(Row, kw_only=True):
    """An account. A bot's login ends in `[bot]`."""

    login: str
    id: int
    kind: Literal["User", "Bot", "Organization"] = "User"


class App(Row, kw_only=True):
    """A GitHub App; check runs belong to one."""

    slug: str
    id: int
    name: str
    owner: str
    login: str
    """The bot account that it acts as."""


class Token(Row, kw_only=True):
    """Who a request is from and what it was granted, in the words of a workflow's `permissions`."""

    login: str
    app: str | None = None
    """null for a person's token, which can write no check run."""
    permissions: dict[str, Literal["read", "write"]] = {}
    repository: str | None = None
    """The one repository that a `GITHUB_TOKEN` may write to; null for all."""


class Label(Row, kw_only=True):
    """A label definition of a repository."""

    id: int
    name: str
    color: str = "ededed"
    description: str | None = None
    default: bool = False


class Reaction(Row, kw_only=True):
    """A reaction to an issue or a comment."""

    id: int
    user: str
    content: Content
    created_at: datetime


class Comment(Row, kw_only=True):
    """A comment of the conversation."""

    id: int
    issue: int
    user: str
    body: str
    created_at: datetime
    updated_at: datetime
    app: str | None = None
    reactions: list[Reaction] = []


class ChangedFile(Row, kw_only=True):
    """One file of a diff, as the files API lists it."""

    filename: str
    status: Literal["added", "removed", "modified", "renamed", "copied", "changed", "unchanged"]
    sha: str
    additions: int
    deletions: int
    patch: str | None = None
    """Hunks only; null for binary and very large files."""
    previous_filename: str | None = None


class Pull(Row, kw_only=True):
    """What makes an issue a pull request."""

    head_repository: str | None
    """`owner/name`; null when that repository was deleted."""
    head_owner: str
    head_ref: str
    head_sha: str
    base_ref: str
    base_sha: str
    files: list[ChangedFile]
    commits: list[str]
    draft: bool = False
    mergeable: bool | None = True
    merge_commit_sha: str | None = None
    merged_at: datetime | None = None


class Issue(Row, kw_only=True):
    """An issue, and a pull request too."""

    number: int
    id: int
    title: str
    body: str | None
    user: str
    created_at: datetime
    updated_at: datetime
    state: Literal["open", "closed"] = "open"
    closed_at: datetime | None = None
    labels: list[str] = []
    reactions: list[Reaction] = []
    pull: Pull | None = None


class Person(Row, kw_only=True):
    """Author or committer as git writes it."""

    name: str
    email: str
    date: datetime


class Commit(Row, kw_only=True):
    """A git commit."""

    sha: str
    tree: str
    parents: list[str]
    message: str
    author: Person
    committer: Person
    files: list[ChangedFile] = []
    """Against the first parent."""


class Entry(Row, kw_only=True):
    """One path of a tree."""

    kind: Literal["file", "dir", "symlink", "submodule"]
    sha: str
    size: int = 0


class CheckSuite(Row, kw_only=True):
    """The check runs of one app on one commit."""

    id: int
    app: str
    head_sha: str


class Annotation(Row, kw_only=True):
    """One annotation of a check run."""

    path: str
    start_line: int
    end_line: int
    annotation_level: Literal["notice", "warning", "failure"]
    message: str
    start_column: int | None = None
    end_column: int | None = None
    title: str | None = None
    raw_details: str | None = None


class Output(Row, kw_only=True):
    """What a check run shows."""

    title: str | None = None
    summary: str | None = None
    text: str | None = None


class CheckRun(Row, kw_only=True):
    """One check run. `created_at` is the server's own clock; the app cannot set it and the API does not show it."""

    id: int
    name: str
    head_sha: str
    suite: int
    app: str
    status: Literal["queued", "in_progress", "completed", "waiting", "requested", "pending"]
    conclusion: Conclusion | None
    started_at: datetime | None
    completed_at: datetime | None
    created_at: datetime
    external_id: str | None = None
    details_url: str | None = None
    output: Output
    annotations: list[Annotation] = []


class Step(Row, kw_only=True):
    """One step of a job."""

    name: str
    number: int
    status: Literal["queued", "in_progress", "completed"] = "queued"
    conclusion: Conclusion | None = None


class Job(Row, kw_only=True):
    """One job of a workflow run."""

    id: int
    name: str
    status: Literal["queued", "in_progress", "completed"]
    created_at: datetime
    started_at: datetime
    conclusion: Conclusion | None = None
    completed_at: datetime | None = None
    labels: list[str] = []
    runner: str | None = None
    attempt: int = 1
    steps: list[Step] = []


class WorkflowRun(Row, kw_only=True):
    """One run of a workflow."""

    id: int
    head_sha: str
    head_branch: str
    event: str
    created_at: datetime
    name: str = "e2e"
    path: str = ".github/workflows/e2e.yml"
    status: Literal["queued", "in_progress", "completed"] = "in_progress"
    conclusion: Conclusion | None = None
    attempt: int = 1
    jobs: list[Job] = []
    cancel_requested: bool = False


class Repository(Row, kw_only=True):
    """One repository with everything in it."""

    id: int
    owner: str
    name: str
    default_branch: str
    clone_url: str
    created_at: datetime
    private: bool = False
    parent: str | None = None
    """`owner/name` of the repository that this is a fork of."""
    roles: dict[str, str] = {}
    """Login to role name. Everybody else may read a public repository."""
    custom_roles: dict[str, str] = {}
    """Name of an organization's own role to its base role."""
    labels: list[Label] = []
    issues: dict[int, Issue] = {}
    comments: dict[int, Comment] = {}
    refs: dict[str, str] = {}
    """`refs/heads/main` to a commit."""
    commits: dict[str, Commit] = {}
    trees: dict[str, dict[str, Entry]] = {}
    """Tree id to all paths below it."""
    blobs: dict[str, bytes] = {}
    diffs: dict[str, list[ChangedFile]] = {}
    """`<merge base>..<head>` to what the comparison lists."""
    check_suites: dict[int, CheckSuite] = {}
    check_runs: dict[int, CheckRun] = {}
    runs: dict[int, WorkflowRun] = {}

    @property
    def full_name(self) -> str:
        """`owner/name`."""
        return f"{self.owner}/{self.name}"

    def role_of(self, login: str) -> str:
        """The role's name; `read` for anyone on a public repository, `none` on a private one."""
        wanted = login.lower()
        known = {name.lower(): role for name, role in self.roles.items()}
        return known.get(wanted, "none" if self.private else "read")

    def permission_of(self, login: str) -> str:
        """`admin`, `write`, `read` or `none`."""
        role = self.role_of(login)
        return ROLE_PERMISSION[self.custom_roles.get(role, role)]

    def label(self, name: str) -> Label | None:
        """The definition; GitHub ignores case."""
        return next((label for label in self.labels if label.name.lower() == name.lower()), None)

    def resolve(self, ref: str) -> str | None:
        """The commit that a SHA, branch, tag or full ref name means here; null when there is none."""
        if ref in self.commits:
            return ref
        candidates = (ref, f"refs/{ref}", f"refs/heads/{ref}", f"refs/tags/{ref}")
        return next((self.refs[name] for name in candidates if name in self.refs), None)

    def ancestors(self, sha: str) -> dict[str, int]:
        """Every known commit reachable from `sha`, itself included, with its distance; nearest first."""
        seen = {sha: 0}
        queue = [sha]
        for current in queue:
            commit = self.commits.get(current)
            for parent in commit.parents if commit else ():
                if parent in self.commits and parent not in seen:
                    seen[parent] = seen[current] + 1
                    queue.append(parent)
        return seen

    def merge_base(self, base: str, head: str) -> str | None:
        """The nearest common ancestor; null for unrelated histories."""
        of_base = self.ancestors(base)
        return next((sha for sha in self.ancestors(head) if sha in of_base), None)

    def changed_between(self, merge_base: str, head: str) -> list[ChangedFile]:
        """Files that differ between a commit and one of its descendants.

        Raises:
            LookupError: when nobody has loaded that difference; an empty answer would be a lie.

        """
        if merge_base == head:
            return []
        if self.commits[head].parents[:1] == [merge_base]:
            return self.commits[head].files
        key = f"{merge_base}..{head}"
        if key not in self.diffs:
            message = f"{self.full_name} has no difference {key}: load it with build.load_diff"
            raise LookupError(message)
        return self.diffs[key]

    def tree_of(self, sha: str) -> Mapping[str, Entry]:
        """All paths of a commit, as far as they were loaded."""
        return self.trees.get(self.commits[sha].tree, {})

    def suite_for(self, app: str, head_sha: str) -> CheckSuite | None:
        """The app's suite on that commit."""
        return next((s for s in self.check_suites.values() if (s.app, s.head_sha) == (app, head_sha)), None)

    def checks_on(self, sha: str) -> Iterator[CheckRun]:
        """Check runs of a commit, newest id first."""
        return (run for _, run in sorted(self.check_runs.items(), reverse=True) if run.head_sha == sha)


class RateLimit(Row, kw_only=True):
    """The primary rate limit, counted over all requests. Source: GITHUB.md section 7."""

    limit: int = 1000
    used: int = 0
    reset_at: datetime | None = None


class State(Row, kw_only=True):
    """All that the server knows."""

    clock: datetime | None = None
    """The server's fixed time; null for the machine's own."""
    next_id: int = 1001
    length_unit: LengthUnit = "characters"
    """What the body limits count. GitHub does not say; tests can try each."""
    html_url: str = "https://github.com"
    rate: RateLimit = msgspec.field(default_factory=RateLimit)
    users: dict[str, User] = {}
    apps: dict[str, App] = {}
    tokens: dict[str, Token] = {}
    repositories: dict[str, Repository] = {}
    renamed: dict[str, str] = {}
    """Old full name, in lower case, to the new one."""

    def now(self) -> datetime:
        """The server's time, whole seconds, UTC."""
        return (self.clock or datetime.now(UTC)).replace(microsecond=0)

    def advance(self, seconds: float) -> datetime:
        """Move a fixed clock on, and say what it shows now."""
        self.clock = self.now() + timedelta(seconds=seconds)
        return self.clock

    def new_id(self) -> int:
        """An id that nothing else has; later ones are larger."""
        self.next_id += 1
        return self.next_id

    def user(self, login: str) -> User | None:
        """The account; GitHub ignores case."""
        return next((user for name, user in self.users.items() if name.lower() == login.lower()), None)

    def repository(self, full_name: str) -> Repository | None:
        """The repository; GitHub ignores case."""
        wanted = full_name.lower()
        return next((repo for name, repo in self.repositories.items() if name.lower() == wanted), None)

    def length(self, text: str) -> int:
        """The text's length in the unit that this server's limits count."""
        match self.length_unit:
            case "characters":
                return len(text)
            case "utf16-units":
                return len(text.encode("utf-16-le")) // 2
            case "utf8-bytes":
                return len(text.encode())
            case _:
                assert_never(self.length_unit)


def dump(state: State) -> bytes:
    """The state as JSON."""
    return msgspec.json.encode(state)


def load(data: bytes) -> State:
    """The state that `dump` wrote.

    Raises:
        msgspec.ValidationError: when it is not one.

    """
    return msgspec.json.decode(data, type=State)


def node_id(kind: str, number: int) -> str:
    """An opaque id in the form that GitHub's older ones have."""
    return base64.b64encode(f"0{len(kind)}:{kind}{number}".encode()).decode()
