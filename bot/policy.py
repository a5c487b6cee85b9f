"""Who may ask for what, as data. Deciding about one person never belongs here (gate.py)."""

from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import msgspec

from bot.roles import Role
from levels.catalogue import parse
from levels.errors import ConfigError
from levels.model import Record, Suite
from levels.plan import Convergence

Label = Annotated[str, msgspec.Meta(min_length=1, max_length=50)]
"""A label name. Source: GITHUB.md section 6, 50 characters."""
Seconds = Annotated[int, msgspec.Meta(ge=0, le=86_400)]


class MergeQueue(StrEnum):
    """What answers for a group of the merge queue."""

    CARRY = "carry"
    """The proofs on the heads of its pull requests."""
    RUN = "run"
    """Level 0 on the group's own commit."""


class Settled(Record, frozen=True, kw_only=True):
    """Seconds for which a head must have been visible before it can be meant without being named."""

    same_repository: Seconds
    fork: Seconds


class Policy(Record, frozen=True, kw_only=True):
    """The whole of policy.yaml."""

    version: Annotated[int, msgspec.Meta(ge=1, le=1)]
    minimum_role: Role
    minimum_role_to_ask: Role
    labels: dict[Label, tuple[Suite, ...]]
    labels_on_forks: bool
    settled_seconds: Settled
    convergence: tuple[Convergence, ...] = ()
    """Metric thresholds agreed before any run; only they let a verdict say `converged`."""
    proof_max_age_hours: Annotated[int, msgspec.Meta(ge=0, le=720)] = 168
    """How long a Pass on the same commit, with the same key, need not be repeated."""
    queue_limit_minutes: Annotated[int, msgspec.Meta(ge=1, le=1_440)] = 720
    """How long a leg may wait for a runner. GitHub itself gives up after 24 hours. Source: GITHUB.md section 6."""
    merge_queue: MergeQueue = MergeQueue.CARRY

    def suites(self, labels: tuple[str, ...]) -> tuple[Suite, ...]:
        """The suites that `labels` ask for together, in the order of Suite."""
        asked = {suite for label in labels for suite in self.labels.get(label, ())}
        return tuple(suite for suite in Suite if suite in asked)


def load(path: Path | None = None) -> Policy:
    """The policy in `path`, by default the one beside this module.

    Raises:
        ConfigError: with file and key path.

    """
    if path is None:
        text = (files("bot") / "policy.yaml").read_text(encoding="utf-8")
        return parse(text, Policy, path="bot/policy.yaml")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            path=str(path),
            key="",
            found=str(error),
            expected="a readable file in UTF-8",
            next_step="correct BRIDGE_E2E_POLICY, or unset it",
        ) from error
    return parse(text, Policy, path=str(path))
