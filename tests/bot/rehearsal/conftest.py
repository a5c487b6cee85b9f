"""A small real git repository and a server over it, checked against GitHub's description."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from github import Auth, Github

from bot.rehearsal import build
from bot.rehearsal.faults import Fault
from bot.rehearsal.server import Server, serve
from bot.rehearsal.state import Issue, Repository, State, dump, load
from tests.tools.openapi_check import Checker

NOON = datetime(2026, 8, 3, 12, tzinfo=UTC)
TOKEN = "job-token"
PERSONAL = "personal-token"


class Git:
    """A work tree with an author and a fixed time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        names = {f"GIT_{role}_{part}": "x" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
        dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-08-01T00:00:00Z")
        self.env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, **names, **dates}
        self("init", "-q", "-b", "main")

    def __call__(self, *arguments: str) -> str:
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=self.path, env=self.env, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def write(self, files: dict[str, str | bytes | None], message: str = "change") -> str:
        """Commit these files (null deletes one); the commit."""
        for name, content in files.items():
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                target.unlink()
            else:
                target.write_bytes(content.encode() if isinstance(content, str) else content)
        self("add", "-A")
        self("commit", "-qm", message)
        return self("rev-parse", "HEAD")


@dataclass(kw_only=True)
class World:
    state: State
    repo: Repository
    pull: Issue
    git: Git

    @property
    def head(self) -> str:
        assert self.pull.pull
        return self.pull.pull.head_sha


@pytest.fixture(scope="session")
def git(tmp_path_factory: pytest.TempPathFactory) -> Git:
    """Branch `main` with a few files, and branch `topic` with one commit more. Shared: never commit to it."""
    git = Git(tmp_path_factory.mktemp("bridge") / "repository")
    git.write({"src/a.py": "a = 1\nb = 2\n", ".github/bridge-e2e.yml": "labels: {}\n", "README.md": "hello\n"}, "base")
    git("checkout", "-qb", "topic")
    git.write({"src/a.py": "a = 1\nb = 3\n", "src/new.py": "c = 4\n"}, "topic")
    return git


@pytest.fixture(scope="session")
def small_state(git: Git) -> bytes:
    state, repo, _ = build.small(git.path, clock=NOON)
    build.grant(state, TOKEN, permissions={**build.BOT_PERMISSIONS, "actions": "write"}, repository=repo.full_name)
    build.grant(state, PERSONAL, app=None, login="mia", permissions={"issues": "write", "pull-requests": "write"})
    return dump(state)


@pytest.fixture
def world(small_state: bytes, git: Git) -> World:
    """A fresh state for each test."""
    state = load(small_state)
    repo = state.repositories["NVIDIA-NeMo/Megatron-Bridge"]
    return World(state=state, repo=repo, pull=repo.issues[1], git=git)


@dataclass(kw_only=True)
class Session:
    server: Server
    github: Github
    checker: Checker


Opened = Callable[..., AbstractContextManager[Session]]


@pytest.fixture
def opened(world: World) -> Opened:
    """Opens a session; at its end nothing was unhandled and nothing differed from GitHub's description."""

    @contextmanager
    def session(*faults: Fault, token: str = TOKEN) -> Iterator[Session]:
        checker = Checker()
        with serve(world.state, observer=checker, faults=faults) as server:
            client = Github(
                base_url=server.url,
                auth=Auth.Token(token),
                seconds_between_requests=0,
                seconds_between_writes=0,
                per_page=100,
            )
            with client:
                yield Session(server=server, github=client, checker=checker)
        assert checker.findings == []
        assert server.unhandled == []
        assert server.faults.left == ()

    return session
