"""Metric series to facts: steps, NaN and infinity, movement. Thresholds never belong here (they are YAML)."""

import json
import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from levels.evidence import MAX_METRICS_BYTES
from levels.model import Aggregate, Record

MAX_SERIES: Final = 1_000
MAX_POINTS: Final = 2_000_000
MAX_KEPT: Final = 200
"""Points of one metric that are kept: twice the longest run that a level asks for."""
MAX_STEP_DIGITS: Final = 9


class Series(msgspec.Struct):
    """What is known about one metric. Its first `MAX_KEPT` points are kept, so that a long run costs little memory."""

    name: str
    count: int = 0
    first_step: int = 0
    last_step: int = 0
    first: float = 0.0
    last: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    nonfinite_step: int | None = None
    """First step with NaN or infinity."""
    nonfinite_text: str = ""
    text: str = ""
    """The first point as the log or file shows it: `actor/lr:np.float64(0.0)`."""
    line: int | None = None
    """Line of the log that shows the first point (or the first that is not finite)."""
    points: dict[int, float] = {}
    """Step to value, in the order of arrival; a step that comes twice keeps its last value."""

    def add(self, step: int, value: float, text: str, line: int | None = None) -> None:
        """Take one point."""
        if not self.count:
            self.first_step, self.first, self.text, self.line = step, value, text, line
        if len(self.points) < MAX_KEPT or step in self.points:
            self.points[step] = value
        self.count += 1
        self.last_step, self.last = step, value
        if math.isfinite(value):
            self.low, self.high = min(self.low, value), max(self.high, value)
        elif self.nonfinite_step is None:
            self.nonfinite_step, self.nonfinite_text, self.line = step, text, line

    @property
    def whole(self) -> bool:
        """Whether `points` holds every point."""
        return self.count == len(self.points)

    @property
    def finite(self) -> bool:
        """Whether every point is a finite number."""
        return self.nonfinite_step is None

    @property
    def constant(self) -> bool:
        """Whether all points are equal."""
        return self.count > 0 and self.finite and self.low == self.high

    @property
    def zero(self) -> bool:
        """Whether every point is 0."""
        return self.constant and self.low == 0

    def value(self, aggregate: Aggregate) -> float:
        """The aggregate; NaN when a point is not finite, so that every bound on it is missed."""
        if not self.finite:
            return math.nan
        return {Aggregate.MIN: self.low, Aggregate.MAX: self.high, Aggregate.LAST: self.last}[aggregate]


class MetricsFile(Record, frozen=True, kw_only=True):
    """A metrics.json, read or refused."""

    series: dict[str, Series] = {}
    problem: str | None = None
    """Why nothing could be read."""


def read_metrics(data: bytes | None) -> MetricsFile:
    """The series of a metrics.json; bare `NaN` and `Infinity` are read as Python writes them. Never raises."""
    if data is None:
        return MetricsFile(problem="no metrics file")
    if len(data) > MAX_METRICS_BYTES:
        return MetricsFile(problem=f"{len(data)} bytes, more than {MAX_METRICS_BYTES}")
    try:
        content = json.loads(data.decode("utf-8", "replace"), parse_int=float)
    except (ValueError, RecursionError) as error:
        return MetricsFile(problem=f"not JSON: {type(error).__name__}: {str(error)[:200]}")
    if not isinstance(content, Mapping):
        return MetricsFile(problem=f"a JSON {type(content).__name__} instead of an object")
    return _from_mapping(content)


def _from_mapping(content: Mapping[str, Any]) -> MetricsFile:
    found: dict[str, Series] = {}
    points = 0
    for name, values in content.items():
        if not isinstance(values, Mapping):
            continue
        if len(found) >= MAX_SERIES:
            return MetricsFile(problem=f"more than {MAX_SERIES} metrics")
        series = Series(name=name[:200])
        for step, value in sorted(_numbers(values)):
            series.add(step, value, f"{name[:200]}[{step}] = {value}")
            points += 1
        if points > MAX_POINTS:
            return MetricsFile(problem=f"more than {MAX_POINTS} points")
        if series.count:
            found[series.name] = series
    return MetricsFile(series=found, problem=None if found else "no metric in it")


def _numbers(values: Mapping[Any, Any]) -> list[tuple[int, float]]:
    pairs: list[tuple[int, float]] = []
    for step, value in values.items():
        if (
            isinstance(value, float)
            and str(step).isascii()
            and str(step).isdigit()
            and len(str(step)) <= MAX_STEP_DIGITS
        ):
            pairs.append((int(step), value))
    return pairs


def number(text: str) -> float | None:
    """`0.5`, `np.float64(0.5)`, `nan`, `tensor(0.5)` as a number; None for anything else."""
    inner = text[text.find("(") + 1 : -1] if text.endswith(")") and "(" in text else text
    try:
        return float(inner.split(",")[0])
    except ValueError:
        return None


def add_point(series: dict[str, Series], name: str, step: int, value: float, text: str, line: int) -> None:
    """Add to `series[name]`, within `MAX_SERIES`."""
    known = series.get(name)
    if known is None:
        if len(series) >= MAX_SERIES:
            return
        known = series[name] = Series(name=name)
    known.add(step, value, text, line)
