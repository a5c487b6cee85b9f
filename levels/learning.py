"""The rule of the learning signal: series of a short run to what speaks against learning. No YAML, no verdicts.

The rule, in the order of its checks; each names the first series that breaks it:

1. finite: no NaN and no infinity;
2. not zero: a learning rate or gradient that is 0 in every step is a frozen parameter;
3. moving: a metric that has the same value in every step is not computed, or nothing changes;
4. no repeated zero gradients: 0 in `ZERO_RUN` steps in a row;
5. not stuck: entropy or log-probabilities keep one value for the second half of the run;
6. logged over several steps: each loss and reward at `min_steps` steps or more;
7. stable: the gradient norm's median of the last third is at most `EXPLODED` times that of the first third;
8. no collapse: entropy's median of the last third is at least `COLLAPSED` of that of the first third;
9. no fall against the start: reward's mean of the last third is not below that of the first third by more than
   `FALL_ERRORS` standard errors and more than `FALL_SHARE` of it.

7 to 9 need `PART` points in each third; a shorter run is not held to them, and the answer says so. A reward that does
not rise is no failure: a short run need not learn much. How often the rule is wrong, on seeded synthetic runs of 20
steps, is measured by tests/levels/test_learning.py, and stated in `FALSE_ALARMS`.
"""

import math
from collections.abc import Callable, Mapping
from statistics import fmean, median
from typing import Final, NamedTuple

from levels.metrics import Series
from levels.model import LearningSignal

ZERO: Final = 1e-8
"""A gradient norm below this moves nothing in bfloat16."""
ZERO_RUN: Final = 3
MIN_STUCK: Final = 3
PART: Final = 4
EXPLODED: Final = 20.0
COLLAPSED: Final = 0.05
FALL_ERRORS: Final = 4.0
FALL_SHARE: Final = 0.5
FALSE_ALARMS: Final = 0.005
"""At most this share of healthy runs is called unhealthy (2,000 seeded runs of each healthy kind)."""


class Problem(NamedTuple):
    """What speaks against learning, and the series that shows it."""

    found: str
    series: Series


def problem(criterion: LearningSignal, series: Mapping[str, Series]) -> Problem | None:
    """The first check of the rule that a series breaks; None when none does."""
    checks: tuple[tuple[tuple[str, ...], Callable[[Series], str]], ...] = (
        (_all_names(criterion), _not_finite),
        (criterion.nonzero, _zero),
        (criterion.moving, _constant),
        (criterion.gradients, _repeated_zero),
        (criterion.continuous, _stuck),
        (criterion.gradients, _exploded),
        (criterion.continuous, _collapsed),
        (criterion.rising, _fallen),
    )
    for names, check in checks:
        for name in names:
            known = series.get(name)
            if known is not None and (found := check(known)):
                return Problem(found, known)
    return None


def too_short(criterion: LearningSignal, series: Mapping[str, Series]) -> bool:
    """Whether the run has too few steps to be held to the comparisons of its first and last third."""
    return not any(len(_values(series[name])) >= 3 * PART for name in _all_names(criterion) if name in series)


def _all_names(criterion: LearningSignal) -> tuple[str, ...]:
    names = (
        *criterion.gradients,
        *criterion.nonzero,
        *criterion.moving,
        *criterion.continuous,
        *criterion.rising,
        *criterion.logged,
    )
    return tuple(dict.fromkeys(names))


def _values(series: Series) -> list[float]:
    return [value for _, value in sorted(series.points.items())]


def _thirds(series: Series) -> tuple[list[float], list[float]] | None:
    values = _values(series)
    part = len(values) // 3
    return (values[:part], values[-part:]) if part >= PART else None


def _not_finite(series: Series) -> str:
    return "" if series.finite else f"{series.name} is not finite from step {series.nonfinite_step} on"


def _zero(series: Series) -> str:
    still = series.count > 0 and series.finite and max(abs(series.low), abs(series.high)) < ZERO
    # A learning rate is small by nature: only an exact 0 counts there.
    still = series.zero if series.name.endswith("lr") else still
    return f"{series.name} is 0 in all {series.count} steps" if still else ""


def _constant(series: Series) -> str:
    return f"{series.name} never changes" if series.count > 1 and series.constant else ""


def _repeated_zero(series: Series) -> str:
    run = 0
    for step, value in sorted(series.points.items()):
        run = run + 1 if abs(value) < ZERO else 0
        if run == ZERO_RUN:
            return f"{series.name} is 0 in {ZERO_RUN} steps in a row, up to step {step}"
    return ""


def _stuck(series: Series) -> str:
    values = _values(series)
    half = max(MIN_STUCK, math.ceil(len(values) / 2))
    if len(values) > half and len(set(values[-half:])) == 1:
        return f"{series.name} does not change in the last {half} of {len(values)} steps"
    return ""


def _exploded(series: Series) -> str:
    parts = _thirds(series)
    if parts and (start := median(parts[0])) > 0 and median(parts[1]) > EXPLODED * start:
        return f"{series.name} grew from {start:.4g} to {median(parts[1]):.4g} (medians of the first and last third)"
    return ""


def _collapsed(series: Series) -> str:
    parts = _thirds(series)
    if parts and (start := median(parts[0])) > 0 and median(parts[1]) < COLLAPSED * start:
        return f"{series.name} fell from {start:.4g} to {median(parts[1]):.4g} (medians of the first and last third)"
    return ""


def _fallen(series: Series) -> str:
    parts = _thirds(series)
    if not parts:
        return ""
    first, last = fmean(parts[0]), fmean(parts[1])
    degrees = 2 * (len(parts[0]) - 1)
    spread = math.sqrt(sum((value - fmean(part)) ** 2 for part in parts for value in part) / degrees)
    error = spread * math.sqrt(2 / len(parts[0]))
    if first - last > max(FALL_ERRORS * error, FALL_SHARE * abs(first)):
        return f"{series.name} fell from {first:.4g} to {last:.4g} (means of the first and last third)"
    return ""
