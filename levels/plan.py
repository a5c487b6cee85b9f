"""The Plan: everything that will run and why. Site settings never belong here."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, Literal, NamedTuple

import msgspec

from levels.catalogue import Catalogue, requirements_of, resolve_phases, variants_of
from levels.documents import digest
from levels.errors import UsageError
from levels.model import (
    Aggregate,
    Bound,
    CheckGroup,
    Commit,
    Id,
    Level,
    Phase,
    Record,
    Requirement,
    Suite,
    Trait,
    Variant,
)
from levels.pins import Lack, SuitePin, Workaround
from levels.shapes import (
    NotStarted,
    gpus_of,
    lacks_of,
    problem_of,
    refuse_guarded,
    refuse_hollow,
    refuse_sizes,
    refuse_traits,
    shapes_for,
    too_few_gpus,
)

Repository = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}$(?!\n)")]


NOT_IN_CATALOGUE: Final = "not-in-catalogue"
"""Rule name of the Reason of a level that is needed and that this release cannot run."""


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
    PROVEN = "proven"
    """All that was asked for has an authenticated Pass on this commit already."""
    WAIVED = "waived"
    """Somebody accepts levels that did not pass."""
    CANCEL = "cancel"
    """What runs is to end: a command, or a pull request that was closed or made a draft."""
    CARRIED = "carried"
    """A merge group whose pull requests are all proven on their heads."""
    UNPROVEN = "unproven"
    """A merge group with a pull request about which nothing is known that counts."""
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
    checks: tuple[CheckGroup, ...] = ()
    """Bridge's own tests that the change calls for."""
    widened: tuple[str, ...] = ()
    """Why the selection was widened: truncated file list, unknown path, API error."""

    @property
    def uncovered(self) -> tuple[Choice, ...]:
        """Skipped levels that the rules ask for and this release's catalogue does not hold: a run proves less."""
        return tuple(c for c in self.skipped if any(reason.rule == NOT_IN_CATALOGUE for reason in c.reasons))

    def required(self, suite: Suite) -> tuple[int, ...]:
        """All level numbers of `suite` that the rules ask for, whether or not this release can run them."""
        return tuple(sorted(c.level for c in (*self.chosen, *self.uncovered) if c.suite is suite))


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
    suite_tests: tuple[str, ...] = ()
    """Of the suite's own unit tests, with pytest's options before them."""
    phases: tuple[Phase, ...]
    """Resolved: variant env and overrides applied, placeholders still in."""
    requirements: tuple[Requirement, ...] = ()
    """Data and models that must be there first; what a variant makes unnecessary is left out."""
    check_groups: tuple[CheckGroup, ...] = ()
    """Bridge tests that the change calls for, beside `bridge_tests`."""
    bridge_base: Commit | None = None
    """Merge base of the change: where a test fails, it is asked whether it failed before."""
    lacks: tuple[Lack, ...] = ()
    """What the suite's pin lacks where one interpreter serves everything: the machine knows whether it does."""
    blocked: NotStarted | None = None
    """Set when it cannot start; it gets no job and a Blocked verdict."""


class Convergence(Record, frozen=True, kw_only=True):
    """A threshold agreed before the run: only where it is met may a run be called converged."""

    suite: Suite
    level: int
    metric: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    aggregate: Aggregate = Aggregate.LAST
    bound: Bound
    value: float
    because: Annotated[str, msgspec.Meta(min_length=10, max_length=300)]
    """Who agreed on it, and why this number."""


class Waiver(Record, frozen=True, kw_only=True):
    """Somebody's word that one level that did not pass may be merged. It is for one commit."""

    suite: Suite
    level: int
    actor: str
    role: str
    reason: str
    commit: Commit
    comment_id: int


class Proven(Record, frozen=True, kw_only=True):
    """A leg that is not run again: it passed on this very commit with all that decides about it being the same."""

    leg: Id
    suite: Suite
    level: int
    title: str
    at: str
    """When its check was completed, by GitHub's clock: ISO 8601."""
    url: str | None


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
    convergence: tuple[Convergence, ...] = ()
    """Thresholds of the base branch's configuration; nothing of the pull request."""
    attempt: int = 1
    product_commit: Commit | None = None
    """Our own commit, null in a local run of a dirty tree."""
    ask: str = ""
    """The command that asks for the same once more; empty where nothing was asked for."""
    replaces: Commit | None = None
    """Earlier head of the pull request: what still runs on it is superseded."""
    waivers: tuple[Waiver, ...] = ()
    proven: tuple[Proven, ...] = ()
    """Asked for, and not among `legs`."""

    @property
    def id(self) -> str:
        """First 12 hex digits of the digest: marker in comments and `external_id` of checks."""
        return digest(self)[:12]

    def stage(self, name: str) -> tuple[Leg, ...]:
        """The legs of `smoke` or `deep`, in order; also those that cannot start."""
        return tuple(leg for leg in self.legs if leg.stage == name)


def leg_id(suite: Suite, level: int, level_id: str, variants: tuple[str, ...]) -> str:
    """Unique within a plan and safe in artifact, check and job names: `verl-0-lora-ddp-eager`."""
    return "-".join((suite.value, str(level), level_id, *variants))[:63].rstrip("-")


class _Bridge(NamedTuple):
    repository: str
    commit: str
    mcore: str | None
    base: str | None
    checks: tuple[CheckGroup, ...]


def build_legs(  # noqa: PLR0913 - one keyword for each thing that a caller may know
    catalogue: Catalogue,
    selection: Selection,
    *,
    bridge_repository: str,
    bridge_commit: str,
    mcore_commit: str | None,
    variants: Mapping[Suite, tuple[str, ...]] | None = None,
    model: LegModel | None = None,
    traits: frozenset[Trait] | None = None,
    gpus: int | None = None,
    bridge_base: str | None = None,
) -> tuple[Leg, ...]:
    """The legs of each chosen level, level 0 as `smoke`, the others as `deep`.

    Args:
        catalogue: the levels and pins.
        selection: what to run.
        bridge_repository: clone URL of the repository that the pull request is against.
        bridge_commit: the consented commit.
        mcore_commit: the submodule's gitlink, when known.
        variants: variants asked for by name: one leg of each level with exactly those, instead of the level's own legs.
        model: replaces the level's default model.
        traits: of the model's family; null when nobody knows them, and then no variant is refused for want of one.
        gpus: replaces the level's number of GPUs.
        bridge_base: the change's merge base, when known.

    Raises:
        UsageError: for a level or variant that does not exist, and for values that cannot work.

    """
    wanted = variants or {}
    bridge = _Bridge(bridge_repository, bridge_commit, mcore_commit, bridge_base, selection.checks)
    legs: list[Leg] = []
    for choice in selection.chosen:
        level = catalogue.level(choice.suite, choice.level)
        names = wanted.get(choice.suite, ())
        refuse_hollow(level, names)
        shapes = [names] if names else [shape.variants for shape in shapes_for(level, traits or frozenset())]
        for shape in shapes:
            chosen = variants_of(level, shape)
            used = model or _default_model(catalogue, level, chosen)
            if traits is not None:
                refuse_traits(level, chosen, traits, used.name)
            legs.append(_build_leg(catalogue, level, chosen, bridge, used, gpus))
    return tuple(legs)


def _build_leg(
    catalogue: Catalogue,
    level: Level,
    chosen: tuple[Variant, ...],
    bridge: _Bridge,
    model: LegModel,
    gpus: int | None,
) -> Leg:
    pin = catalogue.pins.suite(level.suite)
    ids = tuple(variant.id for variant in chosen)
    title = f"{level.suite.label} {level.number} {level.title}"
    phases = resolve_phases(level, chosen)
    count = gpus_of(level, chosen)
    if gpus is not None:
        count, phases = gpus, with_gpus(phases, gpus, title)
    few = too_few_gpus(level, chosen, count)
    if few is None:
        refuse_sizes(level.suite, title, phases, count, catalogue)
    refuse_guarded(level.suite, title, phases, catalogue)
    return Leg(
        id=leg_id(level.suite, level.number, level.id, ids),
        suite=level.suite,
        level=level.number,
        level_id=level.id,
        variants=ids,
        title=title,
        stage="smoke" if level.number == 0 else "deep",
        bridge_repository=bridge.repository,
        bridge_commit=bridge.commit,
        mcore_repository=catalogue.pins.mcore_repository,
        mcore_commit=bridge.mcore,
        suite_pin=pin,
        workarounds=catalogue.pins.workarounds_for(pin),
        model=model,
        gpus=count,
        minutes=sum(phase.minutes for phase in phases),
        bridge_tests=level.bridge_tests,
        suite_tests=(*level.suite_test_options, *level.suite_tests) if level.suite_tests else (),
        phases=phases,
        requirements=requirements_of(level, chosen),
        check_groups=bridge.checks,
        bridge_base=bridge.base,
        lacks=tuple(lack for lack in lacks_of(level, chosen, pin) if lack.unless_module is not None),
        blocked=problem_of(level, chosen, pin) or few,
    )


def with_gpus(phases: tuple[Phase, ...], gpus: int, title: str) -> tuple[Phase, ...]:
    """The phases on that number of GPUs, through the setting that each wrapper reads.

    Raises:
        UsageError: when a phase that trains declares no such setting.

    """
    if not all(phase.gpus_env or phase.gpus_override for phase in phases if phase.kind == "train"):
        raise UsageError(
            doing=f"setting the number of GPUs of {title}",
            found="no gpus_env and no gpus_override in one of its phases",
            expected="a level whose wrapper takes a number of GPUs",
            next_step="leave --gpus out",
        )
    return tuple(_phase_with_gpus(phase, gpus) for phase in phases)


def _phase_with_gpus(phase: Phase, gpus: int) -> Phase:
    env = {**phase.env, phase.gpus_env: str(gpus)} if phase.gpus_env else phase.env
    more = (f"{phase.gpus_override}={gpus}",) if phase.gpus_override else ()
    return msgspec.structs.replace(phase, env=env, overrides=(*phase.overrides, *more))


def _default_model(catalogue: Catalogue, level: Level, chosen: tuple[Variant, ...]) -> LegModel:
    name = next((variant.default_model for variant in chosen if variant.default_model), level.default_model)
    revision = next((pin.revision for pin in catalogue.pins.models if pin.name == name), None)
    return LegModel(name=name, revision=revision)
