"""Legs as a job matrix; deeper ones start only where their suite's level 0 passed."""

import json
from pathlib import Path

import pytest

from levels.__main__ import main
from levels.documents import decode, encode
from levels.errors import ExitCode
from levels.matrix import matrix, startable
from levels.model import Outcome, Suite
from levels.plan import Decision, Leg, Plan, Selection
from levels.verdict import Verdict
from tests.levels.judging import COMMIT, changed, judge, leg


def deep(suite: Suite) -> Leg:
    return changed(leg(suite), id=f"{suite.value}-2-tp", stage="deep", level=2)


def plan_of(*legs: Leg) -> Plan:
    return Plan(
        decision=Decision.RUN,
        because="a test",
        repository="owner/name",
        pull_request=1,
        head=COMMIT,
        base=None,
        consent=None,
        selection=Selection(chosen=(), skipped=()),
        legs=legs,
    )


def verdict_of(outcomes: dict[Suite, Outcome]) -> Verdict:
    legs = tuple(changed(judge(suite), outcome=outcome, leg=leg(suite).id) for suite, outcome in outcomes.items())
    return Verdict(plan="x", repository="o/n", pull_request=1, head=COMMIT, outcome=Outcome.BLOCKED, legs=legs)


def test_a_matrix_is_one_line_with_the_jobs_minutes() -> None:
    one = leg(Suite.VERL)
    line = matrix((one,))
    assert json.loads(line) == [{"leg": one.id, "title": one.title, "minutes": one.minutes + 40}]
    assert "\n" not in line
    assert matrix(()) == "[]"


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        pytest.param({Suite.VERL: Outcome.PASS, Suite.NEMO_RL: Outcome.PASS}, list(Suite), id="both-passed"),
        pytest.param({Suite.VERL: Outcome.FAIL, Suite.NEMO_RL: Outcome.PASS}, [Suite.NEMO_RL], id="one-failed"),
        pytest.param({Suite.VERL: Outcome.PASS, Suite.NEMO_RL: Outcome.BLOCKED}, [Suite.VERL], id="one-blocked"),
        pytest.param({Suite.VERL: Outcome.PASS}, [Suite.VERL], id="one-without-a-verdict"),
    ],
)
def test_deeper_legs_start_where_level_0_passed(outcomes: dict[Suite, Outcome], expected: list[Suite]) -> None:
    legs = [item for suite in Suite for item in (leg(suite), deep(suite))]
    assert [item.suite for item in startable(plan_of(*legs), verdict_of(outcomes))] == expected


def test_a_suite_whose_level_0_is_not_in_the_plan_was_proven_before() -> None:
    assert startable(plan_of(deep(Suite.VERL)), verdict_of({})) == (deep(Suite.VERL),)


def test_judge_writes_the_job_outputs_and_ends_well_whatever_the_verdict(tmp_path: Path) -> None:
    plan = plan_of(leg(Suite.VERL), deep(Suite.VERL), deep(Suite.NEMO_RL))
    (tmp_path / "plan.json").write_bytes(encode(plan))
    (tmp_path / "outputs").write_text("earlier=1\n")
    arguments = ["judge", "--plan", str(tmp_path / "plan.json"), "--evidence-dir", str(tmp_path)]
    assert main([*arguments, "--github-output", str(tmp_path / "outputs")]) == ExitCode.PASS
    assert main(arguments) == ExitCode.BLOCKED
    outputs = dict(line.split("=", 1) for line in (tmp_path / "outputs").read_text().splitlines())
    assert set(outputs) == {"earlier", "verdict", "deep"}
    verdict = decode(outputs["verdict"], Verdict, what="it")
    assert (verdict.plan, verdict.outcome) == (plan.id, Outcome.BLOCKED)
    assert [entry["leg"] for entry in json.loads(outputs["deep"])] == ["nemo-rl-2-tp"]
