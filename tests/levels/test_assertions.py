"""Metric expressions: what they mean, what they refuse, and that they never run code."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from levels.assertions import Expression, Unevaluated
from levels.errors import ConfigError

DATA = {
    "train/loss": {1: 4.0, 2: 2.0, 3: 1.0, 4: 3.0},
    "train/nan": {1: 1.0, 2: math.nan},
    "resumed": {3: 1.0, 4: 3.0},
}


@pytest.mark.parametrize(
    ("text", "held", "value"),
    [
        pytest.param('max(data["train/loss"]) < 4.5', True, 4.0, id="max"),
        pytest.param('max(data["train/loss"]) < 4', False, 4.0, id="strict"),
        pytest.param('max(data["train/loss"]) <= 4', True, 4.0, id="at-most"),
        pytest.param('min(data["train/loss"]) == 1', True, 1.0, id="equal"),
        pytest.param('mean(data["train/loss"]) > 2.4', True, 2.5, id="mean"),
        pytest.param('mean(data["train/loss"], 2) < 2.1', True, 2.0, id="mean-from-step-2"),
        pytest.param('mean(data["train/loss"], 2, 4) < 1.6', True, 1.5, id="mean-before-step-4"),
        pytest.param('mean(data["train/loss"],-2,0) < 2.1', True, 2.0, id="mean-of-the-last-two"),
        pytest.param('mean(data["train/loss"], -2, -1) < 1.1', True, 1.0, id="mean-before-the-last"),
        pytest.param('mean(data["train/loss"], ignore_top_p=0.25) <= 2', True, 2.0, id="mean-without-the-top"),
        pytest.param('mean(data["resumed"], -1) == 3', True, 3.0, id="mean-after-a-resume"),
        pytest.param('median(data["train/loss"]) == 2.5', True, 2.5, id="median"),
        pytest.param('ratio_above(data["train/loss"], 2) == 0.75', True, 0.75, id="ratio"),
        pytest.param('len(data["train/loss"]) == 4', True, 4.0, id="len"),
        pytest.param('data["train/loss"]["3"] < 1.5', True, 1.0, id="one-step"),
        pytest.param(
            'mean(data["train/loss"], 3, 5) < 0.6 * data["train/loss"]["1"]', True, 2.0, id="against-the-start"
        ),
        pytest.param('min(data["train/loss"]) > -1', True, 1.0, id="negative"),
        pytest.param('max(data["train/nan"]) < 5', False, math.nan, id="nan-holds-nothing"),
    ],
)
def test_an_expression_means_what_the_suite_s_check_means(text: str, held: object, value: float) -> None:
    found = Expression(text).evaluate(DATA)
    assert found[0] is held
    assert found[1] == value or (math.isnan(found[1]) and math.isnan(value))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param('max(data["train/other"]) < 1', "train/other was not logged", id="no-metric"),
        pytest.param('data["train/loss"]["9"] < 1', "no step 9", id="no-step"),
        pytest.param('data["train/loss"] < 1', "whole series", id="series-as-number"),
        pytest.param('max(data["train/loss"]) / 0 < 1', "division by zero", id="division"),
        pytest.param('mean(data["train/loss"], 9) < 1', "mean of no step", id="empty-range"),
        pytest.param('max(data["train/loss"]["1"]) < 1', "max of a number", id="function-of-a-number"),
    ],
)
def test_what_cannot_be_evaluated_says_why(text: str, problem: str) -> None:
    with pytest.raises(Unevaluated, match=problem):
        Expression(text).evaluate(DATA)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('__import__("os").system("true") < 1', id="call"),
        pytest.param("data.__class__ < 1", id="attribute"),
        pytest.param('max(data["a"])', id="no-comparison"),
        pytest.param('1 < max(data["a"]) < 2', id="chained"),
        pytest.param('max(data["a"]) is 1', id="identity"),
        pytest.param("max(data['a'], key=1) < 1", id="unknown-argument"),
        pytest.param('open(data["a"]) < 1', id="unknown-function"),
        pytest.param("True < 1", id="truth-value"),
        pytest.param('max(data["a"]) ** 9 < 1', id="power"),
        pytest.param("(" * 300 + "1" + ")" * 300 + " < 1", id="deep"),
        pytest.param("1" * 600 + " < 1", id="long"),
        pytest.param("", id="empty"),
        pytest.param("max(data[name]) < 1", id="computed-name"),
    ],
)
def test_everything_outside_the_grammar_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="check_metrics"):
        Expression(text)


@given(st.text(max_size=80))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        Expression(text).evaluate(DATA)
    except (ConfigError, Unevaluated):
        return


def test_it_names_the_metrics_that_it_reads() -> None:
    assert Expression('mean(data["a/b"], 2) < 1.5 * data["c"]["1"]').metrics == ("a/b", "c")
