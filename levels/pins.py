"""Pins: suites, images, models and workarounds at immutable ids. Resolving a branch or tag never belongs here."""

from typing import Annotated

import msgspec

from levels.model import Boundary, Commit, Id, Record, Suite

Digest = Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$(?!\n)")]


class Image(Record, frozen=True, kw_only=True):
    """A container image. `digest` is null until somebody has read it from the registry."""

    repository: str
    tag: str
    digest: Digest | None
    engine: str
    """The rollout engine in the image; a level that asks for another one is refused at plan time."""
    source: str
    """`repo: path@commit` where the tag was read."""
    built_for: Commit | None = None
    """The suite commit that the image's publisher built it for, when it says so."""


class Lack(Record, frozen=True, kw_only=True):
    """A feature that a suite does not have at its pin, so that levels which need it cannot start."""

    feature: Id
    boundary: Boundary
    """Where a leg that needs it is Blocked."""
    unless_module: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]{0,60}$(?!\n)")] | None = None
    """Lacking only where one interpreter serves every process and cannot import this; null: lacking everywhere."""
    reason: str
    remedy: str
    source: str
    """`repo: path@commit`."""


class SuitePin(Record, frozen=True, kw_only=True):
    """One suite at one commit."""

    suite: Suite
    repository: Annotated[str, msgspec.Meta(pattern=r"^https://[^\s]+$")]
    commit: Commit
    committed: str
    """Date of the commit, `YYYY-MM-DD`."""
    image: Image
    lacks: tuple[Lack, ...] = ()


class ModelPin(Record, frozen=True, kw_only=True):
    """A model that levels may ask for. `revision` is null until somebody has read it from the hub."""

    name: str
    revision: Commit | None
    families: tuple[str, ...]
    gated: bool = False
    source: str


class Replacement(Record, frozen=True, kw_only=True):
    """One exact text change in one file of a suite."""

    file: str
    old: str
    new: str
    count: int
    """How often `old` must occur."""


class Workaround(Record, frozen=True, kw_only=True):
    """A declared change of a suite that is broken for everybody at its pin. Never a change of Bridge."""

    id: Id
    suite: Suite
    commits: tuple[Commit, ...]
    """Suite commits that it applies to."""
    replacements: tuple[Replacement, ...]
    reason: str
    link: str
    ends_when: str
    limitation: str
    """Sentence printed with every verdict of a leg that used it."""


class Pins(Record, frozen=True, kw_only=True):
    """The whole of pins.yaml."""

    version: Annotated[int, msgspec.Meta(ge=1, le=1)]
    bridge_repository: Annotated[str, msgspec.Meta(pattern=r"^https://[^\s]+$")]
    """Where Bridge lives. A pull request's leg is cloned from the event's own repository instead."""
    mcore_repository: Annotated[str, msgspec.Meta(pattern=r"^https://[^\s]+$")]
    """The only place from which the submodule is fetched, whatever `.gitmodules` of a pull request says."""
    suites: tuple[SuitePin, ...]
    models: tuple[ModelPin, ...]
    workarounds: tuple[Workaround, ...] = ()

    def suite(self, suite: Suite) -> SuitePin:
        """The pin of `suite`. Raises: KeyError when pins.yaml has none (loading refuses that)."""
        for pin in self.suites:
            if pin.suite is suite:
                return pin
        raise KeyError(suite)

    def workarounds_for(self, pin: SuitePin) -> tuple[Workaround, ...]:
        """The workarounds declared for this suite at this very commit."""
        return tuple(w for w in self.workarounds if w.suite is pin.suite and pin.commit in w.commits)
