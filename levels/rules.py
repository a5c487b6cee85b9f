"""Changed paths and lines to a Selection with reasons. No git, no API, and no rule's content: that is rules.yaml.

A path rule answers from the path alone, the first match wins. A content rule looks at one Unit (function, class body,
import block) of a patch: `instead` replaces the path's answer for that Unit, `also` adds to it. All Units of all files
are united, so one more changed file or Unit never takes a level away.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from levels.bridge_tests import groups_for
from levels.catalogue import Catalogue
from levels.changes import API_FILE_LIMIT, Change, Status, Unit
from levels.model import Suite
from levels.plan import NOT_IN_CATALOGUE, Choice, Reason, Selection
from levels.rulebook import Effect, Estimate, Key, PathRule, RuleSet
from levels.rulebook import load as load

MAX_WIDENED: Final = 20


def select(
    changes: Iterable[Change | str], catalogue: Catalogue, rules: RuleSet, *, doubts: Sequence[str] = ()
) -> Selection:
    """Chosen and skipped levels for `changes`, each with its reasons.

    A level that the rules ask for and the catalogue does not hold is skipped with the reason `not-in-catalogue`;
    `Selection.uncovered` lists it, and nobody may say that everything was covered.

    Args:
        changes: what changed; a string is a path of which nothing else is known.
        catalogue: the levels that can run.
        rules: the rules.
        doubts: why the list of changes may be incomplete; each widens the selection.

    """
    listed = [Change(path=change) if isinstance(change, str) else change for change in changes]
    tally = _Tally(rules)
    for change in listed:
        tally.add(change)
    tally.add_together()
    if len(listed) >= API_FILE_LIMIT:
        doubts = (*doubts, f"{len(listed)} files are listed; GitHub lists no more than {API_FILE_LIMIT}")
    for doubt in doubts:
        tally.widen("incomplete-list", None, doubt)
    tally.imply_level_zero()
    found = _selection(tally, catalogue, rules)
    return msgspec.structs.replace(found, checks=groups_for(listed, rules.traits(found.family)) if found.chosen else ())


class _Tally:
    """Levels asked for so far, with one Reason for each rule and the number of files behind it."""

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self.asked: dict[Key, dict[str, tuple[Reason, set[str]]]] = {}
        self.silent: dict[str, tuple[Reason, set[str]]] = {}
        self.widened: dict[str, None] = {}
        self.families: dict[str, None] = {}
        self.hinted: dict[str, None] = {}
        self._sides: dict[int, str] = {}

    def add(self, change: Change) -> None:
        """Count one changed file, under both names of a rename."""
        for name in change.names:
            self._add_name(change, name)

    def _add_name(self, change: Change, name: str) -> None:
        rule = self.rules.path_rule(name)
        inert = change.units == () and change.status is not Status.RENAMED and not change.gitlink
        if not inert:
            for side in self.rules.sides(name):
                self._sides.setdefault(side, name)
        if rule is None:
            self._unknown(name)
        elif change.doubt is not None and self.rules.wants_content(name):
            self._doubtful(change, name, rule)
        elif change.units is None or change.gitlink or change.units == ():
            self._by_path(name, rule, inert=inert)
        else:
            for unit in change.units:
                self._by_unit(unit, change.status, name, rule)

    def _unknown(self, name: str) -> None:
        if name.startswith("src/"):
            self.widen("unknown-path", name, f"no rule knows {name}")
        else:
            self.note("outside-the-package", name, "outside src/ and 3rdparty/: no downstream imports it", frozenset())

    def _doubtful(self, change: Change, name: str, rule: PathRule) -> None:
        """Everything that the lines of this file could have asked for."""
        sentence = f"the patch of {name} could not be read: {change.doubt}"
        self.widened[sentence] = None
        self.note(rule.id, name, rule.reason, rule.wanted())
        possible = frozenset(key for content in self.rules.content_rules(name) for key in content.rule.wanted())
        self.note("unreadable-patch", name, sentence, self._without_opt_in(possible))

    def _by_path(self, name: str, rule: PathRule, *, inert: bool) -> None:
        if inert and rule.wanted():
            self.note("comments-only", name, "only comments, docstrings or layout change", frozenset())
            return
        self.note(rule.id, name, rule.reason, rule.wanted())
        self._name_family(name, rule.wanted())

    def _by_unit(self, unit: Unit, status: Status, name: str, rule: PathRule) -> None:
        holding = [content.rule for content in self.rules.content_rules(name) if content.holds(unit, status)]
        base = next((content for content in holding if content.effect is not Effect.ALSO), None)
        keys = rule.wanted()
        if base is not None:
            keys = base.wanted() & keys if base.within_path else base.wanted()
        suites = {suite for suite, _ in keys}
        source = rule if base is None else base
        self.note(source.id, name, source.reason, keys)
        self._name_family(name, keys, base.family if base else None)
        if base is not None and base.effect is Effect.ONLY:
            return
        for content in holding:
            if content.effect is Effect.ALSO:
                added = frozenset(key for key in content.wanted() if key[0] in suites)
                self.note(content.id, name, content.reason, added)
                self._name_family(name, added, content.family)

    def _name_family(self, name: str, keys: frozenset[Key], hint: str | None = None) -> None:
        family = self.rules.family(name)
        if family is not None and keys:
            self.families[family.key] = None
        if hint is not None and keys:
            self.hinted[hint] = None

    def add_together(self) -> None:
        """Count the rules both sides of which were seen."""
        for index, rule in enumerate(self.rules.rules.together):
            first, second = self._sides.get(2 * index), self._sides.get(2 * index + 1)
            if first is not None and second is not None:
                self.note(rule.id, second, rule.reason, rule.wanted())

    def widen(self, rule: str, path: str | None, sentence: str) -> None:
        """Ask for all that a doubt of this kind may hide."""
        self.widened[sentence] = None
        self.note(rule, path, sentence, self.rules.rules.unknown_source.wanted())

    def note(self, rule: str, path: str | None, sentence: str, keys: Iterable[Key]) -> None:
        """Record that `rule` asks for `keys` because of `path`."""
        reason = Reason(rule=rule, path=path, sentence=sentence)
        targets = [self.asked.setdefault(key, {}) for key in keys] or [self.silent]
        for target in targets:
            target.setdefault(rule, (reason, set()))[1].add(path or "")

    def imply_level_zero(self) -> None:
        """Level 0 is the base of every selection of a suite that is not empty."""
        for suite in Suite:
            deeper = [number for other, number in self.asked if other is suite and number]
            if deeper and (suite, 0) not in self.asked:
                self.note("level-zero", None, "level 0 is the base of every deeper level", [(suite, 0)])

    def _without_opt_in(self, keys: Iterable[Key]) -> frozenset[Key]:
        return frozenset(key for key in keys if not self.rules.estimates[key].opt_in)

    def family(self) -> str | None:
        """One family key for the whole change; null when nothing is selected."""
        if not self.asked:
            return None
        named = [self.rules.families[key] for key in self.families]
        if not named:
            return next(iter(self.hinted), self.rules.rules.default_family)
        if len(named) == 1:
            return named[0].key
        return "multi_vlm" if all(family.kind in {"vlm", "audio"} for family in named) else "multi"


def _selection(tally: _Tally, catalogue: Catalogue, rules: RuleSet) -> Selection:
    held = {(level.suite, level.number) for level in catalogue.levels}
    chosen: list[Choice] = []
    skipped: list[Choice] = []
    for key in sorted(held | set(rules.estimates), key=lambda key: (list(Suite).index(key[0]), key[1])):
        asked = _reasons(tally.asked.get(key, {}))
        if asked and key in held:
            chosen.append(_choice(key, asked, catalogue, rules))
        elif asked:
            skipped.append(_choice(key, (_missing(asked), *asked), catalogue, rules))
        else:
            skipped.append(_choice(key, _why_not(key, tally, catalogue, rules), catalogue, rules))
    return Selection(
        chosen=tuple(chosen), skipped=tuple(skipped), family=tally.family(), widened=_shortened(tuple(tally.widened))
    )


def _shortened(sentences: tuple[str, ...]) -> tuple[str, ...]:
    """The first sentences, and how many more: a Plan has a size limit, a hostile change has none."""
    if len(sentences) <= MAX_WIDENED:
        return sentences
    return (*sentences[:MAX_WIDENED], f"and {len(sentences) - MAX_WIDENED} more reasons of this kind")


def _reasons(found: Mapping[str, tuple[Reason, set[str]]]) -> tuple[Reason, ...]:
    """One Reason a rule, with the number of further files that it matched."""
    return tuple(
        reason
        if len(paths) == 1
        else msgspec.structs.replace(reason, sentence=f"{reason.sentence} (and {len(paths) - 1} more files)")
        for reason, paths in found.values()
    )


def _missing(asked: Sequence[Reason]) -> Reason:
    names = ", ".join(reason.rule for reason in asked)
    return Reason(
        rule=NOT_IN_CATALOGUE,
        path=asked[0].path,
        sentence=f"selected by rule {names}, but this release's catalogue has no such level yet",
    )


def _why_not(key: Key, tally: _Tally, catalogue: Catalogue, rules: RuleSet) -> tuple[Reason, ...]:
    if not tally.asked and not tally.silent:
        return (Reason(rule="empty-change", path=None, sentence="the change has no files"),)
    if not tally.asked:
        return _reasons(tally.silent)
    when = _facts(key, catalogue, rules).required_when
    return (Reason(rule="no-rule", path=None, sentence=f"no changed path or line asks for it; needed when: {when}"),)


def _choice(key: Key, reasons: tuple[Reason, ...], catalogue: Catalogue, rules: RuleSet) -> Choice:
    facts = _facts(key, catalogue, rules)
    return Choice(
        suite=key[0], level=key[1], title=facts.title, reasons=reasons, gpus=facts.gpus, minutes=facts.minutes
    )


def _facts(key: Key, catalogue: Catalogue, rules: RuleSet) -> Estimate:
    """Title, GPUs and minutes: the catalogue's, else the estimate's."""
    for level in catalogue.levels:
        if (level.suite, level.number) == key:
            return Estimate(
                suite=level.suite,
                level=level.number,
                title=level.title,
                required_when=level.required_when,
                gpus=level.gpus,
                minutes=level.minutes,
                opt_in=level.opt_in,
                source="catalogue",
            )
    return rules.estimates[key]
