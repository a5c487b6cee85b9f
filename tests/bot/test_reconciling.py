"""What became of runs that nobody told the end of: progress, waiting, and everything that can die."""

from typing import Any

import pytest

from bot.comments import STICKY
from bot.rehearsal import build, payloads
from bot.rehearsal.faults import Fault
from bot.rehearsal.state import Step, WorkflowRun
from levels.model import Outcome
from levels.plan import Decision, Plan
from tests.bot.conftest import Opened, World, verdict_of
from tests.bot.rehearsal.conftest import Git


def started(world: World, body: str = "/run-e2e") -> tuple[Plan, WorkflowRun]:
    world.seen(1)
    plan = world.asked(1, f"{body} sha={world.head(1)}")
    return plan, world.workflow(plan)


def newest(world: World, number: int = 1) -> dict[str, tuple[str, str | None, str]]:
    return {run.name: (run.status, run.conclusion, run.output.title or "") for run in world.checks(number)}


def sticky(world: World) -> str:
    (body,) = [one.body for one in world.comments(1) if one.body.startswith(STICKY)]
    return body


def writes(world: World) -> list[str]:
    assert world.server
    return [f"{one.method} {one.path}" for one in world.server.journal if one.method != "GET"]


def test_it_says_how_long_a_leg_has_waited(opened: Opened) -> None:
    with opened() as world:
        started(world)
        world.state.advance(12 * 60)
        world.reconcile()
        assert {found[2] for found in newest(world).values()} == {"waiting for a runner, 12 min"}
        before = len(writes(world))
        world.reconcile()
        assert len(writes(world)) == before


def test_it_says_in_which_phase_a_leg_is(opened: Opened) -> None:
    with opened() as world:
        _, run = started(world)
        first = run.jobs[0]
        first.status = "in_progress"
        first.steps = [
            Step(name="Check out the three trees", number=1, status="completed", conclusion="success"),
            Step(name="Run the wrapper", number=2, status="in_progress"),
        ]
        world.reconcile()
        titles = {name: found[2] for name, found in newest(world).items()}
        assert titles == {
            "bridge-e2e": "running: Run the wrapper",
            "bridge-e2e / verl-0-lora-ddp": "running: Run the wrapper",
            "bridge-e2e / nemo-rl-0-grpo": "waiting for a runner, 10 min",
        } or titles["bridge-e2e / nemo-rl-0-grpo"].startswith("waiting for a runner")
        assert {found[0] for found in newest(world).values()} == {"in_progress"}


def test_a_label_that_nobody_serves_is_said_and_ended(opened: Opened) -> None:
    with opened() as world:
        plan, run = started(world)
        world.state.advance(721 * 60)
        world.reconcile()
        assert {found[1] for found in newest(world).values()} == {"action_required"}
        assert "721 min for labels self-hosted, h100" in newest(world)["bridge-e2e"][2]
        assert run.cancel_requested
        build.end_run(world.state, run, "cancelled")
        world.report(plan, verdict_of(plan, Outcome.BLOCKED))
        world.reconcile()
        assert "no runner came" in newest(world)["bridge-e2e"][2]
        assert "no runner came" in sticky(world)
        assert " closed -->" in sticky(world)


def test_a_leg_that_waits_too_long_beside_one_that_runs_ends_nothing(opened: Opened) -> None:
    with opened() as world:
        _, run = started(world)
        run.jobs[0].status = "in_progress"
        world.state.advance(721 * 60)
        world.reconcile()
        assert not run.cancel_requested
        assert newest(world)["bridge-e2e / verl-0-lora-ddp"][0] == "in_progress"
        assert newest(world)["bridge-e2e / nemo-rl-0-grpo"][1] == "action_required"


@pytest.mark.parametrize(
    ("conclusion", "check", "says"),
    [
        pytest.param("cancelled", "cancelled", "the workflow run was cancelled", id="cancelled-by-hand"),
        pytest.param("failure", "action_required", "ended without a result (failure)", id="job-lost"),
        pytest.param("timed_out", "action_required", "ended without a result (timed_out)", id="timed-out"),
        pytest.param(None, "action_required", "ended without a result", id="deleted"),
    ],
)
def test_a_run_without_a_report_is_closed(opened: Opened, conclusion: Any, check: str, says: str) -> None:  # noqa: ANN401 - a literal
    with opened() as world:
        _, run = started(world)
        if conclusion:
            build.end_run(world.state, run, conclusion)
        else:
            del world.repo.runs[run.id]
        for _ in range(2):
            world.reconcile()
        assert {found[:2] for found in newest(world).values()} == {("completed", check)}
        assert says in newest(world)["bridge-e2e"][2]
        assert " closed -->" in sticky(world)
        assert "rerun" in sticky(world)
        assert world.reconcile() == ""


def test_a_report_that_died_before_the_comment_is_finished(opened: Opened) -> None:
    with opened(Fault(method="PATCH", path="/comments/", status=422, times=1)) as world:
        plan, run = started(world)
        world.report(plan, verdict_of(plan), code=5)
        assert "2 levels queued" in sticky(world)
        build.end_run(world.state, run, "failure")
        world.reconcile()
        assert "**Proves**" in sticky(world)
        assert {found[1] for found in newest(world).values()} == {"success"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param(lambda issue: setattr(issue, "state", "closed"), "pull request closed", id="closed"),
        pytest.param(lambda issue: setattr(issue.pull, "draft", True), "made a draft", id="draft"),
    ],
)
def test_an_event_that_never_came_is_made_up_for(opened: Opened, change: Any, says: str) -> None:  # noqa: ANN401 - a function
    with opened() as world:
        _, run = started(world)
        change(world.pull(1))
        world.reconcile()
        assert run.cancel_requested
        assert {found[1] for found in newest(world).values()} == {"cancelled"}
        assert says in newest(world)["bridge-e2e"][2]
        assert says in sticky(world)


def test_the_run_of_an_older_head_is_ended(opened: Opened, bridge: Git) -> None:
    with opened() as world:
        _, run = started(world)
        old = world.head(1)
        build.push(world.state, world.repo, bridge.path, 1, bridge("rev-parse", "code-2").strip())
        world.reconcile()
        assert run.cancel_requested
        closed = {
            check.output.title for check in world.repo.check_runs.values() if check.head_sha == old and check.id > 0
        }
        assert f"superseded by commit {world.head(1)[:12]}" in closed


def test_cancel_frees_the_machines(opened: Opened) -> None:
    with opened() as world:
        plan, run = started(world)
        world.asked(1, "/run-e2e cancel")
        world.reconcile()
        assert run.cancel_requested
        assert "cancelled by wim" in sticky(world)
        build.end_run(world.state, run, "cancelled")
        world.run_id = run.id
        world.report(plan, verdict_of(plan, Outcome.BLOCKED))
        assert "cancelled by wim" in sticky(world)
        assert {found[2] for found in newest(world).values()} == {"cancelled by wim"}


def test_a_cancel_that_github_did_not_take_is_asked_for_again(opened: Opened) -> None:
    with opened(Fault(method="POST", path="/cancel$", status=422, times=1)) as world:
        _, run = started(world)
        world.asked(1, "/run-e2e cancel")
        world.reconcile(code=5)
        assert not run.cancel_requested
        world.reconcile()
        assert run.cancel_requested


def test_an_older_run_on_the_same_commit_is_not_forgotten(opened: Opened) -> None:
    with opened() as world:
        _, old = started(world)
        plan = world.asked(1, "/run-e2e suite=verl")
        new = world.workflow(plan)
        world.report(plan, verdict_of(plan))
        build.end_run(world.state, new, "success")
        world.reconcile()
        assert newest(world)["bridge-e2e / nemo-rl-0-grpo"][0] == "in_progress"
        build.end_run(world.state, old, "failure")
        world.reconcile()
        assert {found[0] for found in newest(world).values()} == {"completed"}
        assert "**Proves**" in sticky(world)
        assert world.reconcile() == ""


def test_a_repository_that_was_renamed_is_found(opened: Opened) -> None:
    with opened() as world:
        plan, run = started(world)
        build.rename(world.state, world.repo, "NVIDIA-NeMo/Bridge")
        world.report(plan, verdict_of(plan))
        build.end_run(world.state, run, "success")
        world.reconcile()
        assert {found[1] for found in newest(world).values()} == {"success"}


@pytest.mark.parametrize("gone", ["branch", "repository"])
def test_a_head_that_is_gone_changes_nothing(opened: Opened, gone: str) -> None:
    with opened() as world:
        pull = world.pull(3).pull
        assert pull
        world.seen(3)
        plan = world.asked(3, f"/run-e2e sha={world.head(3)}")
        run = world.workflow(plan)
        if gone == "repository":
            pull.head_repository = None
            world.state.repositories.pop("stranger/Megatron-Bridge")
        else:
            world.state.repositories["stranger/Megatron-Bridge"].refs.pop("refs/heads/code", None)
        world.reconcile()
        assert not run.cancel_requested
        world.report(plan, verdict_of(plan))
        build.end_run(world.state, run, "success")
        world.reconcile()
        assert {found[1] for found in newest(world, 3).values()} == {"success"}


def test_what_somebody_else_wrote_is_none_of_its_business(opened: Opened) -> None:
    with opened() as world:
        body = f"{STICKY}\n<!-- bridge-e2e:run=1.1 -->\n<!-- bridge-e2e:about={world.head(1)} open -->\n"
        build.add_comment(world.state, world.repo, 1, author="stranger", body=body)
        build.add_check(world.state, world.repo, world.head(1), external_id="bridge-e2e:0123456789ab:1.1")
        assert world.reconcile() == ""
        assert {check.status for check in world.checks(1)} == {"in_progress"}


def test_with_nothing_open_it_asks_for_the_time_and_the_comments(opened: Opened) -> None:
    with opened() as world:
        plan, run = started(world)
        world.report(plan, verdict_of(plan))
        build.end_run(world.state, run, "success")
        assert world.server
        before = len(world.server.journal)
        world.reconcile()
        assert len(world.server.journal) == before + 2


RUN_POLICY = """\
version: 1
minimum_role: write
minimum_role_to_ask: read
labels: {verl-e2e: [verl, nemo-rl]}
labels_on_forks: true
settled_seconds: {same_repository: 120, fork: 300}
merge_queue: run
"""


def test_a_merge_group_that_runs_is_looked_after(opened: Opened) -> None:
    with opened() as world:
        world.extra["BRIDGE_E2E_POLICY"] = str(world.write("policy.yaml", RUN_POLICY))
        pull = world.pull(1).pull
        assert pull
        event = payloads.merge_group(world.state, world.repo, 1, head_sha=pull.head_sha, base_sha=pull.base_sha)
        plan = world.planned(event, "merge_group")
        assert (plan.decision, plan.pull_request) == (Decision.RUN, None)
        assert [leg.level for leg in plan.legs] == [0, 0]
        world.receive(plan)
        assert newest(world)["bridge-e2e"][0] == "in_progress"
        run = build.add_run(world.state, world.repo, pull.head_sha, event="merge_group", run_id=world.run_id)
        build.end_run(world.state, run, "failure")
        world.reconcile()
        assert {found[:2] for found in newest(world).values()} == {("completed", "action_required")}
        assert world.comments(1) == []
