"""The merge queue: carried proofs. Whatever is not known is an answer at once, and it is no."""

from typing import Any

import pytest

from bot.rehearsal import payloads
from levels.model import Outcome
from levels.plan import Decision, Plan
from tests.bot.conftest import Opened, World, verdict_of

BOTTOM = "0" * 40
GROUP = 4
"""Its head stands for the commit that the queue has built."""


def group(world: World, number: int = 1, *, below: str | None = None) -> Plan:
    """The group that ends with a pull request, built on `below`."""
    pull = world.pull(GROUP).pull
    assert pull
    event = payloads.merge_group(world.state, world.repo, number, head_sha=pull.head_sha, base_sha=pull.base_sha)
    if below is not None:
        event["merge_group"]["head_ref"] = f"refs/heads/gh-readonly-queue/main/pr-{number}-{below}"
    world.run_id += 1
    plan = world.planned(event, "merge_group")
    world.receive(plan)
    return plan


def proven(world: World, number: int, outcome: Outcome = Outcome.PASS) -> None:
    world.seen(number)
    plan = world.asked(number, f"/run-e2e sha={world.head(number)}", author="mia")
    world.report(plan, verdict_of(plan, outcome))


def said(world: World) -> tuple[str | None, str]:
    check = [one for one in world.checks(GROUP) if one.name == "bridge-e2e"][-1]
    assert check.status == "completed"
    return check.conclusion, check.output.title or ""


def test_a_proof_on_the_head_is_carried(opened: Opened) -> None:
    with opened() as world:
        world.as_app()
        proven(world, 1)
        assert group(world).decision is Decision.CARRIED
        conclusion, title = said(world)
        assert conclusion == "success"
        assert title.startswith("proved on PR heads, not on the combination: #1: verl L0, NeMo-RL L0 passed")


def test_a_waiver_is_carried(opened: Opened) -> None:
    with opened() as world:
        world.as_app()
        proven(world, 1, Outcome.FAIL)
        assert group(world).decision is Decision.UNPROVEN
        why = 'reason="broken at the pin of verl"'
        world.asked(1, f"/run-e2e waive suite=verl level=0 {why}\n/run-e2e waive suite=nemo-rl level=0 {why}", "ada")
        assert group(world).decision is Decision.CARRIED
        assert "Waived by ada" in said(world)[1]


@pytest.mark.parametrize(
    ("before", "says"),
    [
        pytest.param(lambda _: None, "no check of ours", id="nothing-is-known"),
        pytest.param(lambda world: proven(world, 1, Outcome.FAIL), "Fail at hf-import", id="failed"),
        pytest.param(lambda world: proven(world, 1, Outcome.BLOCKED), "not evidence against", id="blocked"),
        pytest.param(lambda world: world.asked(1, f"/run-e2e sha={world.head(1)}"), "waiting for a runner", id="open"),
        pytest.param(lambda world: world.happened(1, "opened"), "add label or", id="nobody-asked"),
    ],
)
def test_whatever_is_no_proof_fails_at_once(opened: Opened, before: Any, says: str) -> None:  # noqa: ANN401 - a function
    with opened() as world:
        world.as_app()
        before(world)
        assert group(world).decision is Decision.UNPROVEN
        conclusion, title = said(world)
        assert (conclusion, title.startswith("not proven: #1: ")) == ("failure", True)
        assert says in title


def test_the_plain_token_proves_nothing_in_the_queue(opened: Opened) -> None:
    with opened() as world:
        proven(world, 1)
        assert group(world).decision is Decision.UNPROVEN
        assert said(world)[0] == "failure"
        assert "GITHUB_TOKEN" in said(world)[1]


@pytest.mark.parametrize(
    ("entries", "decision", "says"),
    [
        pytest.param({}, Decision.UNPROVEN, "do not tell which pull requests", id="a-gap"),
        pytest.param({2: BOTTOM}, Decision.UNPROVEN, "do not tell which pull requests", id="a-gap-further-down"),
        pytest.param({2: "base"}, Decision.CARRIED, "; #2: not needed: rule", id="two"),
        pytest.param({4: "base"}, Decision.UNPROVEN, "not proven: #4: no check of ours", id="one-of-two-is-not-proven"),
    ],
)
def test_every_member_of_a_group_counts(opened: Opened, entries: dict[int, str], decision: Decision, says: str) -> None:
    with opened() as world:
        world.as_app()
        proven(world, 1)
        world.happened(2, "opened")
        pull = world.pull(1).pull
        assert pull
        below = world.head(2)
        for number, base in entries.items():
            name = f"gh-readonly-queue/main/pr-{number}-{pull.base_sha if base == 'base' else base}"
            world.repo.refs[f"refs/heads/{name}"] = below
        assert group(world, below=below).decision is decision
        assert says in said(world)[1]


def test_a_branch_that_is_no_queue_entry_is_no_information(opened: Opened) -> None:
    with opened() as world:
        world.as_app()
        proven(world, 1)
        assert group(world, below="../../main").decision is Decision.UNPROVEN
