"""Plan and Verdict as Markdown: templates, safe by default, inside a length budget. No decisions here.

Whatever a template prints is escaped unless it went through one of the filters that make it safe. A text that is too
long is rendered again with less detail, so nothing is ever cut inside a fence or a character.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import jinja2

from bot.commands import usage
from bot.escape import Safe, cell, code, fence, link, md, units
from bot.phrases import apart, name_of
from bot.view import LegView
from levels.catalogue import Catalogue
from levels.model import Record
from levels.plan import Plan, Reply

COMMENT_UNITS: Final = 65_000
"""Of a comment's 65,536, counted in UTF-16 units; the rest is for markers. Source: GITHUB.md section 6."""
CHECK_UNITS: Final = 65_000
"""Of the 65,535 of a check run's summary, counted in bytes. Source: GITHUB.md section 3."""
SUMMARY_UNITS: Final = 900_000
"""Of a job summary's 1 MiB, counted in bytes. Source: GITHUB.md section 6."""
Measure = Callable[[str], int]

_MARKS: Final = {
    "Pass": "✅",
    "success": "✅",
    "met": "✅",
    "Fail": "❌",
    "failure": "❌",
    "unmet": "❌",
    "Blocked": "🟠",
    "action_required": "🟠",
    "unverified": "🟠",
}


class Detail(Record, frozen=True, kw_only=True):
    """How much to show: numbers of lines, rows and items, and characters of a cell."""

    legs: bool = True
    table: int = 60
    cell: int = 300
    items: int = 40
    context: int = 20
    summary: int = 400
    criteria: int = 60
    rows: int = 60


LADDER: Final = (
    Detail(),
    Detail(summary=120, rows=30, criteria=40),
    Detail(summary=60, rows=20, criteria=20, context=8, items=12, cell=200),
    Detail(summary=30, rows=0, criteria=0, context=4, items=6, cell=120),
    Detail(summary=0, rows=0, criteria=0, context=2, items=3, cell=100),
    Detail(legs=False, rows=0, cell=100),
    Detail(legs=False, rows=0, cell=40, table=20),
)
"""From everything to the table of results alone, which always fits."""


def size_bytes(text: str) -> int:
    """Bytes of `text` in UTF-8."""
    return len(text.encode())


class Result(Record, frozen=True, kw_only=True):
    """One run, judged or not, as people are told of it."""

    plan: Plan
    legs: tuple[LegView, ...]
    conclusion: str
    title: str
    attempt: int
    trouble: tuple[str, str, str] | None
    """Why there is no usable verdict: found, expected, next step."""


def comment(result: Result, *, budget: int = COMMENT_UNITS, measure: Measure = units) -> str:
    """The result of a run for people: every planned level, what it proves and what not."""

    def at(detail: Detail) -> str:
        return _render(
            "comment",
            detail=detail,
            plan=result.plan,
            result=result,
            attempt=result.attempt,
            legs=result.legs[: detail.table],
            omitted_legs=len(result.legs[detail.table :]),
            uncovered=result.plan.selection.uncovered,
        )

    return fitting(at, budget, measure)


def leg_report(leg: LegView, *, budget: int = CHECK_UNITS) -> str:
    """One leg's part of the result, for its own check run."""
    return fitting(lambda detail: _render("leg", leg=leg, detail=detail), budget, size_bytes)


def running(plan: Plan, *, attempt: int) -> str:
    """What is queued, and why."""
    return fitting(
        lambda detail: _render("running", plan=plan, attempt=attempt, detail=detail), COMMENT_UNITS, size_bytes
    )


def plain(plan: Plan, *, attempt: int) -> str:
    """A plan that runs nothing, for its check run."""
    return fitting(lambda detail: _render("plain", plan=plan, attempt=attempt, detail=detail), CHECK_UNITS, size_bytes)


def crashed(run_url: str | None) -> str:
    """What is said where no plan could be made."""
    return _render("crashed", run_url=run_url)


def ended(title: str, run_url: str | None) -> str:
    """What the comment says about a run without a result."""
    return _render("ended", title=title, run_url=run_url)


def reply(plan: Plan, answer: Reply, catalogue: Catalogue) -> str:
    """The answers to a comment or a label, in one text."""
    parts = [
        _render(f"reply-{part.template}", values=part.values, plan=plan, catalogue=catalogue, usage=usage())
        for part in apart(answer)
    ]
    shown = len(parts)
    while shown > 1 and units(_joined(parts, shown)) > COMMENT_UNITS:
        shown -= 1
    return _joined(parts, shown)


def _joined(parts: Sequence[str], shown: int) -> str:
    """The first answers, and how many more there would be."""
    rest = len(parts) - shown
    more = [f"{rest} more answers do not fit into one comment; ask for them one by one.\n"] if rest else []
    return "\n---\n\n".join([*parts[:shown], *more])


def fitting(at: Callable[[Detail], str], budget: int, measure: Measure) -> str:
    """The most detailed text that is not longer than `budget`; the least detailed one in the end."""
    text = ""
    for detail in LADDER:
        text = at(detail)
        if measure(text) <= budget:
            break
    return text


def mark(word: str) -> Safe:
    """The sign for an outcome, a conclusion or the state of a criterion."""
    return Safe(_MARKS.get(str(word), "⚪"))


def rows(text: str) -> Sequence[Sequence[str]]:
    """The table in a reply value: lines of parts, parts separated by tabs."""
    return [line.split("\t") for line in text.split("\n") if line]


def lines(text: str) -> Iterable[str]:
    """The lines of a reply value."""
    return [line for line in text.split("\n") if line]


def _finalize(value: object) -> str:
    """What `{{ … }}` prints: safe text as it is, all other text escaped."""
    return value if isinstance(value, Safe) else md(str(value))


_FILTERS: Final[Mapping[str, Callable[..., Any]]] = {"md": md, "code": code, "cell": cell, "fence": fence}
_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "link": link,
    "mark": mark,
    "name_of": name_of,
    "rows": rows,
    "lines": lines,
}


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(  # noqa: S701 - Markdown, escaped by `finalize`; HTML's escapes do not fit it
        loader=jinja2.PackageLoader("bot"),
        undefined=jinja2.StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(_FILTERS)
    environment.globals.update(_FUNCTIONS)
    return environment


_ENVIRONMENT: Final = _environment()


def _render(template: str, **values: object) -> str:
    text = _ENVIRONMENT.get_template(f"{template}.md.j2").render(**values)
    kept: list[str] = []
    for line in text.split("\n"):
        if line.strip() or (kept and kept[-1].strip()):
            kept.append(line)
    return "\n".join(kept).strip("\n") + "\n"
