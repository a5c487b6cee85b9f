"""What may be said about learning: `learning-signal passed`, or `converged` by a threshold held before. No verdicts.

Source: verl-e2e-testing.md and nemo-rl-e2e-testing.md, *Convergence / Learning Signal*: do not call a 20-step run
"converged" unless it reaches a pre-agreed metric threshold.
"""

import math
from typing import Final

from levels.answers import Answer
from levels.model import Bound, Criterion, LearningSignal
from levels.plan import Convergence
from levels.subject import Subject
from levels.verdict import Met

SIGNAL: Final = "learning-signal passed"


def learned(
    subject: Subject, answers: tuple[tuple[Criterion, Answer], ...], thresholds: tuple[Convergence, ...]
) -> str:
    """The claim of a leg that passed; empty for a level that judges no learning signal.

    Args:
        subject: the leg.
        answers: its criteria with their answers.
        thresholds: of the plan, from the base branch's configuration; nothing of the pull request.

    """
    judged = [answer for item, answer in answers if isinstance(item, LearningSignal)]
    if not judged or any(answer.met is not Met.MET for answer in judged):
        return ""
    own = [item for item in thresholds if item.suite is subject.suite and item.level == subject.level]
    told = [text for item in own if (text := _met(item, subject))]
    if own and len(told) == len(own):
        return f"converged by the base branch's thresholds: {'; '.join(told)}"
    return SIGNAL


def _met(item: Convergence, subject: Subject) -> str:
    series = next((found for phase in subject.phases if (found := phase.series().get(item.metric))), None)
    if series is None:
        return ""
    value = series.value(item.aggregate)
    held = {
        Bound.AT_LEAST: value >= item.value,
        Bound.ABOVE: value > item.value,
        Bound.AT_MOST: value <= item.value,
        Bound.BELOW: value < item.value,
    }[item.bound]
    if not held or not math.isfinite(value):
        return ""
    return f"{item.aggregate.value} of {item.metric} is {value:.6g}, asked {item.bound.value} {item.value:g}"
