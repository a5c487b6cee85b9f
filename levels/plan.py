"""The Plan: everything that will run and why. Site settings never belong here."""

from enum import StrEnum
from typing import Annotated, Final, Literal

import msgspec

from levels.documents import digest
from levels.model import Commit, Id, Phase, Record, Suite
from levels.pins import SuitePin, Workaround

PLACEHOLDERS: Final = frozenset(
    {"model_path", "model_id", "reward_model_path", "data", "scratch", "pythonpath", "suite_root", "bridge_root"}
)
"""Names that phases may use as `@{name}`; the GPU machine fills them from its site settings."""

Repository = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}$(?!\n)")]


class Decision(StrEnum):
    """What the plan says about the event as a whole."""

    RUN = "run"
    NOT_NEEDED = "not-needed"
    NOT_ASKED = "not-asked"
    """Levels are required, and nobody has asked for them yet."""
    VOID = "consent-void"
    """New commits arrived after consent was given."""
    REFUSED = "refused"
    ANSWER = "answer"
    """Only a reply: help, explain, dry run, a typo."""
    IGNORED = "ignored"


class Reason(Record, frozen=True, kw_only=True):
    """Why a level was selected or not."""

    rule: str
    path: str | None
    """The changed path that matched; null when no path did."""
    sentence: str


class Choice(Record, frozen=True, kw_only=True):
    """One level with its reasons. `minutes` is wall time, `gpus` the number of GPUs held."""

    suite: Suite
    level: int
    title: str
    reasons: tuple[Reason, ...]
    gpus: int
    minutes: int

    @property
    def gpu_minutes(self) -> int:
        """GPUs times minutes."""
        return self.gpus * self.minutes


class Selection(Record, frozen=True, kw_only=True):
    """Chosen and skipped levels, each with its reasons."""

    chosen: tuple[Choice, ...]
    skipped: tuple[Choice, ...]
    family: str | None = None
    """Smoke family key of PATHS.md, null when no path names one."""
    widened: tuple[str, ...] = ()
    """Why the selection was widened: truncated file list, unknown path, API error."""


class Consent(Record, frozen=True, kw_only=True):
    """Who allowed which commit to run on the GPU machines."""

    actor: str
    role: str
    """`role_name` of the collaborator permission API."""
    via: str
    """`label verl-e2e`, or `comment 123`."""
    commit: Commit
    given_at: str
    """GitHub's clock: ISO 8601."""


class LegModel(Record, frozen=True, kw_only=True):
    """The model of a leg."""

    name: str
    revision: Commit | None
    family: str | None = None


class Leg(Record, frozen=True, kw_only=True):
    """One level or variant on one machine."""

    id: Id
    suite: Suite
    level: int
    level_id: Id
    variants: tuple[Id, ...]
    title: str
    stage: Literal["smoke", "deep"]
    bridge_repository: str
    """Clone URL of the repository that the pull request is against; `bridge_commit` is fetched from it."""
    bridge_commit: Commit
    mcore_repository: str
    mcore_commit: Commit | None
    """The submodule's gitlink, when the plan could read it; else the checkout reads it."""
    suite_pin: SuitePin
    workarounds: tuple[Workaround, ...]
    model: LegModel
    gpus: int
    minutes: int
    """Sum of the phases' limits; the job gets more for checkout and collection."""
    bridge_tests: tuple[str, ...]
    phases: tuple[Phase, ...]
    """Resolved: variant env and overrides applied, placeholders still in."""


class Command(Record, frozen=True, kw_only=True):
    """A `/run-e2e` command that this plan answers, in its normalized form."""

    text: str
    comment_id: int | None


class Reply(Record, frozen=True, kw_only=True):
    """A text that the receipt posts, by template name; values are escaped by the renderer."""

    template: Id
    values: dict[str, str] = {}


class Plan(Record, frozen=True, kw_only=True):
    """All that will run for one event on one commit."""

    schema: Literal["bridge-e2e/plan/1"] = "bridge-e2e/plan/1"
    decision: Decision
    because: str
    """One sentence for people."""
    repository: Repository
    pull_request: int | None
    head: Commit | None
    base: Commit | None
    """Merge base of the pull request, when known."""
    consent: Consent | None
    selection: Selection
    legs: tuple[Leg, ...]
    command: Command | None = None
    reply: Reply | None = None
    run_url: str | None = None
    attempt: int = 1
    product_commit: Commit | None = None
    """Our own commit, null in a local run of a dirty tree."""

    @property
    def id(self) -> str:
        """First 12 hex digits of the digest: marker in comments and `external_id` of checks."""
        return digest(self)[:12]

    def stage(self, name: str) -> tuple[Leg, ...]:
        """The legs of `smoke` or `deep`, in order."""
        return tuple(leg for leg in self.legs if leg.stage == name)


def leg_id(suite: Suite, level: int, level_id: str, variants: tuple[str, ...]) -> str:
    """Unique within a plan and safe in artifact, check and job names: `verl-0-lora-ddp-eager`."""
    return "-".join((suite.value, str(level), level_id, *variants))[:63].rstrip("-")
