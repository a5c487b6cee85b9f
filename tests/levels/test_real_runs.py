"""Two runs of the product on one H200 (2026-11-30): the evidence that it wrote, and what it says.

The unpatched verl at the pin cannot build a model on Bridge's Megatron-LM; with the declared change level 0 passes.
Host names and addresses are replaced, nothing else.
"""

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
