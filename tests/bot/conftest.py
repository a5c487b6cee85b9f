"""A Bridge-like repository, pull requests against it, the embedded GitHub over them, and the bot's own commands."""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot import event_cli, publish_cli, reconcile_cli
from bot.github import Api, Pace, connect
from bot.rehearsal import build, payloads
from bot.rehearsal.faults import Fault
from bot.rehearsal.server import Server, serve
from bot.rehearsal.state import ChangedFile, CheckRun, Comment, Issue, Repository, State, WorkflowRun, dump, load
from levels.documents import decode, encode_line
from levels.model import Attribution, Boundary, Outcome
from levels.plan import Plan
from levels.verdict import FirstError, LegVerdict, Verdict
from tests.bot.rehearsal.conftest import Git
from tests.tools.openapi_check import Checker

NOON = datetime(2026, 8, 3, 12, tzinfo=UTC)
TOKEN = "job-token"
REPOSITORY = "NVIDIA-NeMo/Megatron-Bridge"
BRIDGE = "src/megatron/bridge/models/gpt_provider.py"
RUN_ID = 4711
APP_LOGIN = "bridge-e2e[bot]"
PROVIDER = 'class Qwen3Bridge:\n    """Maps names."""\n\n    def mapping(self):\n        return {"a": "b"}\n'


@dataclass(kw_only=True)
class Waits:
    """How long the client was asked to wait; nobody waits in a test."""

    seconds: list[float] = field(default_factory=list)

    def pace(self, attempts: int = 3, timeout: int = 5) -> Pace:
        return Pace(
            attempts=attempts,
            backoff=0,
            secondary_wait=0,
            timeout=timeout,
            between_writes=0,
            sleep=self.seconds.append,
        )


@dataclass(kw_only=True)
class World:
    """GitHub's state, with what a test asks of it."""

    state: State
    repo: Repository
    folder: Path
    waits: Waits = field(default_factory=Waits)
    server: Server | None = None
    attempt: int = 1
    run_id: int = RUN_ID
    extra: dict[str, str] = field(default_factory=dict)
    """More of a job's environment."""

    def as_app(self) -> None:
        """From now on the bot is a GitHub App of its own, and a released one."""
        build.add_app(self.state, "bridge-e2e", name="Bridge e2e", owner="ours")
        build.grant(self.state, TOKEN, app="bridge-e2e", repository=REPOSITORY)
        self.extra = {"BRIDGE_E2E_BOT_LOGIN": APP_LOGIN, "BRIDGE_E2E_COMMIT": "c0ffee" + "0" * 34}

    def asked(self, number: int, body: str, author: str = "wim") -> Plan:
        """A comment, planned and received, in a workflow run of its own."""
        self.run_id += 1
        plan = self.planned(self.commented(number, body, author), "issue_comment")
        self.receive(plan)
        return plan

    def happened(self, number: int, action: Any, **details: Any) -> Plan:  # noqa: ANN401 - literals of the payload
        """An event of a pull request, planned and received, in a workflow run of its own."""
        self.run_id += 1
        event = payloads.pull_request(self.state, self.repo, self.pull(number), action, sender="wim", **details)
        plan = self.planned(event)
        self.receive(plan)
        return plan

    def pull(self, number: int) -> Issue:
        return self.repo.issues[number]

    def head(self, number: int) -> str:
        pull = self.pull(number).pull
        assert pull
        return pull.head_sha

    def checks(self, number: int) -> list[CheckRun]:
        """The check runs of a head, oldest first."""
        head = self.head(number)
        return sorted((run for run in self.repo.check_runs.values() if run.head_sha == head), key=lambda run: run.id)

    def comments(self, number: int) -> list[Comment]:
        return [comment for comment in self.repo.comments.values() if comment.issue == number]

    def seen(self, number: int, seconds: int = 3600) -> None:
        """Our check has stood on the head for so long."""
        build.add_check(
            self.state,
            self.repo,
            self.head(number),
            conclusion="action_required",
            external_id="bridge-e2e:000000000000:1",
        )
        self.state.advance(seconds)
        self.pull(number).updated_at = self.state.now()

    def labelled(self, number: int, label: str = "verl-e2e", sender: str = "wim") -> dict[str, Any]:
        build.put_label(self.state, self.repo, number, label)
        self.pull(number).updated_at = self.state.now()
        return payloads.pull_request(self.state, self.repo, self.pull(number), "labeled", sender=sender, label=label)

    def commented(self, number: int, body: str, author: str = "wim") -> dict[str, Any]:
        comment = build.add_comment(self.state, self.repo, number, author=author, body=body)
        return payloads.issue_comment(self.state, self.repo, comment)

    def api(self, attempts: int = 3) -> Api:
        assert self.server
        return connect(TOKEN, REPOSITORY, self.server.url, self.waits.pace(attempts))

    def environ(self, **more: str) -> Mapping[str, str]:
        """The environment of a workflow job."""
        assert self.server
        return {
            "GITHUB_TOKEN": TOKEN,
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_API_URL": self.server.url,
            "GITHUB_RUN_ID": str(self.run_id),
            "GITHUB_RUN_ATTEMPT": str(self.attempt),
            **self.extra,
            **more,
        }

    def plan(self, event: dict[str, Any], name: str = "pull_request_target", *, code: int = 0) -> Plan | None:
        """What `plan --event` makes of an event; null when it ends with another code than 0."""
        file = self.folder / "event.json"
        file.write_text(json.dumps(event))
        out, err = io.StringIO(), io.StringIO()
        arguments = ["--event", str(file), "--event-name", name]
        ended = event_cli.main(arguments, environ=self.environ(), pace=self.waits.pace(), out=out, err=err)
        assert ended == code, err.getvalue()
        return decode(out.getvalue(), Plan, what="the Plan") if code == 0 else None

    def receive(self, plan: Plan, *, code: int = 0) -> str:
        """`receipt`; what it said."""
        err = io.StringIO()
        arguments = ["--plan", str(self.write("plan.json", encode_line(plan)))]
        assert publish_cli.receive(arguments, environ=self.environ(), pace=self.waits.pace(), err=err) == code
        return err.getvalue()

    def report(self, plan: Plan | str, verdict: Verdict | str, *options: str, code: int = 0, **environ: str) -> str:
        """`report`; what it said."""
        err = io.StringIO()
        texts = [text if isinstance(text, str) else encode_line(text) for text in (plan, verdict)]
        files = [str(self.write(name, text)) for name, text in zip(("plan.json", "verdict.json"), texts, strict=True)]
        arguments = ["--plan", files[0], "--verdict", files[1], *options]
        ended = publish_cli.report(arguments, environ=self.environ(**environ), pace=self.waits.pace(), err=err)
        assert ended == code, err.getvalue()
        return err.getvalue()

    def reconcile(self, *, code: int = 0) -> str:
        """`reconcile`, in a workflow run of its own; what it said."""
        err = io.StringIO()
        environ = self.environ(GITHUB_RUN_ID="9999")
        assert reconcile_cli.main([], environ=environ, pace=self.waits.pace(), err=err) == code, err.getvalue()
        return err.getvalue()

    def workflow(self, plan: Plan) -> WorkflowRun:
        """The workflow run of a plan as GitHub shows it: its legs are queued."""
        jobs = [f"e2e / {leg.title} ({leg.id})" for leg in plan.legs]
        run = build.add_run(
            self.state,
            self.repo,
            self.repo.refs["refs/heads/main"],
            event="issue_comment",
            jobs=jobs,
            run_id=self.run_id,
        )
        for job in run.jobs:
            job.labels = ["self-hosted", "h100"]
        return run

    def write(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.write_text(text)
        return file

    def planned(self, event: dict[str, Any], name: str = "pull_request_target") -> Plan:
        plan = self.plan(event, name)
        assert plan
        return plan


@pytest.fixture(scope="session")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Git:
    """`main`; `code` changes a bridge; `docs` changes a page. Shared: never commit to it."""
    git = Git(tmp_path_factory.mktemp("bridge") / "repository")
    git.write({BRIDGE: PROVIDER, "docs/index.md": "hello\n", "README.md": "hello\n"}, "base")
    git("checkout", "-qb", "code")
    git.write({BRIDGE: PROVIDER.replace('"b"', '"c"')}, "code")
    git("checkout", "-qb", "code-2")
    git.write({BRIDGE: PROVIDER.replace('"b"', '"d"')}, "more code")
    git("checkout", "-q", "main")
    git("checkout", "-qb", "docs")
    git.write({"docs/index.md": "hello, world\n"}, "docs")
    return git


@pytest.fixture(scope="session")
def saved(bridge: Git) -> bytes:
    """Pull request 1 changes code, 2 changes a page, 3 comes from a fork, 4 from a fork that is gone."""
    state, repo, _ = build.small(bridge.path, full_name=REPOSITORY, head="code", clock=NOON)
    build.open_pull(state, repo, bridge.path, head="docs", author="wim")
    fork = build.add_repository(state, "stranger/Megatron-Bridge", bridge.path, parent=REPOSITORY)
    build.open_pull(state, repo, bridge.path, head="code", author="stranger", head_repository=fork.full_name)
    build.open_pull(state, repo, bridge.path, head="code-2", author="stranger", head_repository=None)
    build.grant(state, TOKEN, repository=REPOSITORY)
    return dump(state)


Opened = Callable[..., AbstractContextManager[World]]


@pytest.fixture
def opened(saved: bytes, tmp_path: Path) -> Opened:
    """Opens a world; at its end nothing was unhandled and nothing differed from GitHub's description."""

    @contextmanager
    def session(*faults: Fault) -> Iterator[World]:
        state = load(saved)
        world = World(state=state, repo=state.repositories[REPOSITORY], folder=tmp_path)
        checker = Checker()
        with serve(state, observer=checker, faults=faults) as server:
            world.server = server
            yield world
        assert checker.findings == []
        assert server.unhandled == []

    return session


def verdict_of(plan: Plan, outcome: Outcome = Outcome.PASS, **changes: Any) -> Verdict:  # noqa: ANN401 - fields of LegVerdict
    """A verdict on all legs of a plan."""
    passed = outcome is Outcome.PASS
    error = FirstError(text="RuntimeError: size mismatch", log="run-train.log", line=3)
    fields: dict[str, Any] = {
        "outcome": outcome,
        "sentence": "the level was validated" if passed else "the level broke",
        "boundary": None if passed else Boundary.HF_IMPORT,
        "category": "none",
        "attribution": None if passed else Attribution.BRIDGE_SIDE,
        "first_error": None if passed else error,
        "proof": "full",
        "model": "Qwen/Qwen2.5-0.5B",
        "requested": "Level 0",
        "criteria": (),
        "deliverables": (),
        "bridge_state": plan.head or "",
        "suite_state": "clean",
        "command": "bash run.sh",
        "key_lines": (),
        "limitations": (),
        "follow_ups": (),
        **changes,
    }
    legs = tuple(
        LegVerdict(leg=leg.id, suite=leg.suite, level=leg.level, variants=leg.variants, title=leg.title, **fields)
        for leg in plan.legs
    )
    return Verdict(
        plan=plan.id,
        repository=plan.repository,
        pull_request=plan.pull_request,
        head=plan.head,
        outcome=outcome,
        legs=legs,
    )


def many_files(count: int) -> list[ChangedFile]:
    """A change of so many pages of documentation."""
    return [
        ChangedFile(
            filename=f"docs/{index}.md",
            status="modified",
            sha="0" * 40,
            additions=1,
            deletions=0,
            patch="@@ -1 +1,2 @@\n a\n+b",
        )
        for index in range(count)
    ]
