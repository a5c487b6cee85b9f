"""Commands and events that change what runs: rerun, cancel, waive, close, draft, push; and proofs that are reused."""

from typing import Any

import pytest

from bot.comments import STICKY
from bot.rehearsal import build
from bot.rehearsal.state import Output
from levels.model import Boundary, Outcome
from levels.plan import Decision, Plan
from tests.bot.conftest import APP_LOGIN, Opened, World, verdict_of
from tests.bot.rehearsal.conftest import Git

WHY = 'reason="verl cannot build this at its pin"'
WAIVE = f"/run-e2e waive suite=verl level=0 {WHY}"
BOTH = f"{WAIVE}\n/run-e2e waive suite=nemo-rl level=0 {WHY}"


def newest(world: World, number: int = 1) -> dict[str, tuple[str, str | None, str]]:
    return {run.name: (run.status, run.conclusion, run.output.title or "") for run in world.checks(number)}


def replies(world: World, number: int = 1) -> list[str]:
    login = world.extra.get("BRIDGE_E2E_BOT_LOGIN", "github-actions[bot]")
    return [one.body for one in world.comments(number) if one.user == login and not one.body.startswith(STICKY)]


def run(world: World, outcome: Outcome | None = None, **changes: Any) -> Plan:  # noqa: ANN401 - fields of LegVerdict
    world.seen(1)
    plan = world.asked(1, f"/run-e2e sha={world.head(1)}")
    if outcome is not None:
        world.report(plan, verdict_of(plan, outcome, **changes))
    world.state.advance(600)
    return plan


def rewritten(world: World, **fields: object) -> None:
    """Every check run as if it had been written otherwise."""
    for check in world.checks(1):
        for name, value in fields.items():
            setattr(check, name, value)


def test_a_waiver_of_everything_that_failed_makes_the_required_check_pass(opened: Opened) -> None:
    with opened() as world:
        run(world, Outcome.FAIL)
        plan = world.asked(1, BOTH, author="mia")
        assert plan.decision is Decision.WAIVED
        status, conclusion, title = newest(world)["bridge-e2e"]
        assert (status, conclusion) == ("completed", "success")
        assert title.startswith("Waived by mia: verl L0 Fail at hf-import")
        assert {newest(world)[name][1] for name in newest(world) if "/" in name} == {"failure"}
        assert replies(world)[-1].count("waives") == 2
        assert [one.reactions[0].content for one in world.comments(1) if one.user == "mia"] == ["+1"]


def test_a_waiver_of_one_level_leaves_the_other(opened: Opened) -> None:
    with opened() as world:
        run(world, Outcome.FAIL)
        world.asked(1, WAIVE, author="mia")
        assert newest(world)["bridge-e2e"][1:] == ("failure", "NeMo-RL L0 Fail at hf-import")
        world.asked(1, WAIVE.replace("verl ", "nemo-rl ", 1), author="ada")
        assert newest(world)["bridge-e2e"][1] == "success"
        assert len([check for check in world.checks(1) if check.name == "bridge-e2e"]) == 2


def test_a_waiver_outlives_a_second_report_and_holds_in_the_next_run_of_the_commit(opened: Opened) -> None:
    with opened() as world:
        plan = run(world, Outcome.FAIL)
        world.asked(1, BOTH, author="mia")
        world.run_id -= 1
        world.attempt = 2
        world.report(plan, verdict_of(plan, Outcome.FAIL))
        assert newest(world)["bridge-e2e"][1] == "success"
        world.attempt = 1
        world.run_id += 1
        again = world.asked(1, "/run-e2e rerun", author="mia")
        world.report(again, verdict_of(again, Outcome.FAIL))
        assert newest(world)["bridge-e2e"][2].startswith("Waived by mia")
        (sticky,) = [one.body for one in world.comments(1) if one.body.startswith(STICKY)]
        assert "**Waived** by mia" in sticky


@pytest.mark.parametrize(
    ("author", "changes", "command", "says"),
    [
        pytest.param("wim", {}, WAIVE, "wim has role write", id="write-is-not-enough"),
        pytest.param("tri", {}, WAIVE, "tri has role triage", id="triage"),
        pytest.param("mia", {"boundary": Boundary.BRIDGE_IMPORT}, WAIVE, "tested another tree", id="wrong-import"),
        pytest.param("mia", {"proof": "log-only"}, WAIVE, "nothing is known about", id="no-whole-evidence"),
        pytest.param(
            "mia", {}, WAIVE.replace("level=0", "level=1"), "no run of verl L1", id="a-level-that-did-not-run"
        ),
        pytest.param(
            "mia", {}, WAIVE.replace(WHY, 'reason="xxxxxxxxxxxx"'), "a sentence that says why", id="no-reason"
        ),
        pytest.param("mia", {}, WAIVE.replace("level=0", "level=0,1"), "one number", id="two-levels"),
        pytest.param("mia", {}, WAIVE.replace("level=0", "level=all"), "one number", id="all-levels"),
    ],
)
def test_what_cannot_be_waived(opened: Opened, author: str, changes: dict[str, Any], command: str, says: str) -> None:
    with opened() as world:
        run(world, Outcome.FAIL, **changes)
        before = newest(world)
        plan = world.asked(1, command, author=author)
        assert plan.decision is Decision.ANSWER
        assert newest(world) == before
        assert says in replies(world)[-1]


def test_the_author_waives_nothing_of_their_own(opened: Opened) -> None:
    with opened() as world:
        world.pull(1).user = "mia"
        run(world, Outcome.FAIL)
        world.asked(1, WAIVE, author="mia")
        assert newest(world)["bridge-e2e"][1] == "failure"
        assert "mia opened the pull request" in replies(world)[-1]


@pytest.mark.parametrize(
    ("outcome", "says"),
    [
        pytest.param(None, "still running", id="running"),
        pytest.param(Outcome.PASS, "passed on", id="passed"),
    ],
)
def test_what_need_not_be_waived(opened: Opened, outcome: Outcome | None, says: str) -> None:
    with opened() as world:
        run(world, outcome)
        world.asked(1, WAIVE, author="mia")
        assert says in replies(world)[-1]


def test_a_lost_verdict_cannot_be_waived(opened: Opened) -> None:
    with opened() as world:
        world.report(run(world), "")
        world.asked(1, BOTH, author="mia")
        assert newest(world)["bridge-e2e"][1] == "action_required"
        assert replies(world)[-1].count("nothing is known about") == 2


def test_a_waiver_is_for_one_commit(opened: Opened, bridge: Git) -> None:
    with opened() as world:
        run(world, Outcome.FAIL)
        world.asked(1, BOTH, author="mia")
        build.push(world.state, world.repo, bridge.path, 1, bridge("rev-parse", "code-2").strip())
        world.asked(1, WAIVE, author="mia")
        assert "no run of verl L0" in replies(world)[-1]


def test_cancel_closes_what_runs_and_says_who(opened: Opened) -> None:
    with opened() as world:
        plan = run(world)
        world.asked(1, "/run-e2e cancel", author="mia")
        assert set(newest(world).values()) == {("completed", "cancelled", "cancelled by mia")}
        assert "verl 0" in replies(world)[-1]
        world.run_id -= 1
        world.report(plan, verdict_of(plan, Outcome.BLOCKED))
        assert {found[2] for found in newest(world).values()} == {"cancelled by mia"}
        world.run_id += 1
        again = world.asked(1, "/run-e2e rerun")
        world.report(again, verdict_of(again))
        assert {found[1] for found in newest(world).values()} == {"success"}


def test_who_may_not_run_may_not_cancel(opened: Opened) -> None:
    with opened() as world:
        run(world)
        plan = world.asked(1, "/run-e2e cancel", author="tri")
        assert plan.decision is Decision.REFUSED
        assert {found[0] for found in newest(world).values()} == {"in_progress"}


@pytest.mark.parametrize(
    ("action", "says"), [("closed", "closed by wim"), ("converted_to_draft", "made a draft by wim")]
)
def test_a_pull_request_that_nobody_waits_for_ends_its_run(opened: Opened, action: str, says: str) -> None:
    with opened() as world:
        run(world)
        world.pull(1).state = "closed" if action == "closed" else "open"
        pull = world.pull(1).pull
        assert pull
        pull.draft = action != "closed"
        plan = world.happened(1, action)
        assert plan.decision is Decision.CANCEL
        assert {found[:2] for found in newest(world).values()} == {("completed", "cancelled")}
        assert all(found[2].endswith(says) for found in newest(world).values())
        assert world.happened(1, action).decision is Decision.IGNORED
        pull.draft, world.pull(1).state = False, "open"
        world.happened(1, "reopened" if action == "closed" else "ready_for_review")
        assert newest(world)["bridge-e2e"][1] == "action_required"
        assert newest(world)["bridge-e2e"][2].startswith("add label")


def test_a_push_supersedes_what_runs_on_the_older_head(opened: Opened, bridge: Git) -> None:
    with opened() as world:
        run(world)
        old = world.head(1)
        build.push(world.state, world.repo, bridge.path, 1, bridge("rev-parse", "code-2").strip())
        world.happened(1, "synchronize", before=old)
        closed = [check for check in world.repo.check_runs.values() if check.head_sha == old]
        assert {check.conclusion for check in closed if "4712" in (check.external_id or "")} == {"cancelled"}
        assert {check.output.title for check in closed if check.conclusion == "cancelled"} == {
            f"superseded by commit {world.head(1)[:12]}"
        }


def test_a_run_on_a_newer_head_supersedes_the_older_one_when_the_push_was_missed(opened: Opened, bridge: Git) -> None:
    with opened() as world:
        run(world)
        old = world.head(1)
        build.push(world.state, world.repo, bridge.path, 1, bridge("rev-parse", "code-2").strip())
        world.asked(1, f"/run-e2e sha={world.head(1)}")
        closed = [check for check in world.repo.check_runs.values() if check.head_sha == old]
        assert {check.status for check in closed} == {"completed"}


def test_rerun_asks_for_the_same_again(opened: Opened) -> None:
    with opened() as world:
        world.seen(1)
        first = world.asked(1, f"/run-e2e suite=verl level=0 sha={world.head(1)}")
        world.report(first, verdict_of(first, Outcome.FAIL))
        again = world.asked(1, "/run-e2e rerun")
        assert [leg.id for leg in again.legs] == ["verl-0-lora-ddp"]
        assert again.ask == "/run-e2e suite=verl level=0"
        assert "queued on commit" in replies(world)[-1]


def test_rerun_failed_under_the_plain_token_believes_nothing(opened: Opened) -> None:
    with opened() as world:
        plan = run(world)
        mixed = verdict_of(plan)
        failed = verdict_of(plan, Outcome.FAIL)
        world.report(plan, type(mixed)(**{**_fields(mixed), "legs": (mixed.legs[0], failed.legs[1])}))
        again = world.asked(1, "/run-e2e rerun failed")
        assert len(again.legs) == 2
        assert "any workflow could have written the earlier results" in replies(world)[-1]


def _fields(verdict: Any) -> dict[str, Any]:  # noqa: ANN401 - a Struct
    return {name: getattr(verdict, name) for name in verdict.__struct_fields__ if name != "schema"}


def test_rerun_failed_repeats_only_what_did_not_pass_under_an_app(opened: Opened) -> None:
    with opened() as world:
        world.as_app()
        plan = run(world)
        mixed, failed = verdict_of(plan), verdict_of(plan, Outcome.FAIL)
        world.report(plan, type(mixed)(**{**_fields(mixed), "legs": (mixed.legs[0], failed.legs[1])}))
        again = world.asked(1, "/run-e2e rerun failed")
        assert [leg.id for leg in again.legs] == ["nemo-rl-0-grpo"]
        assert [one.leg for one in again.proven] == ["verl-0-lora-ddp"]
        assert "Proven before on this commit" in replies(world)[-1]
        assert "/runs/" in replies(world)[-1]
        world.report(again, verdict_of(again))
        assert newest(world)["bridge-e2e"][1] == "success"
        assert newest(world)["bridge-e2e"][2].startswith("NeMo-RL L0 passed; verl L0 proven before on this commit")


def test_nothing_failed(opened: Opened) -> None:
    with opened() as world:
        run(world, Outcome.PASS)
        world.asked(1, "/run-e2e rerun failed")
        assert "everything passed" in replies(world)[-1]


def test_a_proven_commit_runs_nothing_under_an_app(opened: Opened) -> None:
    with opened() as world:
        world.as_app()
        run(world, Outcome.PASS)
        plan = world.asked(1, "/run-e2e")
        assert (plan.decision, plan.legs) == (Decision.PROVEN, ())
        assert newest(world)["bridge-e2e"][1] == "success"
        assert "all of it passed there before" in replies(world)[-1]
        assert len(world.asked(1, "/run-e2e force").legs) == 2


@pytest.mark.parametrize(
    ("spoil", "legs"),
    [
        pytest.param(lambda _: None, 0, id="nothing-changed"),
        pytest.param(lambda world: world.state.advance(169 * 3600), 2, id="too-old"),
        pytest.param(lambda world: world.extra.update(BRIDGE_E2E_COMMIT="d" * 40), 2, id="another-commit-of-ours"),
        pytest.param(lambda world: world.extra.pop("BRIDGE_E2E_COMMIT"), 2, id="our-commit-is-not-known"),
        pytest.param(lambda world: rewritten(world, output=Output()), 2, id="notes-are-gone"),
        pytest.param(lambda world: rewritten(world, app="github-actions"), 2, id="written-by-others"),
        pytest.param(lambda world: rewritten(world, conclusion="failure"), 2, id="not-a-success"),
    ],
)
def test_what_is_proof(opened: Opened, spoil: Any, legs: int) -> None:  # noqa: ANN401 - a function
    with opened() as world:
        world.as_app()
        run(world, Outcome.PASS)
        spoil(world)
        assert len(world.planned(world.commented(1, f"/run-e2e sha={world.head(1)}"), "issue_comment").legs) == legs


def test_the_plain_token_reuses_nothing(opened: Opened) -> None:
    with opened() as world:
        world.extra = {"BRIDGE_E2E_COMMIT": "c" * 40}
        run(world, Outcome.PASS)
        assert len(world.asked(1, "/run-e2e").legs) == 2


def test_every_command_of_one_comment_is_answered_in_one_reply_and_one_acts(opened: Opened) -> None:
    with opened() as world:
        run(world)
        body = "/run-e2e help\n/run-e2e cancel\n/run-e2e rerun\n/run-e2e cancle"
        before = len(replies(world))
        assert world.asked(1, body).decision is Decision.CANCEL
        (reply,) = replies(world)[before:]
        assert reply.count("\n---\n") == 3
        assert "in a comment of its own" in reply
        assert APP_LOGIN not in reply
