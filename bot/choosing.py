"""What was asked for, laid over what the rules selected. Pure; no rules of its own and no API.

A request narrows the rules' selection (label, `suite=`) or replaces it (`level=`).
"""

from typing import Final

from levels.catalogue import Catalogue
from levels.errors import UsageError
from levels.model import Level, Record, Suite
from levels.plan import Choice, Reason, Selection

LEFT_OUT: Final = "not-asked"
"""Rule name of the Reason of a level that the rules select and the wish leaves out."""


class Wish(Record, frozen=True, kw_only=True):
    """What somebody asked for, in their words."""

    words: str
    """`label verl-e2e`, or the command."""
    suites: tuple[Suite, ...] = tuple(Suite)
    levels: tuple[int, ...] = ()
    """Empty: what the rules select."""
    all_levels: bool = False
    force: bool = False


def choose(selection: Selection, wish: Wish, catalogue: Catalogue) -> Selection:
    """The selection that answers `wish`.

    Raises:
        UsageError: when it names a level that no wished suite has.

    """
    if wish.levels or wish.all_levels:
        return _named(selection, wish, catalogue)
    narrowed = _narrowed(selection, wish)
    if wish.force and not narrowed.chosen:
        forced = Wish(words=wish.words, suites=wish.suites, levels=(0,))
        return _named(selection, forced, catalogue)
    return narrowed


def is_left_out(choice: Choice) -> bool:
    """Whether the rules ask for this skipped level and the wish did not."""
    return any(reason.rule == LEFT_OUT for reason in choice.reasons)


def _narrowed(selection: Selection, wish: Wish) -> Selection:
    kept = tuple(choice for choice in selection.chosen if choice.suite in wish.suites)
    dropped = tuple(
        _with_reason(choice, LEFT_OUT, f"{wish.words} does not ask for {choice.suite.label}")
        for choice in selection.chosen
        if choice.suite not in wish.suites
    )
    return _replaced(selection, kept, (*selection.skipped, *dropped))


def _named(selection: Selection, wish: Wish, catalogue: Catalogue) -> Selection:
    held = [level for suite in wish.suites for level in catalogue.of(suite)]
    numbers = set(wish.levels)
    wanted = [level for level in held if (not level.opt_in if wish.all_levels else level.number in numbers)]
    missing = numbers - {level.number for level in wanted}
    if missing or not wanted:
        raise _no_level(wish, missing, held)
    deeper = {level.suite for level in wanted if level.number}
    asked = Reason(rule="asked", path=None, sentence=f"asked for by {wish.words}")
    base = Reason(rule="level-zero", path=None, sentence="level 0 comes before every deeper level of its suite")
    chosen = tuple(
        _choice(level, asked if level in wanted else base)
        for level in held
        if level in wanted or (level.number == 0 and level.suite in deeper)
    )
    keys = {(choice.suite, choice.level) for choice in chosen}
    needed = tuple(
        _with_reason(choice, LEFT_OUT, f"{wish.words} names other levels")
        for choice in selection.chosen
        if (choice.suite, choice.level) not in keys
    )
    rest = tuple(choice for choice in selection.skipped if (choice.suite, choice.level) not in keys)
    return _replaced(selection, chosen, (*needed, *rest))


def _no_level(wish: Wish, missing: set[int], held: list[Level]) -> UsageError:
    suites = " and ".join(suite.label for suite in wish.suites)
    known = ", ".join(f"{level.suite.label} {level.number} ({level.title})" for level in held)
    return UsageError(
        doing=f"choosing levels for {wish.words}",
        found=f"level {', '.join(map(str, sorted(missing)))}, which {suites} does not have in this release",
        expected=f"some of {known}",
        next_step="comment `/run-e2e help`",
    )


def _choice(level: Level, reason: Reason) -> Choice:
    return Choice(
        suite=level.suite,
        level=level.number,
        title=level.title,
        reasons=(reason,),
        gpus=level.gpus,
        minutes=level.minutes,
    )


def _with_reason(choice: Choice, rule: str, sentence: str) -> Choice:
    reason = Reason(rule=rule, path=None, sentence=sentence)
    return Choice(
        suite=choice.suite,
        level=choice.level,
        title=choice.title,
        reasons=(reason, *choice.reasons),
        gpus=choice.gpus,
        minutes=choice.minutes,
    )


def _replaced(selection: Selection, chosen: tuple[Choice, ...], skipped: tuple[Choice, ...]) -> Selection:
    order = {suite: index for index, suite in enumerate(Suite)}
    return Selection(
        chosen=chosen,
        skipped=tuple(sorted(skipped, key=lambda choice: (order[choice.suite], choice.level))),
        family=selection.family,
        widened=selection.widened,
    )
