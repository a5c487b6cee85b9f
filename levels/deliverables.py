"""Which criteria a level and its requested deliverables bring, for logs of levels that the catalogue may not hold.

How a criterion is judged never belongs here.
"""

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final

import msgspec

from levels.catalogue import Catalogue, parse, variants_of
from levels.errors import UsageError
from levels.model import Boundary, Criterion, Deliverable, Id, Level, LogFlag, Outcome, Record, Resumed, Suite

_SIZES: Final = re.compile(r"^(?:[a-z]{2,3}\d{1,4})(?:-[a-z]{2,3}\d{1,4})*$")
_SIZE: Final = re.compile(r"([a-z]{2,3})(\d{1,4})")


class Word(Record, frozen=True, kw_only=True):
    """One thing that can be asked for."""

    word: str
    title: str
    criteria: tuple[Criterion, ...] = ()
    level: int | None = None
    """A level of the catalogue that holds criteria of this deliverable: its facts stand there."""
    variant: Id | None = None
    """A variant of `level` that adds them."""
    takes: tuple[Id, ...] = ()
    """Criteria of `level`, or of its variant, that show it."""
    drops: tuple[Id, ...] = ()
    """Criteria of the base level that this deliverable's wrapper cannot meet by construction."""


class LevelWords(Record, frozen=True, kw_only=True):
    """What a level number brings along unasked."""

    number: int
    brings: tuple[str, ...]
    unless: tuple[str, ...] = ()
    """Not when one of these was asked for."""


class SuiteWords(Record, frozen=True, kw_only=True):
    """One suite's part of deliverables.yaml."""

    suite: Suite
    levels: tuple[LevelWords, ...]
    deliverables: tuple[Word, ...]


class Words(Record, frozen=True, kw_only=True):
    """The whole of deliverables.yaml."""

    version: Annotated[int, msgspec.Meta(ge=1, le=1)]
    suites: tuple[SuiteWords, ...]

    def of(self, suite: Suite) -> SuiteWords:
        """One suite's words.

        Raises:
            KeyError: when the file has none (a test holds that it has both).

        """
        for item in self.suites:
            if item.suite is suite:
                return item
        raise KeyError(suite)


class Ask(Record, frozen=True, kw_only=True):
    """What a log is held to."""

    suite: Suite
    number: int
    title: str
    base: Level
    """The catalogue's level, or level 0 where it has no such number."""
    criteria: tuple[Criterion, ...]
    titles: tuple[str, ...]
    """Of the requested deliverables."""
    phases: tuple[Id, ...] = ()
    """The phases that requested deliverables are about."""
    asked: tuple[Id, ...] = ()
    """Criteria of requested deliverables: they must be met by this log, whichever phase it is of."""
    unknown: tuple[str, ...] = ()
    """Requested words for which no criterion is known: they cannot be shown by a log."""


def load(root: Path | None = None) -> Words:
    """The words in `root` (default: the file beside this module).

    Raises:
        ConfigError: with file and key path.

    """
    where = root if root is not None else files("levels")
    return parse((where / "deliverables.yaml").read_text(encoding="utf-8"), Words, path="deliverables.yaml")


def ask(catalogue: Catalogue, words: Words, suite: Suite, number: int, requested: tuple[str, ...]) -> Ask:
    """The criteria for a log of `suite` at level `number` with `requested` deliverables.

    Raises:
        UsageError: for a level number that the suite's procedure does not have.

    """
    highest = {Suite.VERL: 5, Suite.NEMO_RL: 6}[suite]
    if not 0 <= number <= highest:
        raise UsageError(
            doing=f"looking up a level of {suite.label}",
            found=f"level {number}",
            expected=f"0 to {highest}",
            next_step="see `bridge-e2e catalogue`",
        )
    own = next((level for level in catalogue.of(suite) if level.number == number), None)
    base = own or catalogue.level(suite, 0)
    part = words.of(suite)
    known = {word.word: word for word in part.deliverables}
    brought = () if own and number else _brought(part, number, requested)
    wanted = tuple(dict.fromkeys((*requested, *brought)))
    dropped = {name for word in wanted if word in known for name in known[word].drops}
    if requested and "lora" not in requested:
        dropped |= {criterion.id for criterion in _shown_by(known["lora"], catalogue, suite)}
    criteria = {criterion.id: criterion for criterion in base.criteria if criterion.id not in dropped}
    titles: list[str] = []
    unknown: list[str] = []
    asked: list[Criterion] = []
    for name in wanted:
        added, title = _criteria(name, known, catalogue, suite)
        titles.append(title)
        if title == name and name not in known and not added:
            unknown.append(name)
        asked += added
    for criterion in asked:
        criteria.setdefault(criterion.id, criterion)
    return Ask(
        suite=suite,
        number=number,
        title=base.title if own else (", ".join(titles) or f"level {number}"),
        base=base,
        criteria=tuple(_of_any_step(criterion) for criterion in criteria.values()),
        titles=tuple(titles),
        phases=tuple(criterion.phase for criterion in asked if criterion.phase is not None),
        asked=tuple(criterion.id for criterion in asked),
        unknown=tuple(unknown),
    )


def _brought(part: SuiteWords, number: int, requested: tuple[str, ...]) -> tuple[str, ...]:
    for item in part.levels:
        if item.number == number and not set(item.unless) & set(requested):
            return item.brings
    return ()


def _of_any_step(criterion: Criterion) -> Criterion:
    """Whoever ran it saved when they liked: only a leg's own phases say from which step a run must go on."""
    return msgspec.structs.replace(criterion, from_step=0) if isinstance(criterion, Resumed) else criterion


def _shown_by(word: Word, catalogue: Catalogue, suite: Suite) -> tuple[Criterion, ...]:
    if word.level is None:
        return word.criteria
    level = catalogue.level(suite, word.level)
    criteria = level.criteria if word.variant is None else variants_of(level, [word.variant])[0].adds_criteria
    held = {criterion.id: criterion for criterion in criteria}
    return (*word.criteria, *(held[name] for name in word.takes))


def _criteria(
    name: str, known: Mapping[str, Word], catalogue: Catalogue, suite: Suite
) -> tuple[tuple[Criterion, ...], str]:
    sizes = catalogue.sizes[suite]
    if name in known:
        return _shown_by(known[name], catalogue, suite), known[name].title
    if not _SIZES.match(name):
        return (), name
    pairs = _SIZE.findall(name)
    if any(short not in sizes for short, _ in pairs):
        return (), name
    return tuple(_size(sizes[short][0], short, value) for short, value in pairs), name.upper()


def _size(setting: str, short: str, value: str) -> Criterion:
    return LogFlag(
        id=f"size-{short}",
        name=setting,
        value=value,
        required=False,
        says=f"{short.upper()} is {value}",
        source="the procedures' Parallelism Stress",
        deliverable=Deliverable.VARIANTS,
        boundary=Boundary.CONFIG,
        unmet=Outcome.FAIL,
        remedy=f"set {setting}={value}",
    )
