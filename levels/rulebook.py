"""The rules as data: shape, strict loading, matching. What follows from a match stands in levels/rules.py.

Patterns are gitignore patterns (pathspec) and RE2 expressions, compiled once and matched in linear time: names and
lines of a pull request are hostile.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Final

import msgspec
import re2
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from levels.catalogue import parse
from levels.changes import Status, Unit
from levels.errors import ConfigError
from levels.model import Id, Record, Suite, Trait

RULES_FILE: Final = "rules.yaml"
Pattern = Annotated[str, msgspec.Meta(min_length=1, max_length=300, pattern=r"^[^!#\s][^\s]*$")]
"""A gitignore pattern without negation: the order of the rules does that."""
Numbers = tuple[Annotated[int, msgspec.Meta(ge=0, le=9)], ...]
Key = tuple[Suite, int]


class Effect(StrEnum):
    """What a content rule does with the path's answer."""

    ONLY = "only"
    """Replaces it for this Unit, and nothing is added. Without levels: neither loop runs these lines."""
    INSTEAD = "instead"
    """Replaces it for this Unit. A suite that it does not name does not run these lines: nothing is added there."""
    ALSO = "also"
    """Adds to it."""


class Levels(Record, frozen=True, kw_only=True, rename={"nemo_rl": "nemo-rl"}):
    """The level numbers that something asks for."""

    verl: Numbers = ()
    nemo_rl: Numbers = ()

    def wanted(self) -> frozenset[Key]:
        """As suite and number."""
        return frozenset(
            [(Suite.VERL, number) for number in self.verl] + [(Suite.NEMO_RL, number) for number in self.nemo_rl]
        )


class PathRule(Levels, frozen=True, kw_only=True):
    """Path patterns and the levels that such a file needs when nothing is known of its lines."""

    id: Id
    paths: Annotated[tuple[Pattern, ...], msgspec.Meta(min_length=1)]
    reason: str
    source: str


class TogetherRule(Levels, frozen=True, kw_only=True):
    """Levels that files need only in company: one path matches `paths`, another one `beside`."""

    id: Id
    paths: Annotated[tuple[Pattern, ...], msgspec.Meta(min_length=1)]
    beside: Annotated[tuple[Pattern, ...], msgspec.Meta(min_length=1)]
    reason: str
    source: str


class ContentRule(Levels, frozen=True, kw_only=True):
    """What changed lines say. Every condition that is given must hold."""

    id: Id
    effect: Effect
    paths: Annotated[tuple[Pattern, ...], msgspec.Meta(min_length=1)]
    scopes: tuple[str, ...] = ()
    """Names of functions or classes; `*` is a wildcard; a name matches at any depth, a dotted name the whole scope."""
    words: str | None = None
    """RE2 pattern that some changed line must hold."""
    every_line: str | None = None
    """RE2 pattern that each changed line must hold."""
    status: tuple[Status, ...] = ()
    within_path: bool = False
    """Levels that the path's own rule does not have are left out."""
    family: str | None = None
    """Smoke family when no path names one."""
    reason: str
    source: str


class Family(Record, frozen=True, kw_only=True):
    """A model family with the smallest public checkpoint that can stand for it."""

    key: str
    paths: tuple[Pattern, ...] = ()
    model: str | None
    """Null: no public checkpoint is small enough; a toy of reduced configuration."""
    parameters: str
    gpus: int
    """GPUs that hold it for a smoke; an estimate."""
    kind: Annotated[str, msgspec.Meta(pattern=r"^(dense|moe|vlm|audio)$")] = "dense"
    also: tuple[Trait, ...] = ()
    """What it has beside its kind."""

    @property
    def traits(self) -> frozenset[Trait]:
        """Kind and all else; empty for plain dense text."""
        own = set() if self.kind == "dense" else {Trait(self.kind)}
        return frozenset({*own, *self.also})


class Estimate(Record, frozen=True, kw_only=True):
    """One level of the procedures' tables, with GPUs and minutes until the catalogue holds it."""

    suite: Suite
    level: int
    title: str
    required_when: str
    gpus: int
    minutes: int
    opt_in: bool = False
    source: str


class Rules(Record, frozen=True, kw_only=True):
    """The whole of rules.yaml."""

    version: Annotated[int, msgspec.Meta(ge=1, le=1)]
    paths: tuple[PathRule, ...]
    together: tuple[TogetherRule, ...]
    content: tuple[ContentRule, ...]
    families: tuple[Family, ...]
    default_family: str
    estimates: tuple[Estimate, ...]
    unknown_source: Levels
    """For a path below `src/` that no rule knows, and for a list of files that may be incomplete."""


def load(root: Path | Traversable | None = None) -> "RuleSet":
    """The rules in `root` (default: rules.yaml beside this module), ready to match.

    Raises:
        ConfigError: with file and key path, for anything that is not right.

    """
    where: Path | Traversable = root if root is not None else files("levels")
    return RuleSet(parse((where / RULES_FILE).read_text(encoding="utf-8"), Rules, path=RULES_FILE))


class RuleSet:
    """Rules with their patterns compiled once."""

    def __init__(self, rules: Rules) -> None:
        """Compile; a pattern that does not compile is a ConfigError."""
        _check(rules)
        self.rules = rules
        self.families: Mapping[str, Family] = {family.key: family for family in rules.families}
        self.estimates: Mapping[Key, Estimate] = {(e.suite, e.level): e for e in rules.estimates}
        self._paths = _PathSet([(rule.paths, f"paths.{rule.id}") for rule in rules.paths])
        self._content_paths = _PathSet([(rule.paths, f"content.{rule.id}") for rule in rules.content])
        self._together = _PathSet(
            [(side, f"together.{rule.id}") for rule in rules.together for side in (rule.paths, rule.beside)]
        )
        self._family_paths = _PathSet([(family.paths, f"families.{family.key}") for family in rules.families])
        self._content = [CompiledContent(rule) for rule in rules.content]

    def traits(self, family: str | None) -> frozenset[Trait]:
        """Traits of the family with that key; none for no family."""
        return self.families[family].traits if family is not None and family in self.families else frozenset()

    def path_rule(self, path: str) -> PathRule | None:
        """The first rule that knows `path`."""
        found = self._paths.matches(path)
        return self.rules.paths[found[0]] if found else None

    def content_rules(self, path: str) -> tuple["CompiledContent", ...]:
        """The content rules that look at `path`, in order."""
        return tuple(self._content[index] for index in self._content_paths.matches(path))

    def sides(self, path: str) -> tuple[int, ...]:
        """Which sides of the together rules `path` matches: 2n is `paths` of rule n, 2n+1 `beside`."""
        return self._together.matches(path)

    def family(self, path: str) -> Family | None:
        """The first family that `path` names."""
        found = self._family_paths.matches(path)
        return self.rules.families[found[0]] if found else None

    def wants_content(self, path: str) -> bool:
        """Whether the lines of `path` can change the answer."""
        rule = self.path_rule(path)
        return rule is None or bool(rule.wanted()) or bool(self._content_paths.matches(path))


class _PathSet:
    """Which groups of gitignore patterns match a path, in linear time for any path."""

    def __init__(self, groups: Sequence[tuple[tuple[str, ...], str]]) -> None:
        self._owner: list[int] = []
        self._single: list[re.Pattern[str]] = []
        self._set = re2.Set.SearchSet()
        for index, (patterns, key) in enumerate(groups):
            for pattern in patterns:
                expression, include = GitIgnoreSpecPattern.pattern_to_regex(pattern)
                if expression is None or include is not True:
                    raise _bad(key, pattern, "a gitignore pattern without negation")
                self._set.Add(expression)
                self._single.append(re2.compile(expression))
                self._owner.append(index)
        # RE2 answers nothing at all both for "no match" and when its automaton outgrows its memory; the empty pattern,
        # which always matches, tells the two apart.
        self._always = len(self._owner)
        self._set.Add("")
        self._set.Compile()

    def matches(self, path: str) -> tuple[int, ...]:
        """Indices of the matching groups, rising."""
        found = self._set.Match(path)
        if not found:
            found = [index for index, pattern in enumerate(self._single) if pattern.search(path)]
        return tuple(sorted({self._owner[index] for index in found if index != self._always}))


class CompiledContent:
    """A content rule with its patterns compiled."""

    def __init__(self, rule: ContentRule) -> None:
        self.rule = rule
        self._words = _compile(rule.words, f"content.{rule.id}.words")
        self._every = _compile(rule.every_line, f"content.{rule.id}.every_line")
        self._whole = _scope_pattern([scope for scope in rule.scopes if "." in scope])
        self._part = _scope_pattern([scope for scope in rule.scopes if "." not in scope])

    def holds(self, unit: Unit, status: Status) -> bool:
        """Whether every condition that the rule states holds for `unit`."""
        rule = self.rule
        return (
            (not rule.status or status in rule.status)
            and (not rule.scopes or self._in_scope(unit.scope))
            and (self._words is None or any(self._words.search(line) for line in unit.lines))
            and (self._every is None or all(self._every.search(line) for line in unit.lines))
        )

    def _in_scope(self, scope: str) -> bool:
        if self._whole is not None and self._whole.fullmatch(scope):
            return True
        return self._part is not None and any(self._part.fullmatch(part) for part in scope.split("."))


def _scope_pattern(scopes: Sequence[str]) -> "re.Pattern[str] | None":
    alternatives = "|".join(re.escape(scope).replace(r"\*", "[^.]*") for scope in scopes)
    return re2.compile(alternatives) if scopes else None


def _compile(text: str | None, key: str) -> "re.Pattern[str] | None":
    if text is None:
        return None
    try:
        return re2.compile(text)  # type: ignore[no-any-return] # re2 has no stubs
    except re2.error as error:
        raise _bad(key, text, f"an RE2 pattern ({error})") from error


def _bad(key: str, found: str, expected: str) -> ConfigError:
    return ConfigError(path=RULES_FILE, key=key, found=found, expected=expected, next_step="correct that value")


def _check(rules: Rules) -> None:
    """Ids once, levels that the tables know, families that exist.

    Raises:
        ConfigError: for the first thing that is wrong.

    """
    owners: tuple[PathRule | TogetherRule | ContentRule, ...] = (*rules.paths, *rules.together, *rules.content)
    seen: set[str] = set()
    known = {(estimate.suite, estimate.level) for estimate in rules.estimates}
    families = {family.key for family in rules.families}
    for rule in owners:
        if rule.id in seen:
            raise _bad(rule.id, "an id that stands twice", "each id once")
        seen.add(rule.id)
        unknown = sorted(f"{suite.value} {number}" for suite, number in rule.wanted() - known)
        if unknown:
            raise _bad(rule.id, ", ".join(unknown), "levels of `estimates`")
    named = {rules.default_family, *(rule.family for rule in rules.content if rule.family)}
    if not named <= families:
        raise _bad("families", ", ".join(sorted(named - families)), "keys of `families`")
