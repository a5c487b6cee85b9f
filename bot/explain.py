"""A Selection for people: plain lines, or a table on a terminal. Nothing is decided here.

Paths are a pull request's own words: control characters never reach the terminal.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from levels.model import Suite
from levels.plan import Choice, Reason, Selection
from levels.rulebook import RuleSet


def explain(selection: Selection, book: RuleSet, out: TextIO) -> None:
    """Every level with rule, file and GPU-minutes, one plain line each, and what is skipped and why."""
    for line in _lines(selection, book):
        print(line, file=out)


def _lines(selection: Selection, book: RuleSet) -> Iterable[str]:
    yield from _headlines(selection, book)
    for word, choices in _groups(selection):
        for names, costs, reasons in _together(choices):
            yield ""
            yield from (f"{word:8} {name:<42} {cost}" for name, cost in zip(names, costs, strict=True))
            yield from (f"{'':9}{_because(reason)}" for reason in reasons)


def _groups(selection: Selection) -> Sequence[tuple[str, Sequence[Choice]]]:
    uncovered = selection.uncovered
    plain = tuple(choice for choice in selection.skipped if choice not in uncovered)
    return (("run", selection.chosen), ("MISSING", uncovered), ("skip", plain))


def _together(choices: Sequence[Choice]) -> Iterable[tuple[list[str], list[str], tuple[Reason, ...]]]:
    """Neighbours with the same reasons, so that a reason is read once."""
    for reasons, group in groupby(choices, key=lambda choice: choice.reasons):
        members = list(group)
        yield [f"{_name(choice)} {choice.title}" for choice in members], [_cost(choice) for choice in members], reasons


def _headlines(selection: Selection, book: RuleSet) -> Iterable[str]:
    for suite in Suite:
        numbers = selection.required(suite)
        yield f"{suite.label}: " + (", ".join(f"level {number}" for number in numbers) if numbers else "not needed")
    total = sum(choice.gpu_minutes for choice in (*selection.chosen, *selection.uncovered))
    yield f"cost: {total} GPU-minutes (estimates)"
    if selection.family is not None:
        family = book.families[selection.family]
        model = family.model or "a toy of reduced configuration: construction and training mechanics only"
        yield f"family: {family.key} ({family.parameters}), model: {model}, {family.gpus} GPUs"
    for sentence in selection.widened:
        yield f"WIDENED: {printable(sentence)}"
    if selection.uncovered:
        names = ", ".join(_name(choice) for choice in selection.uncovered)
        yield f"NOT COVERED: the rules ask for {names}, and this release's catalogue has no such level yet;"
        yield "  whatever the other levels show, this change is not fully tested"


def _name(choice: Choice) -> str:
    return f"{choice.suite.label} {choice.level}"


def _cost(choice: Choice) -> str:
    return f"{choice.gpus} x {choice.minutes} = {choice.gpu_minutes} GPU-min"


def _because(reason: Reason) -> str:
    where = f"{reason.path}: " if reason.path else ""
    return printable(f"rule {reason.rule}: {where}{reason.sentence}")


def printable(text: str) -> str:
    """`text` with everything that a terminal could obey replaced."""
    return "".join(char if char.isprintable() else "?" for char in text)


def explain_on_terminal(selection: Selection, book: RuleSet, out: TextIO) -> None:
    """The same as a table with colours."""
    console = Console(file=out)
    for line in _headlines(selection, book):
        loud = line.startswith(("WIDENED", "NOT COVERED", "  "))
        console.print(Text(line, style="bold yellow" if loud else ""))
    table = Table(show_lines=True)
    for title, fixed in (("", True), ("level", True), ("GPU-minutes", True), ("why", False)):
        table.add_column(title, no_wrap=fixed, overflow="fold")
    styles = {"run": "green", "MISSING": "bold yellow", "skip": "dim"}
    for word, choices in _groups(selection):
        for names, costs, reasons in _together(choices):
            why = "\n".join(_because(reason) for reason in reasons)
            cells = (word, "\n".join(names), "\n".join(costs), why)
            table.add_row(*(Text(cell, style=styles[word]) for cell in cells))
    console.print(table)
