"""What act does not rehearse is held on the parsed workflow files: permissions, concurrency, pins, guards."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
E2E = ROOT / ".github" / "workflows" / "e2e.yml"
CALLER = ROOT / "examples" / "bridge-e2e.yml"
COMPOSITES = (ROOT / "bot" / "action.yml", ROOT / "action" / "action.yml")
HOSTED = {"plan", "receipt", "reconcile", "judge-smoke", "judge", "report"}
ON_GPU = {"smoke", "deep"}
GRANTS = {
    "plan": {"contents": "read", "pull-requests": "read", "checks": "read"},
    "receipt": {"contents": "read", "checks": "write", "pull-requests": "write"},
    "reconcile": {"actions": "write", "contents": "read", "checks": "write", "pull-requests": "write"},
    "smoke": {"contents": "read"},
    "judge-smoke": {"contents": "read"},
    "deep": {"contents": "read"},
    "judge": {"contents": "read"},
    "report": {"contents": "read", "checks": "write", "pull-requests": "write"},
}


def load(path: Path) -> dict[str, Any]:
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    if True in data:  # YAML 1.1 reads the key `on` as true
        data["on"] = data.pop(True)
    return dict(data)


WORKFLOW = load(E2E)
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]


def steps() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, job in JOBS.items():
        for step in job["steps"]:
            yield name, step


def test_the_jobs_and_their_grants() -> None:
    assert {name: job["permissions"] for name, job in JOBS.items()} == GRANTS


def test_nothing_is_granted_on_top_and_every_grant_has_a_reason() -> None:
    assert WORKFLOW["permissions"] == {}
    granted = [line for line in E2E.read_text().splitlines() if re.search(r"^ {6}[a-z-]+: (read|write)\b", line)]
    assert len(granted) == sum(len(grants) for grants in GRANTS.values())
    assert [line for line in granted if " # " not in line] == []


def test_the_caller_grants_what_the_jobs_ask_for_and_nothing_else() -> None:
    asked = {scope: "read" for grants in GRANTS.values() for scope in grants}
    asked |= {scope: "write" for grants in GRANTS.values() for scope, word in grants.items() if word == "write"}
    caller = load(CALLER)
    assert caller["permissions"] == {}
    assert caller["jobs"]["e2e"]["permissions"] == asked
    assert "secrets" not in caller["jobs"]["e2e"]


def test_the_caller_listens_to_what_we_answer_and_never_to_pull_request() -> None:
    assert set(load(CALLER)["on"]) == {"pull_request_target", "issue_comment", "merge_group", "schedule"}


def test_a_schedule_which_can_write_the_cache_starts_the_reconciler_alone() -> None:
    """`plan` decides `ignored` for it (tests/bot/test_events.py); legs start after `run` alone."""
    assert "github.event_name == 'schedule'" in JOBS["reconcile"]["if"]
    for name in ON_GPU | {"judge-smoke"}:
        needs = JOBS[name]["if"]
        assert "decision == 'run'" in needs or "needs.judge-smoke.result == 'success'" in needs
    assert "decision != 'ignored'" in JOBS["receipt"]["if"]


def test_only_the_reconciler_may_end_runs() -> None:
    assert [name for name, grants in GRANTS.items() if "actions" in grants] == ["reconcile"]


def test_the_reconciler_follows_the_receipt_which_closes_the_checks_first() -> None:
    assert JOBS["reconcile"]["needs"] == ["plan", "receipt"]
    for name in ON_GPU:
        assert JOBS[name]["name"].endswith("(${{ matrix.leg }})")


def test_the_caller_stays_short_and_names_a_full_commit() -> None:
    text = CALLER.read_text()
    assert len(text.splitlines()) <= 20
    assert re.search(r"uses: \S+/\.github/workflows/e2e\.yml@[0-9a-f]{40} ", text)


def test_no_input_can_set_a_commit_an_address_or_rehearsal() -> None:
    assert set(WORKFLOW["on"]) == {"workflow_call"}
    assert set(WORKFLOW["on"]["workflow_call"]["inputs"]) == {"runner-labels", "bot-login"}
    assert "secrets" not in WORKFLOW["on"]["workflow_call"]
    for path in (E2E, CALLER, *COMPOSITES):
        text = path.read_text()
        assert "rehears" not in re.sub(r"(?m)#.*$", "", text).lower(), path
        assert "API_URL" not in text
        assert "SERVER_URL" not in text


@pytest.mark.parametrize("path", [E2E, CALLER, *COMPOSITES], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_expression_stands_in_a_command(path: Path) -> None:
    data = load(path)
    jobs = data.get("jobs", {}).values()
    found = [*data.get("runs", {}).get("steps", []), *(step for job in jobs for step in job.get("steps", []))]
    assert [step["run"] for step in found if "${{" in step.get("run", "")] == []


def test_no_secret_and_no_cache_anywhere() -> None:
    text = E2E.read_text()
    assert "secrets." not in text
    assert "secrets:" not in text
    assert "actions/cache" not in text
    assert [step for _, step in steps() if "cache" in str(step.get("with", {}))] == []


def test_only_jobs_that_run_no_foreign_code_hold_a_token() -> None:
    holders = {name for name, step in steps() if "github.token" in str(step)}
    assert holders == {"plan", "receipt", "reconcile", "report"}
    writers = {name for name, grants in GRANTS.items() if "write" in grants.values()}
    assert writers == {"receipt", "reconcile", "report"}
    assert {name for name, step in steps() if step.get("uses", "").startswith("actions/download-artifact")} == {
        "judge-smoke",
        "judge",
    }


def test_every_action_is_pinned_to_a_commit_with_its_version_beside_it() -> None:
    lines = [line for line in E2E.read_text().splitlines() if "uses:" in line]
    foreign = [line for line in lines if "uses: ./" not in line]
    assert [line for line in foreign if not re.search(r"uses: actions/[a-z-]+@[0-9a-f]{40} # v\d+", line)] == []
    assert {line.split("uses: ")[1] for line in lines if "uses: ./" in line} == {"./bot", "./action"}


def test_every_checkout_is_our_own_code_right_after_the_guard() -> None:
    for job in JOBS.values():
        guard, checkout, *others = job["steps"]
        assert guard["env"] == {
            "SELF_REPOSITORY": "${{ job.workflow_repository }}",
            "SELF_COMMIT": "${{ job.workflow_sha }}",
        }
        assert "if" not in guard
        assert checkout["uses"].startswith("actions/checkout@")
        assert checkout["with"] == {
            "repository": "${{ job.workflow_repository }}",
            "ref": "${{ job.workflow_sha }}",
            "persist-credentials": False,
        }
        assert [step for step in others if "actions/checkout" in step.get("uses", "")] == []


@pytest.mark.parametrize(
    ("commit", "repository", "code"),
    [
        pytest.param("0123456789abcdef0123456789abcdef01234567", "NVIDIA-NeMo/bridge-e2e", 0, id="a-full-commit"),
        pytest.param("", "NVIDIA-NeMo/bridge-e2e", 1, id="empty-as-on-an-old-runner"),
        pytest.param("0123456", "NVIDIA-NeMo/bridge-e2e", 1, id="short"),
        pytest.param("main", "NVIDIA-NeMo/bridge-e2e", 1, id="branch"),
        pytest.param("0123456789ABCDEF0123456789ABCDEF01234567", "a/b", 1, id="upper-case"),
        pytest.param("0123456789abcdef0123456789abcdef01234567\nmain", "a/b", 1, id="second-line"),
        pytest.param("0123456789abcdef0123456789abcdef01234567", "", 1, id="no-repository"),
        pytest.param("0123456789abcdef0123456789abcdef01234567", "a/b/c", 1, id="no-repository-name"),
    ],
)
def test_the_guard_stops_the_job_unless_it_names_a_commit(commit: str, repository: str, code: int) -> None:
    guards = {job["steps"][0]["run"] for job in JOBS.values()}
    (guard,) = guards
    env = {"PATH": "/usr/bin:/bin", "SELF_COMMIT": commit, "SELF_REPOSITORY": repository}
    # As GitHub starts `run:` steps without a shell of their own.
    assert subprocess.run(["bash", "-e", "-c", guard], env=env, check=False).returncode == code


def test_every_job_has_a_time_limit() -> None:
    limits = {name: job["timeout-minutes"] for name, job in JOBS.items()}
    assert {name for name, limit in limits.items() if limit == "${{ matrix.minutes }}"} == ON_GPU
    assert all(isinstance(limits[name], int) and limits[name] <= 15 for name in HOSTED)


def test_a_newer_run_ends_the_legs_of_its_own_pull_request_and_nothing_else() -> None:
    for name in ON_GPU:
        group = JOBS[name]["concurrency"]["group"]
        assert "github.event.pull_request.number || github.event.issue.number || github.run_id" in group
        assert "matrix.leg" in group
        assert JOBS[name]["concurrency"]["cancel-in-progress"] is True
    for name in HOSTED:
        assert "github.run_id" in JOBS[name]["concurrency"]["group"]
        assert JOBS[name]["concurrency"]["cancel-in-progress"] is False
    groups = [job["concurrency"]["group"] for job in JOBS.values()]
    # smoke and deep differ by their legs: no leg is in both.
    assert len(set(groups)) == len(groups) - 1


def test_the_report_runs_whatever_happened_and_the_judge_whenever_something_ran() -> None:
    assert JOBS["report"]["if"].startswith("${{ always() && ")
    assert "needs.plan.result != 'success'" in JOBS["report"]["if"]
    assert JOBS["judge"]["if"].startswith("${{ always() && ")
    assert set(JOBS["report"]["needs"]) == set(JOBS) - {"report", "reconcile"}
    assert set(JOBS["judge"]["needs"]) == set(JOBS) - {"report", "judge", "reconcile"}


@pytest.mark.parametrize("name", sorted(ON_GPU))
def test_a_leg_is_the_runners_steps_in_order_and_always_leaves_evidence(name: str) -> None:
    job = JOBS[name]
    ours = [step for step in job["steps"] if step.get("uses") == "./action"]
    assert [step["with"]["step"] for step in ours] == ["checkout", "probe", "prepare", "checks", "run", "collect"]
    assert [step.get("if") for step in ours] == [None] * 5 + ["always()"]
    upload = job["steps"][-1]
    assert upload["if"] == "always()"
    assert upload["with"]["name"] == "${{ matrix.leg }}"
    assert job["strategy"]["fail-fast"] is False
    assert job["runs-on"] == "${{ fromJSON(inputs.runner-labels) }}"


def test_trusted_results_come_by_output_and_never_from_an_artifact() -> None:
    for name, step in steps():
        for variable, value in step.get("env", {}).items():
            if variable in {"PLAN", "VERDICT"}:
                assert re.fullmatch(r"\$\{\{ needs\.(plan\.outputs\.plan|judge\.outputs\.verdict) \}\}", value), name
