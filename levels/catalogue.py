"""Strict YAML to model, with key paths in every error. Facts about a level never stand here.

Duplicate keys, anchors and unquoted env values are refused: `null`, `True` and `1` must arrive as written.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import yaml

from levels.errors import ConfigError, UsageError
from levels.expand import expand
from levels.model import (
    PLACEHOLDERS,
    Criterion,
    Guard,
    Level,
    Limitation,
    Phase,
    Requirement,
    Suite,
    SuiteCatalogue,
    Variant,
)
from levels.pins import Pins

SUITE_FILES: Final = {Suite.VERL: "verl.yaml", Suite.NEMO_RL: "nemo_rl.yaml"}
MAX_YAML_BYTES: Final = 1_000_000
_PLACEHOLDER: Final = re.compile(r"@\{([^}]*)\}")
_KEY_PATH: Final = re.compile(r" - at `\$?\.?(?P<key>[^`]*)`$")

T = TypeVar("T", bound=msgspec.Struct)


class _StrictLoader(yaml.SafeLoader):
    """PyYAML's safe loader without duplicate keys, anchors and aliases."""

    def compose_node(self, parent: Any, index: Any) -> Any:  # noqa: ANN401 - PyYAML's own signature
        event = self.peek_event()  # type: ignore[no-untyped-call] # the stubs leave it untyped
        if getattr(event, "anchor", None) is not None:
            mark = event.start_mark
            raise yaml.MarkedYAMLError(None, None, "anchors and aliases are not allowed", mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - PyYAML's own signature
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                problem = f"key {key!r} is not text; quote it"
                raise yaml.MarkedYAMLError(None, None, problem, key_node.start_mark)
            if key in seen:
                raise yaml.MarkedYAMLError(None, None, f"key {key!r} stands twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def parse(text: str, kind: type[T], *, path: str) -> T:
    """`text` as `kind`.

    Raises:
        ConfigError: with file and key path.

    """
    return _convert(_plain(text, path), kind, path)


def _plain(text: str, path: str) -> object:
    if len(text) > MAX_YAML_BYTES:
        raise ConfigError(
            path=path,
            key="",
            found=f"{len(text)} characters",
            expected=f"at most {MAX_YAML_BYTES}",
            next_step="split the file or remove what does not belong there",
        )
    try:
        return yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(
            path=path,
            key=where,
            found=getattr(error, "problem", None) or type(error).__name__,
            expected="YAML with each key once and no anchors",
            next_step="correct that line",
        ) from error


def _convert(data: object, kind: type[T], path: str) -> T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise _config_error(str(error), path) from error


def _config_error(message: str, path: str) -> ConfigError:
    match = _KEY_PATH.search(message)
    key = match["key"] if match else ""
    problem = message[: match.start()] if match else message
    expected, _, found = problem.partition(", got ")
    quote = "`str`" in expected
    return ConfigError(
        path=path,
        key=key,
        found=found or problem,
        expected=expected.removeprefix("Expected ") if found else "what levels/schemas says",
        next_step="quote the value, so that it arrives as written" if quote else "correct the value at that key",
    )


class Catalogue(msgspec.Struct, frozen=True, kw_only=True):
    """All levels of both suites, and the pins."""

    levels: tuple[Level, ...]
    pins: Pins
    sizes: Mapping[Suite, Mapping[str, tuple[str, ...]]]
    """By suite: the env vars and override keys of each parallel size."""
    foreign_env: Mapping[Suite, Mapping[str, str]]
    """By suite: env vars that another program reads, and which."""
    handed_on: Mapping[Suite, Mapping[str, str]]
    """By suite: configuration keys whose mapping another program takes, and which."""
    guards: Mapping[Suite, tuple[Guard, ...]]
    """By suite: what it refuses by itself."""

    def of(self, suite: Suite) -> tuple[Level, ...]:
        """The levels of `suite`, by number."""
        return tuple(level for level in self.levels if level.suite is suite)

    def level(self, suite: Suite, number: int) -> Level:
        """One level.

        Raises:
            UsageError: when the suite has no level of that number.

        """
        known = self.of(suite)
        for level in known:
            if level.number == number:
                return level
        raise UsageError(
            doing=f"looking up a level of {suite.label}",
            found=f"level {number}",
            expected="one of " + ", ".join(str(level.number) for level in known),
            next_step="see `bridge-e2e catalogue`",
        )


def variants_of(level: Level, names: Iterable[str]) -> tuple[Variant, ...]:
    """The variants called `names`, in the level's own order.

    Raises:
        UsageError: for a name that the level does not have.

    """
    wanted = set(names)
    unknown = wanted - {variant.id for variant in level.variants}
    if unknown:
        raise UsageError(
            doing=f"looking up variants of {level.suite.label} level {level.number}",
            found=", ".join(sorted(unknown)),
            expected="some of " + (", ".join(v.id for v in level.variants) or "no variant at all"),
            next_step="see `bridge-e2e catalogue`",
        )
    chosen = tuple(variant for variant in level.variants if variant.id in wanted)
    _check_together(level, chosen)
    return chosen


def _check_together(level: Level, chosen: tuple[Variant, ...]) -> None:
    """Refuse variants that exclude each other, or that each bring another wrapper."""
    names = {variant.id for variant in chosen}
    own = [variant.id for variant in chosen if variant.phases]
    clash = [(v.id, other) for v in chosen for other in v.excludes if other in names] or (
        [(own[0], own[1])] if len(own) > 1 else []
    )
    if clash:
        raise UsageError(
            doing=f"combining variants of {level.suite.label} level {level.number}",
            found=f"{clash[0][0]} together with {clash[0][1]}",
            expected="variants that change different things",
            next_step="ask for them one after the other",
        )


def resolve_phases(level: Level, variants: tuple[Variant, ...]) -> tuple[Phase, ...]:
    """The phases of the leg, env and overrides of the variants applied to those that train; placeholders stay.

    A variant with phases of its own replaces the level's (`check_variants` refuses two of them together).
    """
    env = {name: value for variant in variants for name, value in variant.env.items()}
    overrides = tuple(override for variant in variants for override in variant.overrides)
    own = next((variant.phases for variant in variants if variant.phases), level.phases)
    extra = tuple(phase for variant in variants for phase in variant.extra_phases)
    return tuple(
        phase
        if phase.kind == "helper"
        else msgspec.structs.replace(
            phase, env={**phase.env, **env}, overrides=last_of_each_key((*phase.overrides, *overrides))
        )
        for phase in (*own, *extra)
    )


def last_of_each_key(overrides: tuple[str, ...]) -> tuple[str, ...]:
    """`overrides` without those that a later one replaces: what a command shows is what takes effect."""
    last = {_key(override): index for index, override in enumerate(overrides)}
    return tuple(override for index, override in enumerate(overrides) if last[_key(override)] == index)


def _key(override: str) -> str:
    return override.lstrip("+~").partition("=")[0]


def criteria_of(level: Level, variants: tuple[Variant, ...]) -> tuple[Criterion, ...]:
    """The level's criteria, less those that a variant drops; one that it adds replaces one of the same id."""
    dropped = {name for variant in variants for name in variant.drops_criteria}
    kept = {criterion.id: criterion for criterion in level.criteria if criterion.id not in dropped}
    return tuple({**kept, **{item.id: item for variant in variants for item in variant.adds_criteria}}.values())


def limitations_of(level: Level, variants: tuple[Variant, ...], phases: tuple[Phase, ...]) -> tuple[str, ...]:
    """The sentences whose condition holds in the effective settings of `phases`, each once."""
    stated = (*level.limitations, *(item for variant in variants for item in variant.limitations))
    return tuple(dict.fromkeys(item.says for item in stated if _applies(item, phases)))


def _applies(item: Limitation, phases: tuple[Phase, ...]) -> bool:
    if not item.when_env and not item.when_override and not item.unless_override:
        return True
    return any(
        item.when_env.items() <= phase.env.items()
        and item.when_override.items() <= override_values(phase).items()
        and not item.unless_override.items() & override_values(phase).items()
        for phase in phases
        if phase.kind == "train"
    )


def requirements_of(level: Level, variants: tuple[Variant, ...]) -> tuple[Requirement, ...]:
    """The data and models that the leg needs: the level's, less those that a variant replaces or makes unnecessary."""
    ids = {variant.id for variant in variants}
    dropped = {name for variant in variants for name in variant.drops_requirements}
    kept = [item for item in level.requirements if not ids & set(item.unless_variant) and item.id not in dropped]
    return (*kept, *(item for variant in variants for item in variant.requirements))


def override_values(phase: Phase) -> Mapping[str, str]:
    """Override key (without `+`) to value; a later one wins, as in Hydra."""
    pairs = (override.lstrip("+~").partition("=") for override in phase.overrides)
    return {key: value for key, _, value in pairs}


def load(root: Path | Traversable | None = None) -> Catalogue:
    """The catalogue in `root` (default: the YAML files beside this module).

    Raises:
        ConfigError: with file and key path, for anything that is not right.

    """
    where: Path | Traversable = root if root is not None else files("levels")
    suites = {
        suite: _convert(
            expand(_plain((where / name).read_text(encoding="utf-8"), name), path=name), SuiteCatalogue, name
        )
        for suite, name in SUITE_FILES.items()
    }
    pins = parse((where / "pins.yaml").read_text(encoding="utf-8"), Pins, path="pins.yaml")
    for suite, data in suites.items():
        _check_suite(data, suite, SUITE_FILES[suite])
    _check(
        {pin.suite for pin in pins.suites} == set(Suite) and len(pins.suites) == len(Suite),
        path="pins.yaml",
        key="suites",
        found=", ".join(pin.suite.value for pin in pins.suites),
        expected="each suite exactly once",
    )
    return Catalogue(
        levels=tuple(level for data in suites.values() for level in data.levels),
        pins=pins,
        sizes={suite: data.sizes for suite, data in suites.items()},
        foreign_env={suite: data.foreign_env for suite, data in suites.items()},
        handed_on={suite: data.handed_on for suite, data in suites.items()},
        guards={suite: data.guards for suite, data in suites.items()},
    )


def _check_suite(data: SuiteCatalogue, suite: Suite, path: str) -> None:
    _check(data.suite is suite, path=path, key="suite", found=data.suite.value, expected=suite.value)
    numbers = [level.number for level in data.levels]
    _check(
        numbers == sorted(set(numbers)),
        path=path,
        key="levels",
        found=str(numbers),
        expected="levels in rising order, each number once",
    )
    for index, level in enumerate(data.levels):
        _check_level(level, suite, path, f"levels[{index}]")
        _check_never_set(level, data.never_set, path, f"levels[{index}]")


def _check_level(level: Level, suite: Suite, path: str, key: str) -> None:
    _check(level.suite is suite, path=path, key=f"{key}.suite", found=level.suite.value, expected=suite.value)
    named: tuple[tuple[str, Callable[[], list[str]]], ...] = (
        ("phases", lambda: [phase.id for phase in level.phases]),
        ("variants", lambda: [variant.id for variant in level.variants]),
        ("criteria", lambda: [criterion.id for criterion in level.criteria]),
    )
    for field, ids in named:
        _check(
            len(ids()) == len(set(ids())),
            path=path,
            key=f"{key}.{field}",
            found=", ".join(ids()),
            expected="each id once",
        )
    _check(bool(level.phases), path=path, key=f"{key}.phases", found="none", expected="at least one phase")
    own = {criterion.id for criterion in level.criteria}
    for variant in level.variants:
        _check(
            set(variant.drops_criteria) <= own,
            path=path,
            key=f"{key}.variants",
            found=", ".join(sorted(set(variant.drops_criteria) - own)),
            expected="criteria of the same level",
        )
    for name in _PLACEHOLDER.findall(" ".join(_texts(level))):
        _check(
            name in PLACEHOLDERS,
            path=path,
            key=key,
            found=f"@{{{name}}}",
            expected="one of " + ", ".join(sorted(PLACEHOLDERS)),
        )


def _check_never_set(level: Level, never: Mapping[str, str], path: str, key: str) -> None:
    """No env, override or argument names what would make a green run mean less."""
    parts: tuple[Phase | Variant, ...] = (*all_phases(level), *level.variants)
    texts = [*_texts(level), *(name for part in parts for name in part.env)]
    for name, why in never.items():
        found = next((text for text in texts if name in text), "")
        _check(not found, path=path, key=key, found=found, expected=f"no {name} anywhere: {why}")


def all_phases(level: Level) -> tuple[Phase, ...]:
    """The level's phases and those of its variants."""
    return (*level.phases, *(p for variant in level.variants for p in (*variant.phases, *variant.extra_phases)))


def _texts(level: Level) -> Iterable[str]:
    parts: tuple[Phase | Variant, ...] = (*all_phases(level), *level.variants)
    for part in parts:
        yield from part.env.values()
        yield from part.overrides
    for phase in all_phases(level):
        yield from phase.command
        yield from phase.arguments
        yield from phase.pythonpath_prefix
    for requirement in (*level.requirements, *(item for variant in level.variants for item in variant.requirements)):
        yield requirement.path
        yield from requirement.prepare


def _check(holds: bool, *, path: str, key: str, found: str, expected: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not holds:
        raise ConfigError(path=path, key=key, found=found, expected=expected, next_step="correct the value at that key")


def fill(text: str, values: Mapping[str, str]) -> str:
    """`text` with each `@{name}` replaced once.

    Raises:
        KeyError: for a placeholder without a value (the catalogue only allows known ones).

    """
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)
