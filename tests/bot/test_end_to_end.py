"""An event goes in, what stands on GitHub afterwards comes out: real PyGithub, embedded GitHub, our own commands."""

import io
import json
from typing import Any

import msgspec
import pytest

from bot import publish_cli
from bot.comments import STICKY
from bot.rehearsal import build, payloads
from bot.rehearsal.faults import Fault
from levels.model import Attribution, Outcome
from levels.plan import Plan
from levels.verdict import Verdict
from tests.bot.conftest import REPOSITORY, TOKEN, Opened, World, verdict_of

BOT = "github-actions[bot]"


def shown(world: World, number: int) -> dict[str, tuple[str, str | None]]:
    """The newest check run of each name, as the page shows it."""
    return {run.name: (run.status, run.conclusion) for run in world.checks(number)}


def ours(world: World, number: int) -> list[str]:
    return [comment.body for comment in world.comments(number) if comment.user == BOT]


def run(world: World, number: int = 1) -> Plan:
    world.seen(number)
    plan = world.planned(world.labelled(number))
    world.receive(plan)
    return plan


def test_a_label_ends_in_one_comment_and_the_right_checks(opened: Opened) -> None:
    with opened() as world:
        plan = run(world)
        names = {"bridge-e2e", "bridge-e2e / verl-0-lora-ddp", "bridge-e2e / nemo-rl-0-grpo"}
        assert shown(world, 1) == dict.fromkeys(names, ("in_progress", None))
        assert [body.startswith(STICKY) for body in ours(world, 1)] == [True]
        assert "2 levels queued" in ours(world, 1)[0]

        world.report(plan, verdict_of(plan))
        assert shown(world, 1) == dict.fromkeys(names, ("completed", "success"))
        (body,) = ours(world, 1)
        assert body.startswith(STICKY)
        assert "**Proves**" in body
        assert {run.external_id for run in world.checks(1)} == {
            "bridge-e2e:000000000000:1",
            f"bridge-e2e:{plan.id}:4711.1",
            f"bridge-e2e:{plan.id}:4711.1:verl-0-lora-ddp",
            f"bridge-e2e:{plan.id}:4711.1:nemo-rl-0-grpo",
        }


@pytest.mark.parametrize(
    ("outcome", "changes", "conclusion", "title"),
    [
        pytest.param(Outcome.PASS, {}, "success", "passed", id="pass"),
        pytest.param(Outcome.FAIL, {}, "failure", "Fail at hf-import", id="fail"),
        pytest.param(
            Outcome.FAIL,
            {"attribution": Attribution.DOWNSTREAM},
            "action_required",
            "not this change's",
            id="downstream",
        ),
        pytest.param(
            Outcome.FAIL, {"comparison": "shared-with-base"}, "action_required", "not this change's", id="shared"
        ),
        pytest.param(Outcome.BLOCKED, {}, "action_required", "not evidence against this change", id="blocked"),
    ],
)
def test_what_the_required_check_concludes(
    opened: Opened, outcome: Outcome, changes: dict[str, Any], conclusion: str, title: str
) -> None:
    with opened() as world:
        plan = run(world)
        world.report(plan, verdict_of(plan, outcome, **changes))
        main = [check for check in world.checks(1) if check.name == "bridge-e2e"][-1]
        assert (main.status, main.conclusion) == ("completed", conclusion)
        assert title in (main.output.title or "")


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(lambda _: "", id="empty"),
        pytest.param(lambda _: "{", id="broken"),
        pytest.param(lambda _: " " * 900_001, id="endless"),
        pytest.param(lambda v: msgspec.structs.replace(v, plan="0" * 12), id="another-plan"),
        pytest.param(lambda v: msgspec.structs.replace(v, head="0" * 40), id="another-commit"),
        pytest.param(lambda v: msgspec.structs.replace(v, pull_request=99), id="another-pull-request"),
        pytest.param(lambda v: msgspec.structs.replace(v, legs=v.legs[:1]), id="a-leg-missing"),
    ],
)
def test_a_verdict_that_is_not_right_closes_every_check(opened: Opened, broken: Any) -> None:  # noqa: ANN401 - a function
    with opened() as world:
        plan = run(world)
        world.report(plan, broken(verdict_of(plan)))
        main = [check for check in world.checks(1) if check.name == "bridge-e2e"][-1]
        assert main.conclusion == "action_required"
        assert {check.status for check in world.checks(1)} == {"completed"}
        assert "o verdict" in ours(world, 1)[0]


def test_a_re_run_of_the_judge_writes_over_the_same_checks(opened: Opened) -> None:
    with opened() as world:
        plan = run(world)
        world.report(plan, "")
        before = [check.id for check in world.checks(1)]
        world.attempt = 2
        world.report(plan, verdict_of(plan))
        assert [check.id for check in world.checks(1)] == before
        assert shown(world, 1)["bridge-e2e"] == ("completed", "success")
        world.attempt = 1
        world.report(plan, "")
        assert shown(world, 1)["bridge-e2e"] == ("completed", "success")
        assert "attempt 2" in ours(world, 1)[0]


def test_a_newer_run_on_the_same_commit_wins(opened: Opened) -> None:
    with opened() as world:
        old = run(world)
        world.run_id += 1
        new = world.planned(world.commented(1, "/run-e2e suite=verl"), "issue_comment")
        world.receive(new)
        cancelled = {check.name for check in world.checks(1) if check.conclusion == "cancelled"}
        assert cancelled == {"bridge-e2e", "bridge-e2e / verl-0-lora-ddp"}
        world.report(new, verdict_of(new, Outcome.FAIL))
        world.run_id -= 1
        world.report(old, verdict_of(old))
        assert shown(world, 1)["bridge-e2e"] == ("completed", "failure")
        assert "Fail" in next(body for body in ours(world, 1) if body.startswith(STICKY))
        assert {check.status for check in world.checks(1)} == {"completed"}


def test_a_pass_of_half_of_what_is_needed_is_no_success(opened: Opened) -> None:
    with opened() as world:
        world.seen(1)
        plan = world.planned(world.labelled(1, "nemo-rl-e2e"))
        world.receive(plan)
        world.report(plan, verdict_of(plan))
        assert shown(world, 1)["bridge-e2e"] == ("completed", "action_required")
        assert shown(world, 1)["bridge-e2e / nemo-rl-0-grpo"] == ("completed", "success")


@pytest.mark.parametrize(
    ("number", "conclusion"), [pytest.param(1, "action_required", id="code"), pytest.param(2, "success", id="docs")]
)
def test_every_head_gets_its_check(opened: Opened, number: int, conclusion: str) -> None:
    with opened() as world:
        event = payloads.pull_request(world.state, world.repo, world.pull(number), "opened", sender="stranger")
        for _ in range(2):
            world.receive(world.planned(event))
        assert shown(world, number) == {"bridge-e2e": ("completed", conclusion)}
        assert len(world.checks(number)) == 1
        assert world.comments(number) == []


def test_the_check_of_opened_is_what_makes_a_later_label_count(opened: Opened) -> None:
    with opened() as world:
        event = payloads.pull_request(world.state, world.repo, world.pull(3), "opened", sender="stranger")
        world.receive(world.planned(event))
        for seconds, decision in ((200, "refused"), (101, "run")):
            world.state.advance(seconds)
            assert world.planned(world.labelled(3)).decision.value == decision


def test_somebody_who_may_not_is_answered_and_changes_no_check(opened: Opened) -> None:
    with opened() as world:
        plan = run(world)
        world.report(plan, verdict_of(plan))
        before = shown(world, 1)
        event = world.commented(1, "/run-e2e", author="rea")
        for _ in range(2):
            world.receive(world.planned(event, "issue_comment"))
        assert shown(world, 1) == before
        sticky, answer = ours(world, 1)
        assert sticky.startswith(STICKY)
        assert "nothing was started" in answer
        assert "role write or above" in answer
        assert "@rea" not in answer
        asked = [comment for comment in world.comments(1) if comment.user == "rea"]
        assert [[reaction.content for reaction in comment.reactions] for comment in asked] == [["confused"]]


@pytest.mark.parametrize(
    ("body", "words", "reaction"),
    [
        pytest.param("/run-e2e lvel=0", "Did you mean `/run-e2e level=0`?", "eyes", id="typo"),
        pytest.param("/run-e2e help", "Levels of this release:", "eyes", id="help"),
        pytest.param("/run-e2e explain", "The changed files need:", "eyes", id="explain"),
        pytest.param("/run-e2e cancel", "nothing that runs on", "eyes", id="nothing-to-cancel"),
        pytest.param("/run-e2e level=7", "does not have in this release", "eyes", id="no-such-level"),
        pytest.param("/run-e2e", "queued on commit", "rocket", id="run"),
        pytest.param("/run-e2e help\n/run-e2e cancel", "\n---\n", "eyes", id="two"),
    ],
)
def test_every_command_gets_one_reaction_and_one_reply(opened: Opened, body: str, words: str, reaction: str) -> None:
    with opened() as world:
        world.seen(1)
        plan = world.planned(world.commented(1, body), "issue_comment")
        for _ in range(2):
            world.receive(plan)
        (reply,) = [text for text in ours(world, 1) if not text.startswith(STICKY)]
        assert words in reply
        (asked,) = [comment for comment in world.comments(1) if comment.user == "wim"]
        assert [one.content for one in asked.reactions] == [reaction]


def test_a_label_on_a_change_that_needs_nothing_is_answered(opened: Opened) -> None:
    with opened() as world:
        plan = run(world, 2)
        assert plan.legs == ()
        (answer,) = ours(world, 2)
        assert "nothing to run" in answer
        assert "/run-e2e level=0" in answer
        assert "rule " in answer


def test_a_forged_comment_is_not_ours(opened: Opened) -> None:
    with opened() as world:
        forged = build.add_comment(world.state, world.repo, 1, author="stranger", body=f"{STICKY}\nall is well")
        plan = run(world)
        world.report(plan, verdict_of(plan, Outcome.FAIL))
        assert forged.body == f"{STICKY}\nall is well"
        assert len(ours(world, 1)) == 1


def test_a_forged_check_is_not_ours(opened: Opened) -> None:
    with opened() as world:
        build.add_app(world.state, "other-app", name="Other", owner="other")
        plan = run(world)
        forged = build.add_check(
            world.state, world.repo, plan.head or "", app="other-app", external_id=f"bridge-e2e:{plan.id}:9"
        )
        world.report(plan, verdict_of(plan))
        assert forged.status == "in_progress"
        own = [check for check in world.checks(1) if check.app != "other-app" and check.name == "bridge-e2e"]
        assert own[-1].conclusion == "success"


@pytest.mark.parametrize("text", ["", "{"])
def test_a_plan_that_could_not_be_made_closes_the_check(opened: Opened, text: str) -> None:
    with opened() as world:
        event = world.write("event.json", json.dumps(world.labelled(1)))
        for _ in range(2):
            environ = {"GITHUB_EVENT_PATH": str(event), "GITHUB_EVENT_NAME": "pull_request_target"}
            assert "the Plan" in world.report(text, "", code=2, **environ)
        (check,) = world.checks(1)
        assert (check.conclusion, check.external_id) == ("failure", "bridge-e2e:crashed:4711.1")
        plan = world.planned(payloads.pull_request(world.state, world.repo, world.pull(1), "reopened", sender="wim"))
        world.receive(plan)
        assert shown(world, 1) == {"bridge-e2e": ("completed", "action_required")}


@pytest.mark.parametrize("text", ["", "{", "null", "zlib:!", None], ids=["empty", "cut", "null", "packed", "no-file"])
def test_a_receipt_without_a_plan_closes_the_check_as_well(opened: Opened, text: str | None) -> None:
    """Its job output may vanish, and where nothing runs no report follows."""
    with opened() as world:
        opened_now = payloads.pull_request(world.state, world.repo, world.pull(1), "opened", sender="wim")
        event = world.write("event.json", json.dumps(opened_now))
        environ = {"GITHUB_EVENT_PATH": str(event), "GITHUB_EVENT_NAME": "pull_request_target"}
        file = world.folder / "none.json" if text is None else world.write("plan.json", text)
        err = io.StringIO()
        arguments = ["--plan", str(file)]
        assert publish_cli.receive(arguments, environ=world.environ(**environ), pace=world.waits.pace(), err=err) == 2
        assert err.getvalue().startswith("receipt: reading the Plan: found ")
        (check,) = world.checks(1)
        assert (check.conclusion, check.external_id) == ("failure", "bridge-e2e:crashed:4711.1")


@pytest.mark.parametrize(
    ("environ", "also"),
    [
        pytest.param({}, "neither --event", id="no-event"),
        pytest.param({"GITHUB_EVENT_PATH": "EVENT", "GITHUB_API_URL": "http://127.0.0.1:9"}, "broke", id="no-github"),
    ],
)
def test_who_cannot_be_told_hides_nothing(opened: Opened, environ: dict[str, str], also: str) -> None:
    with opened() as world:
        event = str(world.write("event.json", json.dumps(world.labelled(1))))
        environ = {key: event if value == "EVENT" else value for key, value in environ.items()}
        said = world.report("", "", code=2, GITHUB_EVENT_NAME="pull_request_target", **environ)
        assert said.startswith("report: reading the Plan: found no text at all")
        assert also in said


@pytest.mark.parametrize("summary", ["/dev/full", "/does/not/exist"])
def test_a_job_summary_that_cannot_be_written_leaves_no_check_open(opened: Opened, summary: str) -> None:
    with opened() as world:
        plan = run(world)
        said = world.report(plan, verdict_of(plan), code=2, GITHUB_STEP_SUMMARY=summary)
        assert f"writing the job summary: found {summary}: " in said
        assert {check.status for check in world.checks(1)} == {"completed"}
        assert len(ours(world, 1)) == 1


def test_a_folder_that_cannot_be_written_is_said(opened: Opened) -> None:
    with opened() as world:
        plan = run(world)
        said = world.report(plan, verdict_of(plan), "--dry-run", "/dev/null/out", code=2)
        assert "writing what would be published: found /dev/null/out: Not a directory; expected" in said


def test_a_command_whose_plan_could_not_be_made_is_answered_with_a_link(opened: Opened) -> None:
    with opened() as world:
        event = world.write("event.json", json.dumps(world.commented(1, "/run-e2e")))
        world.report("", "", code=2, GITHUB_EVENT_PATH=str(event), GITHUB_EVENT_NAME="issue_comment")
        (answer,) = ours(world, 1)
        assert "/actions/runs/4711" in answer
        assert "Traceback" not in answer


def test_an_ordinary_comment_whose_plan_could_not_be_made_is_left_alone(opened: Opened) -> None:
    with opened() as world:
        event = world.write("event.json", json.dumps(world.commented(1, "thanks!")))
        world.report("", "", code=2, GITHUB_EVENT_PATH=str(event), GITHUB_EVENT_NAME="issue_comment")
        assert ours(world, 1) == []
        assert world.checks(1) == []


def test_a_merge_group_gets_its_check(opened: Opened) -> None:
    with opened() as world:
        for number, conclusion in ((1, "failure"), (2, "success")):
            pull = world.pull(number).pull
            assert pull
            event = payloads.merge_group(
                world.state, world.repo, number, head_sha=pull.head_sha, base_sha=pull.base_sha
            )
            world.receive(world.planned(event, "merge_group"))
            assert shown(world, number) == {"bridge-e2e": ("completed", conclusion)}


def test_a_token_of_another_login_is_said(opened: Opened) -> None:
    with opened() as world:
        build.add_app(world.state, "our-app", name="Ours", owner="us")
        build.grant(world.state, TOKEN, app="our-app", repository=REPOSITORY)
        world.seen(1)
        plan = world.planned(world.commented(1, f"/run-e2e sha={world.head(1)}"), "issue_comment")
        assert "set BRIDGE_E2E_BOT_LOGIN (input bot-login) to our-app[bot]" in world.receive(plan, code=5)
        assert len([run for run in world.checks(1) if run.app == "our-app"]) == 3


def test_a_plan_that_runs_nothing_has_nothing_to_report(opened: Opened) -> None:
    with opened() as world:
        plan = run(world, 2)
        before = shown(world, 2)
        assert "nothing ran" in world.report(plan, "")
        assert shown(world, 2) == before


def test_dry_run_writes_files_and_asks_github_nothing(opened: Opened) -> None:
    with opened() as world:
        world.seen(1)
        plan = world.planned(world.labelled(1))
        assert world.server
        asked = len(world.server.journal)
        world.report(
            plan, verdict_of(plan, Outcome.FAIL), "--dry-run", str(world.folder / "out"), "--exit-code", code=1
        )
        assert len(world.server.journal) == asked
        checks = json.loads((world.folder / "out" / "checks.json").read_text())
        assert [check["conclusion"] for check in checks] == ["failure"] * 3
        assert "Fail at hf-import" in (world.folder / "out" / "comment.md").read_text()
        assert (world.folder / "out" / "summary.md").read_text()


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        pytest.param(Outcome.PASS, 0, id="pass"),
        pytest.param(Outcome.FAIL, 1, id="fail"),
        pytest.param(Outcome.BLOCKED, 3, id="blocked"),
        pytest.param(None, 3, id="none"),
    ],
)
def test_the_exit_code_follows_the_verdict_when_asked(opened: Opened, verdict: Outcome | None, code: int) -> None:
    with opened() as world:
        plan = run(world)
        text: Verdict | str = verdict_of(plan, verdict) if verdict else ""
        world.report(plan, text, "--exit-code", code=code)
        world.report(plan, text)


def test_the_job_summary_is_written(opened: Opened) -> None:
    with opened() as world:
        plan = run(world)
        summary = world.folder / "summary.md"
        world.report(plan, verdict_of(plan), GITHUB_STEP_SUMMARY=str(summary))
        assert "bridge-e2e" in summary.read_text()


def test_few_calls_are_made(opened: Opened) -> None:
    with opened() as world:
        plan = run(world)
        world.report(plan, verdict_of(plan))
        assert world.server
        assert len(world.server.journal) == CALLS


FAULTS = [
    pytest.param(Fault(status=500), id="500"),
    pytest.param(Fault(status=502, work=True), id="502-after-the-work"),
    pytest.param(Fault(status=403, message="You have exceeded a secondary rate limit."), id="403-secondary"),
    pytest.param(Fault(status=429, headers={"Retry-After": "0"}), id="429"),
    pytest.param(Fault(kind="reset"), id="reset"),
    pytest.param(Fault(kind="reset", work=True), id="reset-after-the-work"),
]


CALLS = 17
"""What plan, receipt and report of a label ask for together."""


@pytest.mark.parametrize("at", range(CALLS))
def test_a_lost_answer_at_any_call_leaves_the_same_end_state(opened: Opened, at: int) -> None:
    one_fault(opened, Fault(kind="reset", work=True, at=at))


@pytest.mark.exhaustive
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("at", range(CALLS))
def test_any_fault_at_any_call_leaves_the_same_end_state(opened: Opened, fault: Fault, at: int) -> None:
    one_fault(opened, msgspec.structs.replace(fault, at=at))


def one_fault(opened: Opened, fault: Fault) -> None:
    with opened(fault) as world:
        plan = run(world)
        world.report(plan, verdict_of(plan))
        assert len(ours(world, 1)) == 1
        names = [check.name for check in world.checks(1)]
        assert sorted(names) == sorted([*set(names), "bridge-e2e"])
        assert set(shown(world, 1).values()) == {("completed", "success")}
        assert world.server
        assert world.server.faults.left == ()


@pytest.mark.parametrize("path", ["/check-runs", "/comments", "/reactions"])
def test_an_outage_of_one_kind_of_call_stops_no_other(opened: Opened, path: str) -> None:
    with opened(Fault(method="POST", path=f"{path}$", status=500, times=99)) as world:
        world.seen(1)
        plan = world.planned(world.commented(1, "/run-e2e"), "issue_comment")
        said = world.receive(plan, code=5)
        assert "POST /repos/NVIDIA-NeMo/Megatron-Bridge" in said
        assert (len(world.checks(1)) == 4) is (path != "/check-runs")
        assert (len(ours(world, 1)) == 2) is (path != "/comments")
        (asked,) = [comment for comment in world.comments(1) if comment.user == "wim"]
        assert bool(asked.reactions) is (path != "/reactions")
