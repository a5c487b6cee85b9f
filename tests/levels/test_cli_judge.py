"""`judge`, `validate`, `schema`, `catalogue` as a person calls them."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from levels.__main__ import main
from levels.documents import encode
from levels.evidence import FileRef
from levels.model import Suite
from levels.plan import Decision, Plan, Selection
from tests.levels.judging import CASES, COMMIT, changed, evidence, good_log, leg

ROOT = Path(__file__).parents[2]


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def log_call(name: str, *more: str) -> list[str]:
    case = json.loads((CASES / name / "case.json").read_text())
    known = [
        "judge", "--log", str(CASES / name / "run.log"), "--suite", case["suite"], "--level", str(case["level"]),
        "--exit-code", str(case["exit_code"]), "--steps", str(case["expected_steps"]),
        "--requested", ",".join(case["requested"]), "--bridge-root", case["expected_bridge_root"],
        "--bridge-checks", "assumed", *more,
    ]  # fmt: skip
    metrics = CASES / name / "metrics.json"
    return [*known, "--metrics", str(metrics)] if metrics.exists() else known


@pytest.mark.parametrize(
    ("name", "code"),
    [
        pytest.param("v-pass-lora-ddp-l0", 0, id="pass"),
        pytest.param("n-pass-grpo-l0", 0, id="pass-with-metrics"),
        pytest.param("v-hf-key-not-in-safetensors", 1, id="fail"),
        pytest.param("v-train-parquet-missing", 3, id="blocked"),
        pytest.param("v-empty-log", 3, id="empty"),
    ],
)
def test_a_log_gives_the_documented_exit_code(capsys: pytest.CaptureFixture[str], name: str, code: int) -> None:
    assert call(capsys, *log_call(name))[0] == code
    found = json.loads(call(capsys, *log_call(name, "--json"))[1])
    assert {"verdict", "boundary", "first_error", "category", "attribution", "proof"} <= set(found)
    assert found["proof"] == "log-only"


def test_timed_out_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, *log_call("v-time-limit-in-first-step", "--timed-out"))
    assert code == 1
    assert "at environment" in out


def bundle(folder: Path, suite: Suite, log: bytes | None = None) -> Path:
    of = leg(suite)
    folder.mkdir(parents=True)
    data = good_log(suite).encode() if log is None else log
    (folder / "run-train.log").write_bytes(data)
    metrics = (CASES / "n-pass-grpo-l0" / "metrics.json").read_bytes()
    (folder / "metrics-train.json").write_bytes(metrics)
    found = evidence(of)
    phases = tuple(
        changed(
            phase,
            log=FileRef(path="run-train.log", bytes=len(data), sha256=hashlib.sha256(data).hexdigest()),
            metrics=FileRef(path="metrics-train.json", bytes=len(metrics), sha256=hashlib.sha256(metrics).hexdigest()),
        )
        for phase in found.phases
    )
    (folder / "evidence.json").write_bytes(encode(changed(found, phases=phases)))
    (folder / "leg.json").write_bytes(encode(of))
    return folder


@pytest.mark.parametrize("suite", list(Suite))
def test_a_bundle_passes(capsys: pytest.CaptureFixture[str], tmp_path: Path, suite: Suite) -> None:
    folder = bundle(tmp_path / "b", suite)
    code, out, _ = call(capsys, "judge", "--evidence", str(folder))
    assert code == 0, out
    found = json.loads(call(capsys, "judge", "--evidence", str(folder), "--json", "-")[1])
    assert (found["verdict"], found["proof"]) == ("Pass", "full")


def spoil(folder: Path, how: str) -> None:
    log, document = folder / "run-train.log", folder / "evidence.json"
    match how:
        case "other-bytes":
            log.write_bytes(log.read_bytes().replace(b"np.float64", b"np.float32"))
        case "longer":
            log.write_bytes(log.read_bytes() + b"x")
        case "no-log":
            log.unlink()
        case "link":
            log.unlink()
            log.symlink_to("/etc/hostname")
        case "no-evidence":
            document.unlink()
        case "not-json":
            document.write_text("{")
        case "too-large":
            document.write_bytes(b" " * 4_000_001)
        case "unknown-field":
            document.write_bytes(document.read_bytes().replace(b'"attempt"', b'"attemptt"'))
        case _:
            (folder / "metrics-train.json").unlink()


@pytest.mark.parametrize(
    "how", ["other-bytes", "longer", "no-log", "link", "no-evidence", "not-json", "too-large", "unknown-field"]
)
def test_a_bundle_that_is_not_what_it_says_is_blocked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, how: str
) -> None:
    folder = bundle(tmp_path / "b", Suite.VERL)
    spoil(folder, how)
    code, out, _ = call(capsys, "judge", "--evidence", str(folder))
    assert code == 3, out


def test_metrics_that_vanished_are_no_pass(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = bundle(tmp_path / "b", Suite.NEMO_RL)
    spoil(folder, "metrics-gone")
    assert call(capsys, "judge", "--evidence", str(folder))[0] == 1


def test_a_plan_is_judged_leg_by_leg(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    legs = tuple(leg(suite) for suite in Suite)
    plan = Plan(
        decision=Decision.RUN, because="x", repository="a/b", pull_request=7, head=COMMIT, base=None, consent=None,
        selection=Selection(chosen=(), skipped=()), legs=legs,
    )  # fmt: skip
    (tmp_path / "plan.json").write_bytes(encode(plan))
    folder = bundle(tmp_path / "in" / legs[0].id, Suite.VERL)
    found = json.loads((folder / "evidence.json").read_text())
    (folder / "evidence.json").write_text(json.dumps({**found, "plan": plan.id}))
    out = tmp_path / "verdict.json"
    arguments = [
        "judge",
        "--plan",
        str(tmp_path / "plan.json"),
        "--evidence-dir",
        str(tmp_path / "in"),
        "--json",
        str(out),
    ]
    assert call(capsys, *arguments)[0] == 3
    verdict: dict[str, Any] = json.loads(out.read_text())
    assert [item["outcome"] for item in verdict["legs"]] == ["Pass", "Blocked"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["judge", "--log", "x", "--suite", "verl"], "--level", id="no-level"),
        pytest.param(["judge", "--log", "/nowhere", "--suite", "verl", "--level", "0"], "/nowhere", id="no-file"),
        pytest.param(["judge", "--log", "x", "--suite", "verl", "--level", "9"], "level 9", id="no-such-level"),
        pytest.param(["judge", "--plan", "x"], "--evidence-dir", id="no-folder"),
        pytest.param(["judge", "--evidence", "/nowhere"], "leg.json", id="no-leg"),
    ],
)
def test_a_wrong_call_says_what_was_found(capsys: pytest.CaptureFixture[str], arguments: list[str], says: str) -> None:
    code, _, err = call(capsys, *arguments)
    assert code == 2
    assert says in err
    assert "Next: " in err


def test_unreadable_metrics_are_a_problem_not_a_crash(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*log_call("n-pass-grpo-l0")[:-2], "--metrics", "/nowhere/metrics.json"]
    assert call(capsys, *arguments)[0] == 1


def test_the_schemas_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "schema", "--check") == (0, "stale: none\n", "")


def test_our_yaml_is_valid(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "validate")
    assert code == 0
    assert "are right" in out


def test_the_catalogue_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "catalogue")
    assert code == 0
    assert "verl 0" in out
    assert "not: that the model learns" in out


def test_it_starts_in_isolated_mode() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "levels", "validate"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
