"""A verdict reaches the job that closes the checks, however much text the evidence put into it."""

import random
import string
import subprocess
import sys

import msgspec
import pytest

from levels.documents import decode
from levels.fitting import SHORTENED, line_of
from levels.model import Attribution, Boundary, Deliverable, Outcome, Suite
from levels.verdict import CriterionResult, FirstError, LegVerdict, Met, Verdict

RANDOM = random.Random(7)  # noqa: S311 - noise that does not compress, the same in each run
REPOSITORY = "o" * 39 + "/" + "r" * 100


def noise(size: int) -> str:
    return "".join(RANDOM.choices(string.printable[:94], k=size))


def verdict(legs: int, size: int, count: int, state: int) -> Verdict:
    """`count` texts of `size` characters in every list of every leg, and `state` characters about the trees."""
    texts = tuple(noise(size) for _ in range(count))
    criteria = tuple(
        CriterionResult(
            id=f"c-{index}",
            met=Met.UNMET,
            says=noise(size),
            found=noise(size),
            source=noise(size),
            deliverable=Deliverable.BRIDGE_CHECKS,
            remedy=noise(size),
        )
        for index in range(count)
    )
    leg = LegVerdict(
        leg="verl-0-lora-ddp",
        suite=Suite.VERL,
        level=0,
        variants=(),
        title="verl 0",
        outcome=Outcome.FAIL,
        sentence="the level broke",
        boundary=Boundary.HF_IMPORT,
        category="none",
        attribution=Attribution.BRIDGE_SIDE,
        first_error=FirstError(text="RuntimeError: size mismatch", log="run-train.log", line=3, context=texts),
        proof="full",
        model="m",
        requested="Level 0",
        criteria=criteria,
        deliverables=(),
        bridge_state=noise(state),
        suite_state=noise(state),
        command=noise(size),
        key_lines=texts,
        limitations=texts,
        follow_ups=texts,
    )
    many = tuple(msgspec.structs.replace(leg, leg=f"verl-{index}") for index in range(legs))
    return Verdict(plan="0" * 12, repository=REPOSITORY, pull_request=1, head="a" * 40, outcome=Outcome.FAIL, legs=many)


@pytest.mark.parametrize(
    ("legs", "size", "count", "state", "shortened"),
    [
        pytest.param(2, 100, 20, 100, False, id="ordinary"),
        pytest.param(1, 10, 1, 3_000_000, True, id="a-flood-of-dirty-files"),
        pytest.param(10, 500, 20, 4_000, True, id="every-level-quotes-all-it-may"),
        pytest.param(2, 4_000, 500, 100, True, id="long-lists"),
    ],
)
def test_a_verdict_reaches_the_next_shell(legs: int, size: int, count: int, state: int, *, shortened: bool) -> None:
    judged = verdict(legs, size, count, state)
    line = line_of(judged)
    told = (sys.executable, "-c", "import os; print(len(os.environ['VERDICT']))")
    done = subprocess.run(told, env={"VERDICT": line}, check=True, capture_output=True, text=True)
    assert int(done.stdout) == len(line)
    read = decode(line, Verdict, what="the Verdict")
    assert (read == judged) is not shortened
    assert {SHORTENED in leg.limitations for leg in read.legs} == {shortened}
    assert (read.plan, read.repository, read.head) == (judged.plan, judged.repository, judged.head)
    kept = [
        (leg.leg, leg.outcome, leg.boundary, leg.attribution, leg.first_error and leg.first_error.text)
        for leg in read.legs
    ]
    assert kept == [
        (leg.leg, leg.outcome, leg.boundary, leg.attribution, "RuntimeError: size mismatch") for leg in judged.legs
    ]
