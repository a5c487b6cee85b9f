"""Events to Plans, through real PyGithub and the embedded GitHub."""

import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bot import event_cli
from bot.rehearsal import build, payloads
from bot.rehearsal.faults import Fault
from bot.rehearsal.state import ChangedFile
from levels.model import Suite
from levels.plan import Decision
from tests.bot.conftest import BRIDGE, Opened, many_files


def test_a_label_of_somebody_who_may_runs_the_selected_levels(opened: Opened) -> None:
    with opened() as world:
        world.seen(1)
        plan = world.planned(world.labelled(1))
        assert plan.decision is Decision.RUN
        assert [leg.id for leg in plan.legs] == ["verl-0-lora-ddp", "nemo-rl-0-grpo"]
        assert plan.consent
        assert (plan.consent.actor, plan.consent.role, plan.consent.via) == ("wim", "write", "label verl-e2e")
        pull = world.pull(1).pull
        assert pull
        assert (plan.head, plan.base, plan.pull_request) == (pull.head_sha, pull.base_sha, 1)
        assert {leg.bridge_commit for leg in plan.legs} == {pull.head_sha}
        assert plan.selection.chosen[0].reasons[0].path == BRIDGE
        assert plan.run_url == "https://github.com/NVIDIA-NeMo/Megatron-Bridge/actions/runs/4711"


@pytest.mark.parametrize(
    ("labels", "suites"),
    [
        pytest.param(["nemo-rl-e2e"], {Suite.NEMO_RL}, id="one-suite"),
        pytest.param(["verl-e2e"], {Suite.VERL, Suite.NEMO_RL}, id="both"),
        pytest.param(["verl-e2e", "nemo-rl-e2e"], {Suite.VERL, Suite.NEMO_RL}, id="labels-add"),
    ],
)
def test_what_a_label_asks_for(opened: Opened, labels: list[str], suites: set[Suite]) -> None:
    with opened() as world:
        world.seen(1)
        for label in labels[:-1]:
            world.labelled(1, label)
        plan = world.planned(world.labelled(1, labels[-1]))
        assert {leg.suite for leg in plan.legs} == suites
        assert {reason.rule for choice in plan.selection.skipped for reason in choice.reasons} >= {"no-rule"}


def test_a_label_on_a_change_that_needs_nothing_names_the_rule(opened: Opened) -> None:
    with opened() as world:
        world.seen(2)
        plan = world.planned(world.labelled(2))
        assert plan.decision is Decision.NOT_NEEDED
        assert "rule " in plan.because
        assert plan.reply
        assert plan.reply.template == "not-needed"


@pytest.mark.parametrize(
    ("number", "action", "decision"),
    [
        pytest.param(1, "opened", Decision.NOT_ASKED, id="code"),
        pytest.param(1, "synchronize", Decision.NOT_ASKED, id="push"),
        pytest.param(2, "opened", Decision.NOT_NEEDED, id="docs"),
        pytest.param(3, "reopened", Decision.NOT_ASKED, id="fork"),
        pytest.param(4, "opened", Decision.NOT_ASKED, id="head-repository-deleted"),
    ],
)
def test_every_head_gets_an_answer(opened: Opened, number: int, action: Any, decision: Decision) -> None:  # noqa: ANN401 - a literal
    with opened() as world:
        before = "0" * 40 if action == "synchronize" else None
        event = payloads.pull_request(world.state, world.repo, world.pull(number), action, sender="wim", before=before)
        plan = world.planned(event)
        assert (plan.decision, plan.head, plan.consent) == (decision, world.head(number), None)


def test_a_push_voids_consent(opened: Opened) -> None:
    with opened() as world:
        world.labelled(1)
        event = payloads.pull_request(
            world.state, world.repo, world.pull(1), "synchronize", sender="wim", before="0" * 40
        )
        assert world.planned(event).decision is Decision.VOID


@pytest.mark.parametrize("sender", ["tri", "rea", "nona", "nobody-at-all"])
def test_a_label_of_somebody_who_may_not(opened: Opened, sender: str) -> None:
    with opened() as world:
        world.seen(1)
        build.add_user(world.state, sender)
        plan = world.planned(world.labelled(1, sender=sender))
        assert (plan.decision, plan.legs, plan.consent) == (Decision.REFUSED, (), None)
        assert plan.reply
        assert "role write or above" in plan.reply.values["expected"]


def test_a_label_right_after_a_push_asks_for_the_sha(opened: Opened) -> None:
    with opened() as world:
        world.seen(1, seconds=60)
        plan = world.planned(world.labelled(1))
        assert plan.decision is Decision.REFUSED
        assert plan.reply
        assert f"/run-e2e sha={world.head(1)}" in plan.reply.values["hint"]


def test_a_check_that_somebody_else_wrote_is_none_of_ours(opened: Opened) -> None:
    with opened() as world:
        build.add_app(world.state, "other-app", name="Other", owner="other")
        external = "bridge-e2e:000000000000:1"
        build.add_check(world.state, world.repo, world.head(1), app="other-app", external_id=external)
        build.add_check(world.state, world.repo, world.head(1), name="ci", external_id=external)
        build.add_check(world.state, world.repo, world.head(1), external_id="something-else")
        world.state.advance(3600)
        assert world.planned(world.labelled(1)).decision is Decision.REFUSED


def test_consent_to_a_head_that_moved_meanwhile_is_void(opened: Opened, bridge: Any) -> None:  # noqa: ANN401 - a fixture
    with opened() as world:
        world.seen(1)
        event = world.labelled(1)
        build.push(world.state, world.repo, bridge.path, 1, bridge("rev-parse", "code-2"))
        plan = world.planned(event)
        assert (plan.decision, plan.legs) == (Decision.VOID, ())
        assert plan.reply
        assert world.head(1) in plan.reply.values["hint"]


def test_a_role_that_github_does_not_tell_is_no_role(opened: Opened) -> None:
    with opened(Fault(path="/permission$", status=500, times=99)) as world:
        world.seen(1)
        plan = world.planned(world.labelled(1))
        assert plan.decision is Decision.REFUSED
        assert "no answer from GitHub" in plan.because


def test_files_that_github_does_not_list_widen(opened: Opened) -> None:
    with opened(Fault(path="/files$", status=500, times=99)) as world:
        world.seen(2)
        plan = world.planned(world.labelled(2))
        assert plan.decision is Decision.RUN
        assert len(plan.legs) == 10
        assert "did not list the files" in plan.selection.widened[0]


def test_three_thousand_files_widen(opened: Opened) -> None:
    with opened() as world:
        world.seen(2)
        pull = world.pull(2).pull
        assert pull
        pull.files = many_files(3_200)
        plan = world.planned(world.labelled(2))
        assert plan.decision is Decision.RUN
        assert "3000 files" in " ".join(plan.selection.widened)


def test_a_hostile_patch_widens_and_never_stops_the_plan(opened: Opened) -> None:
    with opened() as world:
        world.seen(1)
        pull = world.pull(1).pull
        assert pull
        pull.files = [
            ChangedFile(
                filename=BRIDGE,
                status="modified",
                sha="0" * 40,
                additions=9,
                deletions=0,
                patch="@@ nonsense\n" + "(" * 100_000,
            )
        ]
        plan = world.planned(world.labelled(1))
        assert plan.decision is Decision.RUN
        assert plan.selection.widened


def test_the_head_repository_may_be_gone(opened: Opened) -> None:
    with opened() as world:
        world.seen(4)
        plan = world.planned(world.labelled(4))
        assert plan.decision is Decision.RUN
        assert {leg.bridge_repository for leg in plan.legs} == {"https://github.com/NVIDIA-NeMo/Megatron-Bridge.git"}


def test_a_merge_group_gets_an_answer_at_once(opened: Opened) -> None:
    with opened() as world:
        for number, decision in ((1, Decision.UNPROVEN), (2, Decision.NOT_NEEDED)):
            pull = world.pull(number).pull
            assert pull
            event = payloads.merge_group(
                world.state, world.repo, number, head_sha=pull.head_sha, base_sha=pull.base_sha
            )
            plan = world.planned(event, "merge_group")
            assert (plan.decision, plan.head, plan.pull_request) == (decision, pull.head_sha, None)


COMMENTS = [
    pytest.param("/run-e2e", Decision.RUN, "queued", 2, id="run"),
    pytest.param("/run-e2e suite=verl", Decision.RUN, "queued", 1, id="one-suite"),
    pytest.param("/run-e2e level=0 suite=nemo-rl", Decision.RUN, "queued", 1, id="one-level"),
    pytest.param("/run-e2e level=all", Decision.RUN, "queued", 12, id="all"),
    pytest.param("/run-e2e model=Qwen/Qwen3-0.6B", Decision.RUN, "queued", 2, id="allowed-model"),
    pytest.param("/run-e2e model=evil/model", Decision.ANSWER, "unusable", 0, id="model-not-allowed"),
    pytest.param("/run-e2e level=9", Decision.ANSWER, "unusable", 0, id="no-such-level"),
    pytest.param("/run-e2e dry-run", Decision.ANSWER, "dry-run", 0, id="dry-run"),
    pytest.param("/run-e2e explain", Decision.ANSWER, "explain", 0, id="explain"),
    pytest.param("/run-e2e help", Decision.ANSWER, "help", 0, id="help"),
    pytest.param("/run-e2e rerun failed", Decision.ANSWER, "unusable", 0, id="rerun-of-nothing"),
    pytest.param("/run-e2e cancel", Decision.ANSWER, "unusable", 0, id="cancel-of-nothing"),
    pytest.param("/run-e2e lvel=0", Decision.ANSWER, "misread", 0, id="typo"),
    pytest.param("/run-e2e help\n/run-e2e explain", Decision.ANSWER, "several", 0, id="two-questions"),
    pytest.param("/run-e2e help\n/run-e2e", Decision.RUN, "several", 2, id="question-and-run"),
    pytest.param("/run-e2e level=0\n/run-e2e suite=verl", Decision.RUN, "several", 2, id="two-runs"),
    pytest.param("please look at `/run-e2e`", Decision.IGNORED, None, 0, id="ordinary-comment"),
]


@pytest.mark.parametrize(("body", "decision", "template", "legs"), COMMENTS)
def test_a_comment_of_somebody_who_may(
    opened: Opened, body: str, decision: Decision, template: str | None, legs: int
) -> None:
    with opened() as world:
        world.seen(1)
        plan = world.planned(world.commented(1, body), "issue_comment")
        assert plan.decision is decision
        assert (plan.reply.template if plan.reply else None) == template
        assert len(plan.legs) == legs
        assert (plan.command is None) is (decision is Decision.IGNORED)


def test_a_stranger_may_ask_and_not_run(opened: Opened) -> None:
    with opened() as world:
        world.seen(1)
        for body, decision in (("/run-e2e", Decision.REFUSED), ("/run-e2e help", Decision.ANSWER)):
            plan = world.planned(world.commented(1, body, author="rea"), "issue_comment")
            assert plan.decision is decision
        plan = world.planned(world.commented(1, f"/run-e2e sha={world.head(1)}", author="rea"), "issue_comment")
        assert plan.decision is Decision.REFUSED


def test_a_named_commit_needs_no_waiting(opened: Opened) -> None:
    with opened() as world:
        plan = world.planned(world.commented(3, f"/run-e2e sha={world.head(3)}"), "issue_comment")
        assert plan.decision is Decision.RUN
        assert plan.consent
        assert plan.consent.commit == world.head(3)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        pytest.param("/run-e2e", "no check of ours", id="unknown-head"),
        pytest.param(f"/run-e2e sha={'0' * 40}", "sha=000", id="another-commit"),
    ],
)
def test_an_unclear_commit_is_refused(opened: Opened, body: str, found: str) -> None:
    with opened() as world:
        plan = world.planned(world.commented(3, body), "issue_comment")
        assert plan.decision is Decision.REFUSED
        assert found in plan.because


@pytest.mark.parametrize("state", ["closed", "draft"])
def test_nothing_runs_on_a_closed_or_draft_one(opened: Opened, state: str) -> None:
    with opened() as world:
        world.seen(1)
        issue = world.pull(1)
        assert issue.pull
        issue.state = "closed" if state == "closed" else "open"
        issue.pull.draft = state == "draft"
        plan = world.planned(world.commented(1, "/run-e2e"), "issue_comment")
        assert plan.decision is Decision.REFUSED
        assert state in plan.because


def test_force_runs_level_zero_where_nothing_is_needed(opened: Opened) -> None:
    with opened() as world:
        world.seen(2)
        plan = world.planned(world.commented(2, "/run-e2e force suite=verl"), "issue_comment")
        assert [leg.id for leg in plan.legs] == ["verl-0-lora-ddp"]


@pytest.mark.parametrize("settled", [True, False], ids=["a-check-stands", "no-check-yet"])
def test_a_wish_that_leaves_out_all_that_is_needed_is_never_a_success(opened: Opened, settled: bool) -> None:  # noqa: FBT001 - a table
    with opened() as world:
        if settled:
            world.seen(1)
        pull = world.pull(1).pull
        assert pull
        only_nemo_rl = "src/megatron/bridge/models/conversion/modelopt_utils.py"
        pull.files = [msgspec.structs.replace(many_files(1)[0], filename=only_nemo_rl)]
        body = f"/run-e2e suite=verl sha={world.head(1)}"
        plan = world.planned(world.commented(1, body), "issue_comment")
        assert plan.decision is Decision.NOT_ASKED
        assert plan.because.startswith("NeMo-RL 0 Megatron policy GRPO smoke, NeMo-RL 2 ")
        world.receive(plan)
        assert {check.conclusion for check in world.checks(1)} == {"action_required"}
        assert "does not ask for that" in world.comments(1)[-1].body


def test_a_rerun_counts_for_whoever_pressed_it(opened: Opened) -> None:
    with opened() as world:
        world.seen(1)
        event = world.labelled(1)
        file = world.folder / "event.json"
        file.write_text(json.dumps(event))
        for person, decision in (("rea", "refused"), ("mia", "run")):
            output = world.folder / person
            environ = world.environ(GITHUB_RUN_ATTEMPT="2", GITHUB_TRIGGERING_ACTOR=person, GITHUB_OUTPUT=str(output))
            arguments = ["--event", str(file), "--event-name", "pull_request_target"]
            assert event_cli.main(arguments, environ=environ, pace=world.waits.pace(), err=io.StringIO()) == 0
            assert f"decision={decision}\n" in output.read_text()


def test_job_outputs(opened: Opened) -> None:
    with opened() as world:
        world.seen(1)
        file, output = world.folder / "event.json", world.folder / "output"
        file.write_text(json.dumps(world.labelled(1)))
        environ = world.environ(
            GITHUB_EVENT_PATH=str(file), GITHUB_EVENT_NAME="pull_request_target", GITHUB_OUTPUT=str(output)
        )
        assert event_cli.main([], environ=environ, pace=world.waits.pace(), err=io.StringIO()) == 0
        lines = dict(line.split("=", 1) for line in output.read_text().splitlines())
        assert set(lines) == {"plan", "decision", "smoke", "deep"}
        assert lines["decision"] == "run"
        assert lines["deep"] == "[]"
        assert json.loads(lines["smoke"])[0] == {
            "leg": "verl-0-lora-ddp",
            "title": "verl 0 LoRA + DDP smoke",
            "minutes": 100,
        }


BAD: list[Any] = [
    pytest.param({"GITHUB_EVENT_PATH": ""}, 2, "neither --event", id="no-event"),
    pytest.param({"GITHUB_EVENT_PATH": "/does/not/exist"}, 2, "No such file", id="no-file"),
    pytest.param({"GITHUB_REPOSITORY": "other/repository"}, 2, "NVIDIA-NeMo/Megatron-Bridge", id="another-repository"),
    pytest.param({"GITHUB_TOKEN": ""}, 2, "no GITHUB_TOKEN", id="no-token"),
    pytest.param({"GITHUB_API_URL": "https://evil.example"}, 2, "GITHUB_API_URL", id="another-server"),
    pytest.param({"GITHUB_API_URL": "http://127.0.0.1:9"}, 5, "connection that broke", id="github-down"),
    pytest.param({"GITHUB_OUTPUT": "/dev/full"}, 2, "writing the Plan: found /dev/full: No space", id="disk-full"),
    pytest.param({"GITHUB_OUTPUT": "/does/not/exist"}, 2, "writing the Plan", id="no-folder"),
    pytest.param({"BRIDGE_E2E_POLICY": "POLICY"}, 2, "minimum_role", id="policy-typo"),
    pytest.param({"BRIDGE_E2E_POLICY": "/does/not/exist"}, 2, "BRIDGE_E2E_POLICY", id="no-policy"),
]


@pytest.mark.parametrize(("changes", "code", "message"), BAD)
def test_bad_input_ends_with_a_message_and_a_code(
    opened: Opened, changes: dict[str, str], code: int, message: str, tmp_path: Path
) -> None:
    with opened() as world:
        world.seen(1)
        file, policy = tmp_path / "event.json", tmp_path / "policy.yaml"
        file.write_text(json.dumps(world.labelled(1)))
        policy.write_text("version: 1\nminimum_role: wriite\n")
        changes = {key: str(policy) if value == "POLICY" else value for key, value in changes.items()}
        base = {"GITHUB_EVENT_PATH": str(file), "GITHUB_EVENT_NAME": "pull_request_target"}
        err = io.StringIO()
        environ = {**world.environ(), **base, **changes}
        assert event_cli.main([], environ=environ, pace=world.waits.pace(), err=err) == code
        assert message in err.getvalue()
        assert "Next: " in err.getvalue()


def test_an_event_that_is_not_ours_needs_no_call(opened: Opened) -> None:
    with opened() as world:
        plan = world.planned(world.labelled(1, "documentation"))
        assert plan.decision is Decision.IGNORED
        assert world.server
        assert world.server.journal == []


def test_a_plan_is_cheap(opened: Opened) -> None:
    with opened() as world:
        world.seen(1)
        world.planned(world.labelled(1))
        assert world.server
        assert len(world.server.journal) <= 6
