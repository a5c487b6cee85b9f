"""The only importer of PyGithub: implements the Protocols of bot/ports.py. What to write is decided elsewhere.

What PyGithub's own retries leave open is closed here (GITHUB.md section 13): PATCH is retried; a connection that
breaks is retried; a create is never repeated blindly, but looked for first.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec
import requests
from github import Auth, Github, GithubException, GithubRetry

from bot.events import Pull, PullPayload
from bot.ports import (
    ChangedFile,
    ChangedFiles,
    CheckPayload,
    CheckRun,
    Comment,
    ConflictError,
    Job,
    NotFoundError,
    Run,
    Step,
)
from bot.roles import Role, role_from
from levels.errors import GitHubError, UsageError
from levels.model import Commit

PER_PAGE: Final = 100
MAX_FILES: Final = 3_000
"""Files of a pull request that GitHub lists. Source: GITHUB.md section 6."""
MAX_COMPARED: Final = 300
"""Files of a comparison that GitHub lists. Source: GITHUB.md section 6."""
MAX_PAGES: Final = 100
MAX_ANNOTATIONS: Final = 50
"""Of one request. Source: GITHUB.md section 3."""
USER_AGENT: Final = "bridge-e2e"
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_TOO_MANY: Final = 429
_SERVER_ERROR: Final = 500
_LATER: Final = "re-run the failed job in some minutes; https://www.githubstatus.com says how GitHub is"
_NEXT: Final = {
    401: "re-run the job: the token has expired or is wrong",
    _FORBIDDEN: "grant the job `checks: write` and `pull-requests: write` in the caller's workflow",
    _NOT_FOUND: "check that it exists, and that the job's token may read it",
    422: "look at the message; bridge-e2e asked for something that GitHub does not take",
}

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How patiently GitHub is asked. All times in seconds."""

    attempts: int = 5
    backoff: float = 2.0
    """First wait; it doubles."""
    secondary_wait: float = 60.0
    """Wait at a secondary rate limit that names no time. Source: GITHUB.md section 7."""
    longest_wait: float = 300.0
    timeout: int = 30
    between_writes: float = 1.0
    """Source: GITHUB.md section 7: 80 writes a minute."""
    sleep: Callable[[float], None] = time.sleep


class _TransientError(GitHubError):
    """A call that may be tried again. `wait` is what GitHub asked for."""

    wait: float = 0.0


def connect(token: str, repository: str, api_url: str, pace: Pace | None = None) -> "Api":
    """A client for one repository; makes no call yet.

    Raises:
        UsageError: without a token or a repository.

    """
    for name, value in (("GITHUB_TOKEN", token), ("GITHUB_REPOSITORY", repository)):
        if not value:
            raise UsageError(
                doing="connecting to GitHub",
                found=f"no {name}",
                expected=f"{name} in the environment",
                next_step="pass it through `env:` of the step",
            )
    how = pace or Pace()
    client = Github(
        auth=Auth.Token(token),
        base_url=api_url,
        user_agent=USER_AGENT,
        timeout=how.timeout,
        per_page=PER_PAGE,
        retry=_retry(how),
        seconds_between_requests=0,
        seconds_between_writes=how.between_writes,
    )
    return Api(client, repository, how)


def _retry(pace: Pace) -> GithubRetry:
    """Retries answers, for calls that may be repeated. Broken connections and creates are `Api`'s own business."""
    return GithubRetry(
        total=pace.attempts - 1,
        connect=0,
        read=0,
        other=0,
        backoff_factor=pace.backoff,
        backoff_max=pace.longest_wait,
        retry_after_max=int(pace.longest_wait),
        status_forcelist=[_TOO_MANY, *range(_SERVER_ERROR, 600)],
        allowed_methods=frozenset({"GET", "PATCH"}),
        secondary_rate_wait=pace.secondary_wait,
        max_rate_limit_wait=pace.longest_wait,
    )


class _Name(msgspec.Struct):
    login: str


class _App(msgspec.Struct):
    slug: str = ""


class _File(msgspec.Struct):
    filename: str
    status: str
    changes: int = 0
    previous_filename: str | None = None
    patch: str | None = None

    def record(self) -> ChangedFile:
        return ChangedFile(
            path=self.filename,
            previous_path=self.previous_filename,
            status=self.status,
            lines=self.changes,
            patch=self.patch,
        )


class _CommitName(msgspec.Struct):
    sha: Commit


class _Comparison(msgspec.Struct):
    merge_base_commit: _CommitName
    files: list[_File] = []


class _Permission(msgspec.Struct):
    permission: str
    role_name: str = ""


class _Output(msgspec.Struct):
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations_count: int = 0


class _CheckRun(msgspec.Struct):
    id: int
    name: str
    status: str
    conclusion: str | None = None
    external_id: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    app: _App | None = None
    html_url: str | None = None
    details_url: str | None = None
    output: _Output = msgspec.field(default_factory=_Output)

    def record(self) -> CheckRun:
        return CheckRun(
            id=self.id,
            name=self.name,
            status=self.status,
            conclusion=self.conclusion,
            external_id=self.external_id or "",
            since=self.started_at,
            author=f"{self.app.slug}[bot]" if self.app else "",
            completed=self.completed_at,
            title=self.output.title or "",
            summary=self.output.summary or "",
            text=self.output.text or "",
            url=self.html_url,
            details_url=self.details_url,
            annotations=self.output.annotations_count,
        )


class _CheckRuns(msgspec.Struct):
    check_runs: list[_CheckRun]


class _Comment(msgspec.Struct):
    id: int
    body: str | None = None
    user: _Name | None = None
    html_url: str | None = None
    issue_url: str = ""
    updated_at: datetime | None = None

    def record(self) -> Comment:
        number = self.issue_url.rpartition("/")[2]
        return Comment(
            id=self.id,
            author=self.user.login if self.user else "ghost",
            body=self.body or "",
            url=self.html_url,
            number=int(number) if number.isascii() and number.isdigit() else None,
            updated=self.updated_at,
        )


class _Step(msgspec.Struct):
    name: str
    status: str
    conclusion: str | None = None


class _Job(msgspec.Struct):
    name: str
    status: str
    created_at: datetime
    conclusion: str | None = None
    labels: list[str] = []
    steps: list[_Step] = []

    def record(self) -> Job:
        steps = (Step(name=step.name, status=step.status, conclusion=step.conclusion) for step in self.steps)
        return Job(
            name=self.name,
            status=self.status,
            conclusion=self.conclusion,
            created=self.created_at,
            labels=tuple(self.labels),
            steps=tuple(steps),
        )


class _Jobs(msgspec.Struct):
    jobs: list[_Job]


class _Run(msgspec.Struct):
    id: int
    head_sha: str
    created_at: datetime
    status: str | None = None
    conclusion: str | None = None
    run_attempt: int = 1
    path: str = ""

    def record(self) -> Run:
        return Run(
            id=self.id,
            head=self.head_sha,
            status=self.status or "",
            conclusion=self.conclusion,
            attempt=self.run_attempt,
            path=self.path,
        )


class _Runs(msgspec.Struct):
    workflow_runs: list[_Run]


class _Ref(msgspec.Struct):
    ref: str
    object: _CommitName


class Api:
    """One repository of GitHub. Its parts implement the Protocols of bot/ports.py."""

    def __init__(self, client: Github, repository: str, pace: Pace) -> None:
        self._client = client
        self._repo = f"/repos/{repository}"
        self._pace = pace
        self.pulls = _Pulls(self)
        self.roles = _Roles(self)
        self.checks = _Checks(self)
        self.comments = _Comments(self)
        self.runs = _WorkflowRuns(self)
        self._now: datetime | None = None

    def now(self) -> datetime:
        """GitHub's clock, as its last answer showed it; the machine's own when no answer shows any."""
        if self._now is None:
            self.get("", dict[str, Any])
        return self._now or datetime.now(UTC)

    def get(self, path: str, kind: type[T], **parameters: str | int) -> T:
        """The answer to a GET below the repository, as `kind`."""
        return self._patiently(lambda: self._once("GET", path, kind, parameters, None))

    def patch(self, path: str, body: Mapping[str, object]) -> None:
        """Change something below the repository."""
        self._patiently(lambda: self._once("PATCH", path, dict[str, Any], {}, body))

    def post(
        self, path: str, body: Mapping[str, object] | None, kind: type[T], find: Callable[[], T | None] = lambda: None
    ) -> T:
        """Create something below the repository, once.

        When it is not known whether GitHub did it, `find` looks for it before it is tried again.
        """
        return self._patiently(lambda: self._once("POST", path, kind, {}, body), find)

    def pages(self, path: str, kind: type[T], size: Callable[[T], int], **parameters: str | int) -> Iterator[T]:
        """The pages of a list, until one is not full."""
        for page in range(1, MAX_PAGES + 1):
            answer = self.get(path, kind, **parameters, per_page=PER_PAGE, page=page)
            yield answer
            if size(answer) < PER_PAGE:
                return

    def _patiently(self, call: Callable[[], T], find: Callable[[], T | None] = lambda: None) -> T:
        for attempt in range(self._pace.attempts - 1):
            try:
                return call()
            except _TransientError as error:
                asked, doubled = error.wait, self._pace.backoff * 2**attempt
            self._pace.sleep(min(max(asked, doubled), self._pace.longest_wait))
            found = find()
            if found is not None:
                return found
        return call()

    def _once(
        self, method: str, path: str, kind: type[T], parameters: Mapping[str, object], body: Mapping[str, object] | None
    ) -> T:
        url = self._repo + path
        doing = f"{method} {url}"
        try:
            headers, data = self._client.requester.requestJsonAndCheck(method, url, dict(parameters), input=body)
            self._now = _date_of(headers) or self._now
            return msgspec.convert(data, kind)
        except GithubException as error:
            raise _refusal(doing, error, self._pace, repeat=method == "POST") from error
        except requests.exceptions.RetryError as error:
            found = f"{self._pace.attempts} answers that ask to try again"
            raise GitHubError(doing=doing, found=found, expected="an answer", next_step=_LATER) from error
        except requests.RequestException as error:
            found = f"a connection that broke ({type(error).__name__})"
            raise _TransientError(doing=doing, found=found, expected="an answer", next_step=_LATER) from error
        except (msgspec.ValidationError, RuntimeError) as error:
            # PyGithub raises RuntimeError for a redirect to another host, and so keeps the token at home.
            found = str(error)[:300]
            raise GitHubError(
                doing=doing, found=found, expected="the answer that GitHub documents", next_step=_LATER
            ) from error


def _date_of(headers: Mapping[str, Any]) -> datetime | None:
    """The answer's `Date`; null when it has none that can be read."""
    text = next((str(value) for key, value in headers.items() if key.lower() == "date"), "")
    try:
        return parsedate_to_datetime(text)
    except ValueError:
        return None


def _refusal(doing: str, error: GithubException, pace: Pace, *, repeat: bool) -> GitHubError:
    """The error behind a status. `repeat`: nobody has tried again yet, so a passing trouble is worth it."""
    message = error.data.get("message", "") if isinstance(error.data, dict) else ""
    found = f"status {error.status} {str(message)[:200]!r}"
    if error.status == _NOT_FOUND:
        return NotFoundError(doing=doing, found=found, expected="something there", next_step=_NEXT[_NOT_FOUND])
    if error.status == _CONFLICT:
        return ConflictError(doing=doing, found=found, expected="success", next_step=_LATER)
    wait = _asked_wait(error, str(message), pace)
    if repeat and (error.status >= _SERVER_ERROR or wait is not None):
        transient = _TransientError(doing=doing, found=found, expected="an answer", next_step=_LATER)
        transient.wait = wait or 0.0
        return transient
    return GitHubError(doing=doing, found=found, expected="success", next_step=_NEXT.get(error.status, _LATER))


def _asked_wait(error: GithubException, message: str, pace: Pace) -> float | None:
    """Seconds that a rate limit asks to wait; null when the answer is no rate limit. Source: GITHUB.md section 7."""
    headers = {key.lower(): value for key, value in (error.headers or {}).items()}
    asked = headers.get("retry-after", "")
    if error.status in {_FORBIDDEN, _TOO_MANY} and asked.isdigit():
        return float(asked)
    if error.status == _TOO_MANY or (error.status == _FORBIDDEN and "rate limit" in message.lower()):
        return pace.secondary_wait
    return None


class _Pulls:
    def __init__(self, api: Api) -> None:
        self._api = api

    def pull(self, number: int) -> Pull:
        return self._api.get(f"/pulls/{number}", PullPayload).facts()

    def files(self, number: int) -> ChangedFiles:
        pages = self._api.pages(f"/pulls/{number}/files", list[_File], len)
        files = tuple(file.record() for page in islice(pages, MAX_FILES // PER_PAGE) for file in page)
        return ChangedFiles(files=files, truncated=len(files) >= MAX_FILES)

    def merge_base(self, base: str, head: str) -> Commit:
        # The second page holds no files, and every page names the merge base. Source: GITHUB.md section 6.
        return self._api.get(f"/compare/{base}...{head}", _Comparison, per_page=1, page=2).merge_base_commit.sha

    def compared(self, base: str, head: str) -> ChangedFiles:
        files = tuple(file.record() for file in self._api.get(f"/compare/{base}...{head}", _Comparison).files)
        return ChangedFiles(files=files, truncated=len(files) >= MAX_COMPARED)

    def branches(self, prefix: str) -> dict[str, Commit]:
        found = self._api.get(f"/git/matching-refs/heads/{quote(prefix)}", list[_Ref])
        return {ref.ref.removeprefix("refs/heads/"): ref.object.sha for ref in found}


class _Roles:
    def __init__(self, api: Api) -> None:
        self._api = api

    def role(self, login: str) -> Role:
        try:
            answer = self._api.get(f"/collaborators/{quote(login, safe='')}/permission", _Permission)
        except NotFoundError:
            return Role.NONE
        return role_from(answer.permission, answer.role_name)


class _Checks:
    def __init__(self, api: Api) -> None:
        self._api = api

    def on(self, head: str) -> tuple[CheckRun, ...]:
        # `filter=latest` goes by completed_at and can miss a queued one. Source: GITHUB.md section 3.
        pages = self._api.pages(f"/commits/{head}/check-runs", _CheckRuns, lambda a: len(a.check_runs), filter="all")
        found = (run.record() for page in pages for run in page.check_runs)
        return tuple(sorted(found, key=lambda run: run.id))

    def create(self, payload: CheckPayload, is_it: Callable[[CheckRun], bool]) -> int:
        def find() -> _CheckRun | None:
            same = (run for run in self.on(payload.head) if is_it(run))
            return next((_CheckRun(id=run.id, name=run.name, status=run.status) for run in same), None)

        body = {**_check_body(payload), "head_sha": payload.head}
        return self._api.post("/check-runs", body, _CheckRun, find).id

    def update(self, check: int, payload: CheckPayload) -> None:
        self._api.patch(f"/check-runs/{check}", _check_body(payload))


def _check_body(payload: CheckPayload) -> dict[str, object]:
    """The request's fields. `started_at` is never sent: the gate trusts GitHub's own."""
    body: dict[str, object] = {
        "name": payload.name,
        "external_id": payload.external_id,
        "status": payload.status.value,
        "output": _output(payload),
    }
    if payload.conclusion is not None:
        body["conclusion"] = payload.conclusion.value
    if payload.details_url is not None:
        body["details_url"] = payload.details_url
    return body


def _output(payload: CheckPayload) -> dict[str, object]:
    output: dict[str, object] = {"title": payload.title, "summary": payload.summary}
    if payload.text:
        output["text"] = payload.text
    if payload.annotations:
        output["annotations"] = [
            {
                "path": one.path,
                "start_line": one.line,
                "end_line": one.line,
                "annotation_level": one.level,
                "title": one.title,
                "message": one.message,
            }
            for one in payload.annotations[:MAX_ANNOTATIONS]
        ]
    return output


class _Comments:
    def __init__(self, api: Api) -> None:
        self._api = api

    def all(self, number: int) -> tuple[Comment, ...]:
        pages = self._api.pages(f"/issues/{number}/comments", list[_Comment], len)
        return tuple(comment.record() for page in pages for comment in page)

    def recent(self, since: datetime) -> tuple[Comment, ...]:
        asked = {"sort": "updated", "direction": "desc", "since": since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
        pages = self._api.pages("/issues/comments", list[_Comment], len, **asked)
        return tuple(comment.record() for page in pages for comment in page)

    def create(self, number: int, body: str, is_it: Callable[[Comment], bool]) -> Comment:
        def find() -> _Comment | None:
            found = next((comment for comment in self.all(number) if is_it(comment)), None)
            if found is None:
                return None
            return _Comment(id=found.id, body=found.body, user=_Name(found.author), html_url=found.url)

        return self._api.post(f"/issues/{number}/comments", {"body": body}, _Comment, find).record()

    def update(self, comment: int, body: str) -> None:
        self._api.patch(f"/issues/comments/{comment}", {"body": body})

    def react(self, comment: int, content: str) -> None:
        # Reacting again answers 200 with the same reaction, so that this create may be repeated.
        self._api.post(f"/issues/comments/{comment}/reactions", {"content": content}, dict[str, Any])


class _WorkflowRuns:
    def __init__(self, api: Api) -> None:
        self._api = api

    def run(self, number: int) -> Run:
        return self._api.get(f"/actions/runs/{number}", _Run).record()

    def of_event(self, event: str, since: datetime) -> tuple[Run, ...]:
        found: list[Run] = []
        for page in self._api.pages("/actions/runs", _Runs, lambda a: len(a.workflow_runs), event=event):
            # Newest first.
            young = [run.record() for run in page.workflow_runs if run.created_at >= since]
            found += young
            if len(young) < len(page.workflow_runs):
                break
        return tuple(found)

    def jobs(self, number: int) -> tuple[Job, ...]:
        pages = self._api.pages(f"/actions/runs/{number}/jobs", _Jobs, lambda a: len(a.jobs), filter="latest")
        return tuple(job.record() for page in pages for job in page.jobs)

    def cancel(self, number: int) -> None:
        try:
            # Asking twice is asking once, so that this POST may be repeated.
            self._api.post(f"/actions/runs/{number}/cancel", None, dict[str, Any])
        except ConflictError:
            return
