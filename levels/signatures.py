"""Known log patterns as data, matched in linear time. Verdicts never belong here."""

from collections.abc import Iterable
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
import re2

from levels.catalogue import parse
from levels.errors import ConfigError
from levels.log_errors import LogFrame
from levels.model import Attribution, Boundary, Id, Outcome, Record, Suite

MAX_MATCHED_CHARS: Final = 2_000
"""A longer line is matched on its first characters only."""

MAX_PROGRAM_BYTES: Final = 128 * 1024**2
"""RE2 gives up silently beyond its budget; the default of 8 MiB is too small for all patterns at once."""


class Weight(StrEnum):
    """How much a matched error says about the cause. Explained on top of signatures.yaml."""

    CAUSE = "cause"
    CONSEQUENCE = "consequence"
    NOISE = "noise"
    SWALLOWED = "swallowed"
    WAITING = "waiting"


class Built(StrEnum):
    """How far Bridge's construction of the model has come."""

    NO = "no"
    PARTIAL = "partial"
    YES = "yes"


class Signature(Record, frozen=True, kw_only=True):
    """One known pattern."""

    id: Id
    pattern: str
    source: str
    category: str
    weight: Weight = Weight.CAUSE
    where: Literal["line", "exception", "any"] = "any"
    boundary: Boundary | None = None
    """null means: the stage in which it was seen."""
    before: Boundary | None = None
    """Boundary while construction has not begun; replaces `boundary` then."""
    attribution: Attribution | None = None
    """null means: by the owner of the raising frame."""
    remedy: str = ""
    until: Literal["construction", "built", "end"] = "end"
    """Applies only before construction began, before it was finished, or always."""
    needs_frames: Id | None = None
    unless_frames: Id | None = None


class Signatures(Record, frozen=True, kw_only=True):
    """The whole of signatures.yaml."""

    version: Annotated[int, msgspec.Meta(ge=1, le=1)]
    signatures: tuple[Signature, ...]


class BoundaryRule(Record, frozen=True, kw_only=True):
    """What a break at `boundary` means, by the state of construction. Boundaries not listed: Fail."""

    boundary: Boundary
    before: Outcome
    during: Outcome
    after: Outcome


class Actor(Record, frozen=True, kw_only=True):
    """A kind of writer."""

    pattern: str
    role: Literal["driver", "policy", "engine", "reward", "rollout"]
    now: Boundary | None = None
    suites: tuple[Suite, ...] = ()


class Marker(Record, frozen=True, kw_only=True):
    """A line that shows a stage."""

    id: Id
    pattern: str
    now: Boundary
    suites: tuple[Suite, ...] = ()
    built: Built = Built.NO
    engine_up: bool = False
    progress: bool = False
    """A whole step, or the run, is done: what was printed before did not stop the run."""
    starts: bool = False
    """The program starts (again)."""


class States(Record, frozen=True, kw_only=True):
    """A line that states a setting."""

    pattern: str
    name: str
    value: str
    suites: tuple[Suite, ...] = ()


class FrameRule(Record, frozen=True, kw_only=True):
    """Frames of these files and functions."""

    id: Id
    file: str
    function: str
    boundary: Boundary | None = None
    use: Literal["boundary", "group"] = "boundary"


class Owner(Record, frozen=True, kw_only=True):
    """Whose code a file is."""

    owner: Literal["bridge", "mcore", "suite"]
    file: str


class Stages(Record, frozen=True, kw_only=True):
    """The whole of stages.yaml."""

    version: Annotated[int, msgspec.Meta(ge=1, le=1)]
    boundaries: tuple[BoundaryRule, ...]
    actors: tuple[Actor, ...]
    markers: tuple[Marker, ...]
    states: tuple[States, ...]
    frames: tuple[FrameRule, ...]
    owners: tuple[Owner, ...]


class PatternSet:
    """Many patterns, one linear pass over a text: the indices of those that occur, in order."""

    def __init__(self, patterns: Iterable[str], *, key: str) -> None:
        """Compile.

        Raises:
            ConfigError: naming the first pattern that RE2 does not accept.

        """
        options = re2.Options()
        options.max_mem = MAX_PROGRAM_BYTES
        options.log_errors = False
        self._set: Any = re2.Set.SearchSet(options)
        self._empty = True
        for index, pattern in enumerate(patterns):
            compiled(pattern, key=f"{key}[{index}].pattern")
            self._set.Add(pattern)
            self._empty = False
        if not self._empty:
            self._set.Compile()

    def hits(self, text: str) -> list[int]:
        """Indices of the patterns that occur in the first `MAX_MATCHED_CHARS` of `text`, smallest first."""
        return [] if self._empty else sorted(self._set.Match(text[:MAX_MATCHED_CHARS]) or ())


def compiled(pattern: str, *, key: str) -> Any:  # noqa: ANN401 - re2 has no stubs
    """The RE2 program of `pattern`.

    Raises:
        ConfigError: when RE2 does not accept it.

    """
    try:
        return re2.compile(pattern)
    except re2.error as error:
        raise ConfigError(
            path="signatures.yaml or stages.yaml",
            key=key,
            found=f"{pattern!r}: {error}",
            expected="RE2 syntax (no backreference, no look-around)",
            next_step="rewrite the pattern",
        ) from error


class Knowledge:
    """Signatures and stages of one suite, compiled."""

    def __init__(self, suite: Suite, signatures: Signatures, stages: Stages) -> None:
        """Compile what concerns `suite`."""
        self.suite = suite
        self.markers = tuple(m for m in stages.markers if not m.suites or suite in m.suites)
        self.states = tuple(s for s in stages.states if not s.suites or suite in s.suites)
        self._actors = tuple(
            (compiled(a.pattern, key="actors"), a) for a in stages.actors if not a.suites or suite in a.suites
        )
        self.line_signatures = tuple(s for s in signatures.signatures if s.where != "exception")
        self.exception_signatures = tuple(s for s in signatures.signatures if s.where != "line")
        self._lines = PatternSet(
            [m.pattern for m in self.markers]
            + [s.pattern for s in self.states]
            + [s.pattern for s in self.line_signatures],
            key="markers",
        )
        self._exceptions = PatternSet([s.pattern for s in self.exception_signatures], key="signatures")
        self._frames = tuple(
            (compiled(rule.file, key="frames.file"), compiled(rule.function, key="frames.function"), rule)
            for rule in stages.frames
        )
        self._owners = tuple((compiled(item.file, key="owners"), item.owner) for item in stages.owners)
        self.rules = {rule.boundary: rule for rule in stages.boundaries}
        self.by_id = {signature.id: signature for signature in signatures.signatures}

    def on_line(self, text: str) -> tuple[list[Marker], list[States], list[Signature]]:
        """What `text` shows."""
        markers: list[Marker] = []
        states: list[States] = []
        signatures: list[Signature] = []
        for index in self._lines.hits(text):
            if index < len(self.markers):
                markers.append(self.markers[index])
            elif index < len(self.markers) + len(self.states):
                states.append(self.states[index - len(self.markers)])
            else:
                signatures.append(self.line_signatures[index - len(self.markers) - len(self.states)])
        return markers, states, signatures

    def on_exception(self, text: str) -> list[Signature]:
        """Signatures that fit the words of an exception, in order."""
        return [self.exception_signatures[index] for index in self._exceptions.hits(text)]

    def actor(self, name: str) -> Actor | None:
        """The kind of writer that `name` is."""
        return next((actor for pattern, actor in self._actors if name and pattern.search(name)), None)

    def frame_boundary(self, frames: tuple[LogFrame, ...]) -> Boundary | None:
        """The boundary that the first fitting rule names."""
        for file, function, rule in self._frames:
            if rule.use == "boundary" and any(_fits(file, function, frame) for frame in frames):
                return rule.boundary
        return None

    def in_group(self, group: str, frames: tuple[LogFrame, ...]) -> bool:
        """Whether a frame fits the rule called `group`."""
        return any(
            _fits(file, function, frame)
            for file, function, rule in self._frames
            if rule.id == group
            for frame in frames
        )

    def owner(self, file: str) -> Literal["bridge", "mcore", "suite", "elsewhere"]:
        """Whose code `file` is."""
        return next((owner for pattern, owner in self._owners if pattern.search(file)), "elsewhere")


def _fits(file: Any, function: Any, frame: LogFrame) -> bool:  # noqa: ANN401 - re2 has no stubs
    return bool(file.search(frame.file)) and bool(function.fullmatch(frame.function.rpartition(".")[2]))


def load(suite: Suite, root: Path | None = None) -> Knowledge:
    """Signatures and stages of `suite` from `root` (default: the YAML files beside this module).

    Raises:
        ConfigError: with file and key path.

    """
    where = root if root is not None else files("levels")
    signatures = parse((where / "signatures.yaml").read_text(encoding="utf-8"), Signatures, path="signatures.yaml")
    stages = parse((where / "stages.yaml").read_text(encoding="utf-8"), Stages, path="stages.yaml")
    return Knowledge(suite, signatures, stages)
