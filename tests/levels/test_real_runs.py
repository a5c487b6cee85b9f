"""Two runs of the product on one H200 (2026-11-30): the evidence that it wrote, and what it says.

The unpatched verl at the pin cannot build a model on Bridge's Megatron-LM; with the declared change level 0 passes.
Host names and addresses are replaced, nothing else.
"""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from levels import signatures
from levels.bundles import read_bundle
from levels.catalogue import load
from levels.documents import decode
from levels.judge import judge_leg
from levels.model import Attribution, Boundary, Outcome
from levels.plan import Leg
from levels.summary import render
from levels.verdict import LegVerdict, Met

RUNS = Path(__file__).parents[1] / "fixtures" / "real_runs"


def judged(name: str) -> LegVerdict:
    leg = decode((RUNS / name / "leg.json").read_bytes(), Leg, what=name)
    known = signatures.load(leg.suite)
    bundle = read_bundle(RUNS / name, known)
    return judge_leg(leg, bundle.evidence, bundle.logs, load(), known, problem=bundle.problem)


def test_level_0_on_real_silicon_passes_with_proof() -> None:
    verdict = judged("h200-verl-0-pass")
    assert verdict.outcome is Outcome.PASS
    assert verdict.proof == "full"
    assert {item.met for item in verdict.criteria} == {Met.MET}
    assert verdict.metrics["training/rollout_actor_probs_pearson_corr"] > 0.999


@pytest.mark.parametrize(
    "says",
    [
        "verl-fsdp-adapter-function",
        "reward-model serving was not tested",
        "CUDA graph capture was not tested",
        "no apex",
        "no flash-attn",
        "no recorded revision: no claim about a pretrained checkpoint",
        "was not compared with the public data set",
    ],
)
def test_the_pass_states_what_it_did_not_show(says: str) -> None:
    assert any(says in item for item in judged("h200-verl-0-pass").limitations)


def test_the_unpatched_suite_is_downstreams_failure() -> None:
    verdict = judged("h200-verl-0-unpatched")
    assert (verdict.outcome, verdict.boundary) == (Outcome.FAIL, Boundary.PROVIDER_BUILD)
    assert verdict.attribution is Attribution.DOWNSTREAM
    assert verdict.first_error is not None
    assert verdict.first_error.frame is not None
    assert verdict.first_error.frame.file.endswith("verl/utils/megatron_utils.py")
    assert verdict.first_error.frame.owner == "suite"
    assert "verl/utils/megatron_utils.py:525, the suite" in render(verdict)


def spoiled(tmp_path: Path, log: str) -> LegVerdict:
    """The verdict of the passing run with another log, its digest as a runner would have written it."""
    folder = tmp_path / "bundle"
    shutil.copytree(RUNS / "h200-verl-0-pass", folder)
    data = log.encode()
    (folder / "run-train.log").write_bytes(data)
    evidence = json.loads((folder / "evidence.json").read_text())
    for run in evidence["phases"]:
        run["log"].update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    (folder / "evidence.json").write_text(json.dumps(evidence))
    leg = decode((folder / "leg.json").read_bytes(), Leg, what="bundle")
    known = signatures.load(leg.suite)
    bundle = read_bundle(folder, known)
    return judge_leg(leg, bundle.evidence, bundle.logs, load(), known, problem=bundle.problem)


REAL = (RUNS / "h200-verl-0-pass" / "run-train.log").read_text(encoding="utf-8")
BEFORE_THE_STEP = "".join(
    line for line in REAL.partition("Training Progress:")[0].splitlines(keepends=True) if "step:1 - " not in line
)
MODEL_SAID = (
    "(AgentLoopWorkerTQ pid=9) Training Progress: 100%|##########| 1/1 [00:01<00:00]\n"
    "(AgentLoopWorkerTQ pid=9) step:1 - training/global_step:1 - training/rollout_actor_probs_pearson_corr:1.0\n"
)
OTHER_CORE = "(WorkerDict pid=3) /workspace/Megatron-LM/megatron/core/models/backends.py:34: UserWarning: no Apex\n"


@pytest.mark.parametrize(
    ("log", "outcome", "boundary"),
    [
        pytest.param(
            BEFORE_THE_STEP + MODEL_SAID, Outcome.FAIL, Boundary.TRAIN_STEP, id="a-sample-that-looks-like-a-step"
        ),
        pytest.param(REAL + OTHER_CORE, Outcome.BLOCKED, Boundary.BRIDGE_IMPORT, id="another-megatron-core-in-the-log"),
        pytest.param(
            REAL.replace("VANILLA_MBRIDGE=False", "VANILLA_MBRIDGE=True"),
            Outcome.BLOCKED,
            Boundary.CONFIG,
            id="vanilla",
        ),
        pytest.param(
            REAL + "(WorkerDict pid=3) WARNING: Can't find the following HF parameters in hf_keys: ['a.w', 'b.w']\n",
            Outcome.FAIL,
            Boundary.HF_IMPORT,
            id="weights-skipped-in-list-form",
        ),
    ],
)
def test_a_run_that_did_not_do_the_work_is_no_pass(
    tmp_path: Path, log: str, outcome: Outcome, boundary: Boundary
) -> None:
    verdict = spoiled(tmp_path, log)
    assert (verdict.outcome, verdict.boundary) == (outcome, boundary)


def test_the_spoiled_runs_were_passes(tmp_path: Path) -> None:
    assert spoiled(tmp_path, REAL).outcome is Outcome.PASS
