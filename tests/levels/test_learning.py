"""How often the rule of the learning signal is wrong: seeded synthetic runs, each kind with its rate."""

import random
from collections.abc import Callable

import pytest

from levels.learning import FALSE_ALARMS, problem, too_short
from levels.model import LearningSignal, Suite
from tests.levels.judging import CATALOGUE
from tests.levels.series import HEALTHY, UNHEALTHY, Run, as_series

ALL, SAMPLE = 2_000, 100

# Share of runs that the rule calls unhealthy; 20 steps, 2,000 seeds.
#   healthy 0.0000   slow 0.0000   spiky 0.0005   sparse 0.0015
#   every unhealthy kind 1.000, but collapse-of-reward 0.944
DETECTED = {"collapse-of-reward": 0.9}
"""At least; kinds that are not named are always found. A reward that was near 0 from the start cannot fall."""


def criterion() -> LearningSignal:
    found = [item for item in CATALOGUE.level(Suite.VERL, 5).criteria if isinstance(item, LearningSignal)]
    assert len(found) == 1
    return found[0]


def share(make: Callable[[random.Random], Run], seeds: int) -> float:
    rule = criterion()
    return sum(problem(rule, as_series(make(random.Random(seed)))) is not None for seed in range(seeds)) / seeds  # noqa: S311 - series, not keys


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", HEALTHY)
def test_the_false_alarm_rate_is_what_the_rule_states(kind: str) -> None:
    assert share(HEALTHY[kind], ALL) <= FALSE_ALARMS


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", UNHEALTHY)
def test_the_detection_rate_of_each_kind(kind: str) -> None:
    assert share(UNHEALTHY[kind], ALL) >= DETECTED.get(kind, 1.0)


@pytest.mark.parametrize("kind", HEALTHY)
def test_a_sample_of_healthy_runs_is_let_through(kind: str) -> None:
    assert share(HEALTHY[kind], SAMPLE) <= 2 * FALSE_ALARMS


@pytest.mark.parametrize("kind", UNHEALTHY)
def test_a_sample_of_unhealthy_runs_is_found(kind: str) -> None:
    assert share(UNHEALTHY[kind], SAMPLE) >= DETECTED.get(kind, 1.0)


def test_the_stated_rate_stands_in_every_level_that_judges_a_learning_signal() -> None:
    said = f"at most {100 * FALSE_ALARMS:g} % of healthy runs"
    levels = [CATALOGUE.level(Suite.VERL, 5), CATALOGUE.level(Suite.NEMO_RL, 6)]
    rules = [item for level in levels for item in level.criteria if isinstance(item, LearningSignal)]
    assert len(rules) == len(levels)
    assert all(said in item.says for item in rules)


def test_a_short_run_is_not_held_to_the_comparison_of_thirds() -> None:
    run = {name: values[:6] for name, values in UNHEALTHY["collapse-of-reward"](random.Random(1)).items()}  # noqa: S311 - series
    assert too_short(criterion(), as_series(run))
    assert problem(criterion(), as_series(run)) is None
