"""Whatever a leg writes, its verdict fits into a job output and into the variable of the next job's shell."""

import random

import pytest

from levels.documents import decode
from levels.evidence import CheckFailure, ChecksRun, Evidence
from levels.fitting import line_of
from levels.judge import Bundle, LegLogs, judge_plan
from levels.model import Outcome, Suite
from levels.plan import Decision, Leg, Plan, Selection
from levels.verdict import Verdict
from tests.levels.judging import CATALOGUE, changed, evidence, facts, knowledge, leg

MAX_ARG_STRLEN = 131_072
TEXT = 4_000
CHANCE = random.Random(4391)  # noqa: S311 - text, not keys
LETTERS = "".join(CHANCE.sample([chr(code) for code in range(0x4E00, 0x9000)], 15_000))


def noise(length: int = TEXT) -> str:
    """Text that no packing makes short."""
    start = CHANCE.randrange(len(LETTERS) - TEXT)
    return LETTERS[start : start + length]


def dirty(found: Evidence) -> Evidence:
    lines = tuple(noise() for _ in range(100))
    return changed(found, trees=tuple(changed(tree, dirty=lines, dirty_count=100) for tree in found.trees))


def stated(found: Evidence) -> Evidence:
    return changed(found, settings=tuple(noise() for _ in range(100)))


def commanded(found: Evidence) -> Evidence:
    return changed(
        found, phases=tuple(changed(run, command=tuple(noise() for _ in range(100))) for run in found.phases)
    )


def checked(found: Evidence) -> Evidence:
    failures = tuple(CheckFailure(test=noise(), file="src/x.py", error=noise()) for _ in range(20))
    run = ChecksRun(command=tuple(noise() for _ in range(100)), exit_code=1, failed=20, failures=failures)
    return changed(found, bridge_checks=run)


def all_of_it(found: Evidence) -> Evidence:
    return checked(commanded(stated(dirty(found))))


def verdict_of(*found: tuple[Leg, Evidence, LegLogs]) -> Verdict:
    plan = Plan(
        decision=Decision.RUN,
        because="a test",
        repository="o/r",
        pull_request=1,
        head="a" * 40,
        base=None,
        consent=None,
        selection=Selection(chosen=(), skipped=()),
        legs=tuple(planned for planned, _, _ in found),
    )
    bundles = {planned.id: Bundle(evidence=changed(e, plan=plan.id), logs=logs) for planned, e, logs in found}
    return judge_plan(plan, bundles, CATALOGUE, {suite.value: knowledge(suite) for suite in Suite})


@pytest.mark.parametrize("worsen", [dirty, stated, commanded, checked, all_of_it])
def test_a_leg_that_says_too_much_is_judged_and_published(worsen: object) -> None:
    assert callable(worsen)
    found = [(leg(suite), worsen(evidence(leg(suite))), LegLogs()) for suite in Suite]
    line = line_of(verdict_of(*found))
    assert len(line.encode()) < MAX_ARG_STRLEN
    verdict = decode(line, Verdict, what="it")
    assert [item.leg for item in verdict.legs] == [planned.id for planned, _, _ in found]
    assert {item.outcome for item in verdict.legs} <= {Outcome.BLOCKED, Outcome.FAIL}
    assert all(item.criteria and item.boundary for item in verdict.legs)


def test_as_many_legs_as_both_procedures_have_fit() -> None:
    planned = leg(Suite.VERL)
    legs = [changed(planned, id=f"verl-0-copy-{number}") for number in range(13)]
    log = 'Traceback (most recent call last):\n  File "/x.py", line 1, in f\n    x\nRuntimeError: ' + noise(600)
    logs = LegLogs(logs={run.id: facts(log, Suite.VERL) for run in planned.phases})
    much = all_of_it(evidence(planned))
    found = [(one, changed(much, leg=one.id), logs) for one in legs]
    line = line_of(verdict_of(*found))
    assert len(line.encode()) < MAX_ARG_STRLEN
    verdict = decode(line, Verdict, what="it")
    assert len(verdict.legs) == len(legs)
