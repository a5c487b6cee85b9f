"""What this zone needs of GitHub, as small Protocols and plain records. No HTTP and no PyGithub here."""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Literal, Protocol

from bot.events import Pull
from bot.roles import Role
from levels.errors import GitHubError
from levels.model import Commit, Record


class NotFoundError(GitHubError):
    """GitHub says 404: the thing is not there, or the token may not see it."""


class ConflictError(GitHubError):
    """GitHub says 409: the thing is not in a state for that, such as a run that is over and is to be cancelled."""


class ChangedFile(Record, frozen=True, kw_only=True):
    """One file of a pull request or of a comparison, in GitHub's words."""

    path: str
    previous_path: str | None
    status: str
    lines: int
    """Added plus removed lines, by GitHub's count."""
    patch: str | None
    """Null for binary and very large files."""


class ChangedFiles(Record, frozen=True, kw_only=True):
    """A file list. `truncated` when GitHub did not show all of it."""

    files: tuple[ChangedFile, ...]
    truncated: bool


class CheckStatus(StrEnum):
    """State of a check run that we may set. Source: GITHUB.md section 3."""

    QUEUED = "queued"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class CheckConclusion(StrEnum):
    """Conclusions that we write. `neutral` and `skipped` satisfy a required check, so they are not among them."""

    SUCCESS = "success"
    FAILURE = "failure"
    ACTION_REQUIRED = "action_required"
    CANCELLED = "cancelled"


class CheckRun(Record, frozen=True, kw_only=True):
    """A check run as GitHub holds it."""

    id: int
    name: str
    status: str
    conclusion: str | None
    external_id: str
    since: datetime | None
    """`started_at`."""
    author: str
    """Login of the app that made it, as in `github-actions[bot]`."""
    completed: datetime | None = None
    """`completed_at`."""
    title: str = ""
    summary: str = ""
    text: str = ""
    url: str | None = None
    """Its page."""
    details_url: str | None = None
    annotations: int = 0
    """How many it has. Each update adds to them."""


class Annotation(Record, frozen=True, kw_only=True):
    """A message beside one line of a file of the checkout."""

    path: str
    line: int
    level: Literal["notice", "warning", "failure"]
    title: str
    message: str


class CheckPayload(Record, frozen=True, kw_only=True):
    """A check run as we want it. `conclusion` is set exactly when it is completed."""

    name: str
    head: Commit
    external_id: str
    status: CheckStatus
    conclusion: CheckConclusion | None
    title: str
    summary: str
    details_url: str | None
    text: str = ""
    """Not for people: what later runs must know (bot/notes.py)."""
    annotations: tuple[Annotation, ...] = ()


class Comment(Record, frozen=True, kw_only=True):
    """A comment on a pull request."""

    id: int
    author: str
    body: str
    url: str | None
    number: int | None = None
    """Of the pull request or issue; null when GitHub's answer does not say."""
    updated: datetime | None = None


class Step(Record, frozen=True, kw_only=True):
    """One step of a job."""

    name: str
    status: str
    conclusion: str | None


class Job(Record, frozen=True, kw_only=True):
    """One job of a workflow run."""

    name: str
    status: str
    """`queued`, `in_progress`, `completed`, and words that GitHub adds (`waiting`, `pending`, `requested`)."""
    conclusion: str | None
    created: datetime
    labels: tuple[str, ...]
    steps: tuple[Step, ...]


class Run(Record, frozen=True, kw_only=True):
    """One workflow run, in its newest attempt."""

    id: int
    head: str
    status: str
    conclusion: str | None
    attempt: int
    path: str
    """Of the workflow file."""

    @property
    def over(self) -> bool:
        """Whether nothing of it will happen any more."""
        return self.status == "completed"


class Runs(Protocol):
    """Reads and ends workflow runs."""

    def run(self, number: int) -> Run:
        """The run with this id."""

    def of_event(self, event: str, since: datetime) -> tuple[Run, ...]:
        """The runs that an event of this name started since then."""

    def jobs(self, number: int) -> tuple[Job, ...]:
        """The jobs of the run's newest attempt."""

    def cancel(self, number: int) -> None:
        """Ask GitHub to end the run; nothing when it is over."""


class Pulls(Protocol):
    """Reads pull requests."""

    def pull(self, number: int) -> Pull:
        """The pull request as it is now."""

    def files(self, number: int) -> ChangedFiles:
        """The files of the pull request as it is now."""

    def merge_base(self, base: str, head: str) -> Commit:
        """The commit from which `head` left `base`."""

    def compared(self, base: str, head: str) -> ChangedFiles:
        """The files that differ between the merge base and `head`; GitHub shows 300."""

    def branches(self, prefix: str) -> dict[str, Commit]:
        """The branches whose names begin with `prefix`, and their tips."""


class Roles(Protocol):
    """Reads roles."""

    def role(self, login: str) -> Role:
        """The role of `login`; NONE when GitHub knows no such collaborator."""


class Checks(Protocol):
    """Reads and writes check runs."""

    def on(self, head: str) -> tuple[CheckRun, ...]:
        """All check runs of a commit, of everybody, oldest first."""

    def create(self, payload: CheckPayload, is_it: Callable[[CheckRun], bool]) -> int:
        """Create exactly one check run; `is_it` knows it again when an answer is lost. Its id."""

    def update(self, check: int, payload: CheckPayload) -> None:
        """Make a check run say what `payload` says."""


class Comments(Protocol):
    """Reads and writes comments and reactions."""

    def all(self, number: int) -> tuple[Comment, ...]:
        """All comments of a pull request, oldest first."""

    def recent(self, since: datetime) -> tuple[Comment, ...]:
        """The comments of all pull requests that were written or edited since then."""

    def create(self, number: int, body: str, is_it: Callable[[Comment], bool]) -> Comment:
        """Create exactly one comment; `is_it` knows it again when an answer is lost."""

    def update(self, comment: int, body: str) -> None:
        """Replace a comment's text."""

    def react(self, comment: int, content: str) -> None:
        """React to a comment; reacting twice is reacting once."""
