"""The environment as frozen Settings. The only reader of `os.environ` in this zone."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from levels.errors import UsageError
from levels.model import COMMIT_PATTERN

PUBLIC_API: Final = "https://api.github.com"
DEFAULT_LOGIN: Final = "github-actions[bot]"
"""Author of what the plain workflow token writes."""
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the workflow run says about itself."""

    token: str = field(repr=False)
    """Empty when there is none; `bot.github.connect` refuses that."""
    repository: str
    api_url: str
    server_url: str
    event_path: Path | None
    event_name: str
    run_id: int
    run_attempt: int
    output: Path | None
    """File of the job's outputs."""
    summary: Path | None
    """File of the job's summary."""
    bot_login: str
    triggering_actor: str
    """Who pressed re-run; the event's sender in a first attempt."""
    product_commit: str | None
    policy: Path | None
    workflow: str
    """Path of the caller's workflow file, as `.github/workflows/bridge-e2e.yml`; empty outside a workflow."""

    @property
    def run_url(self) -> str | None:
        """Page of this workflow run; null outside a workflow."""
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}" if self.run_id else None


def read(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings in `environ`, by default the process's own.

    Raises:
        UsageError: for an API address, a repository or a number that cannot be right.

    """
    env = os.environ if environ is None else environ
    server = env.get("GITHUB_SERVER_URL", "https://github.com").rstrip("/")
    commit = env.get("BRIDGE_E2E_COMMIT", "")
    return Settings(
        token=env.get("GITHUB_TOKEN", ""),
        repository=_repository(env.get("GITHUB_REPOSITORY", "")),
        api_url=api_url(env.get("GITHUB_API_URL") or PUBLIC_API, server),
        server_url=server,
        event_path=_path(env, "GITHUB_EVENT_PATH"),
        event_name=env.get("GITHUB_EVENT_NAME", ""),
        run_id=_number(env, "GITHUB_RUN_ID", 0),
        run_attempt=_number(env, "GITHUB_RUN_ATTEMPT", 1),
        output=_path(env, "GITHUB_OUTPUT"),
        summary=_path(env, "GITHUB_STEP_SUMMARY"),
        bot_login=env.get("BRIDGE_E2E_BOT_LOGIN") or DEFAULT_LOGIN,
        triggering_actor=env.get("GITHUB_TRIGGERING_ACTOR", ""),
        product_commit=commit if re.search(COMMIT_PATTERN, commit) else None,
        policy=_path(env, "BRIDGE_E2E_POLICY"),
        workflow=_workflow(env.get("GITHUB_WORKFLOW_REF", "")),
    )


def api_url(url: str, server_url: str) -> str:
    """`url` without its final slash, when the token may be sent there.

    Raises:
        UsageError: when it is neither GitHub's, nor the server's own, nor on this machine.

    """
    trimmed = url.rstrip("/")
    parts = urlsplit(trimmed)
    local = parts.scheme in {"http", "https"} and parts.hostname in _LOOPBACK and "@" not in parts.netloc
    server = urlsplit(server_url)
    own = f"https://{server.netloc}/api/v3" if server.scheme == "https" and "@" not in server.netloc else PUBLIC_API
    if trimmed in {PUBLIC_API, own} or local:
        return trimmed
    raise UsageError(
        doing="reading GITHUB_API_URL",
        found=repr(url),
        expected=f"{PUBLIC_API}, {own} or an address on this machine",
        next_step="unset GITHUB_API_URL; the token is never sent anywhere else",
    )


def _repository(text: str) -> str:
    if text and not _REPOSITORY.fullmatch(text):
        raise UsageError(
            doing="reading GITHUB_REPOSITORY",
            found=repr(text[:200]),
            expected="owner/name",
            next_step="run inside a workflow, or set it",
        )
    return text


def _workflow(ref: str) -> str:
    """The path in `owner/name/.github/workflows/file.yml@refs/heads/main`."""
    return "/".join(ref.partition("@")[0].split("/")[2:])


def _path(env: Mapping[str, str], name: str) -> Path | None:
    return Path(env[name]) if env.get(name) else None


def _number(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name) or str(default)
    if text.isascii() and text.isdigit():
        return int(text)
    raise UsageError(
        doing=f"reading {name}",
        found=repr(text[:100]),
        expected="a number",
        next_step="run inside a workflow, or unset it",
    )
