"""Who may overwrite whom: two runs of one commit whose answers arrive in any order."""

from collections.abc import Callable

import pytest

from bot import receipt
from bot.board import Board
from bot.checks import Mark, mark_of
from bot.comments import STICKY
from bot.concluding import superseded
from levels.model import Outcome
from levels.plan import Plan
from tests.bot.conftest import Opened, World, verdict_of

BOT = "github-actions[bot]"


def two_plans(world: World) -> tuple[Plan, Plan]:
    """An older and a newer request for the same commit; the newer workflow run has the larger id."""
    world.seen(1)
    old = world.planned(world.labelled(1))
    world.run_id += 1
    new = world.planned(world.commented(1, "/run-e2e"), "issue_comment")
    world.run_id -= 1
    return old, new


def as_run(world: World, offset: int, act: Callable[[Plan], object], plan: Plan) -> None:
    world.run_id += offset
    act(plan)
    world.run_id -= offset


def shown(world: World) -> dict[str, str | None]:
    """The newest check run of each name, as the page shows it."""
    return {check.name: check.conclusion for check in world.checks(1)}


@pytest.mark.parametrize(
    "order",
    [
        pytest.param("oO nN NN OO", id="in-order"),
        pytest.param("nN oO NN OO", id="receipts-swapped"),
        pytest.param("nN oO OO NN", id="receipts-swapped-and-the-newer-reports-last"),
        pytest.param("nN NN oO OO", id="the-newer-is-over-before-the-older-is-received"),
        pytest.param("oO nN OO NN", id="the-older-reports-first"),
    ],
)
def test_the_newer_run_is_shown_whatever_the_order_of_writing(opened: Opened, order: str) -> None:
    with opened() as world:
        old, new = two_plans(world)
        steps: dict[str, tuple[int, Callable[[Plan], object], Plan]] = {
            "oO": (0, world.receive, old),
            "nN": (1, world.receive, new),
            "OO": (0, lambda plan: world.report(plan, verdict_of(plan, Outcome.FAIL)), old),
            "NN": (1, lambda plan: world.report(plan, verdict_of(plan)), new),
        }
        for step in order.split():
            as_run(world, *steps[step])
        assert set(shown(world).values()) == {"success"}
        assert {check.status for check in world.checks(1)} == {"completed"}
        (sticky,) = [one.body for one in world.comments(1) if one.body.startswith(STICKY)]
        assert "run=4712.1" in sticky


def test_two_receipts_that_read_before_either_writes(opened: Opened) -> None:
    """The older run's checks get the larger ids; the newer run's report is shown all the same."""
    with opened() as world:
        old, new = two_plans(world)
        checks = world.api().checks
        boards = [Board(checks, world.head(1), BOT) for _ in range(2)]
        boards[0].publish(receipt.payloads(new, (4712, 1)))
        boards[1].publish(receipt.payloads(old, (4711, 1)))
        as_run(world, 1, lambda plan: world.report(plan, verdict_of(plan)), new)
        as_run(world, 0, lambda plan: world.report(plan, verdict_of(plan, Outcome.FAIL)), old)
        assert set(shown(world).values()) == {"success"}
        assert {check.status for check in world.checks(1)} == {"completed"}


def test_an_older_receipt_closes_nothing_of_a_newer_run(opened: Opened) -> None:
    with opened() as world:
        old, new = two_plans(world)
        as_run(world, 1, world.receive, new)
        board = Board(world.api().checks, world.head(1), BOT)
        board.close_older({check.name for check in world.checks(1)}, (4711, 1), superseded())
        as_run(world, 0, world.receive, old)
        assert set(shown(world).values()) == {None}
        assert {mark.run for check in world.checks(1) if (mark := mark_of(check.external_id or ""))} == {0, 4712}


@pytest.mark.parametrize(
    ("text", "order"),
    [
        pytest.param("bridge-e2e:0123456789ab:4711.2", (4711, 2), id="main"),
        pytest.param("bridge-e2e:0123456789ab:4711.2:verl-0", (4711, 2), id="leg"),
        pytest.param("bridge-e2e:crashed:4711.1", (4711, 1), id="crashed"),
        pytest.param("bridge-e2e:0123456789ab:3", (0, 3), id="without-a-run-is-older-than-all"),
        pytest.param("bridge-e2e:0123456789ab:4711.2:Verl", None, id="no-leg"),
        pytest.param("bridge-e2e:0123456789ab:", None, id="cut"),
        pytest.param("bridge-e2e:0123456789ab:\u0661.2", None, id="other-digits"),
        pytest.param("x bridge-e2e:0123456789ab:1.2", None, id="inside"),
    ],
)
def test_what_an_external_id_says(text: str, order: tuple[int, int] | None) -> None:
    mark = mark_of(text)
    assert (mark.order if mark else None) == order
    if mark and mark.run:
        assert mark.text == text
    assert Mark(plan="0" * 12, run=1, attempt=2, leg="a").name == "bridge-e2e / a"
