"""Settings and files to the parts that a command works with. What a command does never stands here."""

from functools import cache
from pathlib import Path
from typing import Final

from bot import events, github, policy, settings
from bot.desk import Desk
from bot.events import Event, Ignored
from bot.selecting import selector
from bot.settings import Settings
from levels import catalogue, rules
from levels.catalogue import Catalogue
from levels.documents import decode
from levels.errors import UsageError
from levels.plan import Plan
from levels.rulebook import RuleSet

MAX_FILE: Final = events.MAX_PAYLOAD_BYTES


def read_file(path: Path, what: str) -> bytes:
    """The bytes of `path`, at most one more than a payload may have.

    Raises:
        UsageError: when it cannot be read.

    """
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE + 1)
    except OSError as error:
        raise UsageError(
            doing=f"reading {what}",
            found=f"{path}: {error.strerror or error}",
            expected="a readable file",
            next_step="correct its name",
        ) from error


def read_event(path: Path | None, name: str | None, env: Settings, rights: policy.Policy) -> Event:
    """The event in `path`, by default the one of this workflow run.

    Raises:
        UsageError: when none is named, or it belongs to another repository.
        DocumentError: when it is not what GitHub documents.

    """
    file = path or env.event_path
    if file is None:
        raise UsageError(
            doing="looking for the event",
            found="neither --event nor GITHUB_EVENT_PATH",
            expected="a webhook payload in a file",
            next_step="pass --event FILE --event-name NAME",
        )
    data = read_file(file, "the event")
    event = events.parse(data, name=name or env.event_name, labels=rights.labels, bot_login=env.bot_login)
    if isinstance(event, Ignored) or event.repository.lower() == env.repository.lower():
        return event
    raise UsageError(
        doing="reading the event",
        found=f"one of {event.repository}",
        expected=f"one of {env.repository or 'the repository in GITHUB_REPOSITORY'}",
        next_step="set GITHUB_REPOSITORY to the event's repository",
    )


def read_plan(path: Path) -> Plan:
    """The Plan in `path`.

    Raises:
        UsageError: when the file cannot be read.
        DocumentError: when it holds no Plan.

    """
    return decode(read_file(path, "the Plan"), Plan, what="the Plan")


def connect(env: Settings, pace: github.Pace | None = None) -> github.Api:
    """GitHub, for the repository of this workflow run."""
    return github.connect(env.token, env.repository, env.api_url, pace)


def desk(env: Settings, api: github.Api, rights: policy.Policy) -> Desk:
    """What planning works with."""
    return Desk(
        pulls=api.pulls,
        roles=api.roles,
        checks=api.checks,
        catalogue=levels(),
        select=selector(levels(), _rulebook()),
        policy=rights,
        repository=env.repository,
        clone_url=f"{env.server_url}/{env.repository}.git",
        bot_login=env.bot_login,
        run_url=env.run_url,
        attempt=env.run_attempt,
        rerun_by=env.triggering_actor if env.run_attempt > 1 else "",
        product_commit=env.product_commit,
        now=api.now,
    )


def order(plan: Plan, env: Settings) -> tuple[int, int]:
    """Run id and attempt; a re-run of single jobs keeps the plan of an earlier attempt."""
    return env.run_id, max(plan.attempt, env.run_attempt)


@cache
def levels() -> Catalogue:
    """The catalogue of our own commit; read once a process."""
    return catalogue.load()


@cache
def _rulebook() -> RuleSet:
    return rules.load()


def rights(env: settings.Settings) -> policy.Policy:
    """The policy that this installation uses."""
    return policy.load(env.policy)
