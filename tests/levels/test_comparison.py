"""Candidate and baseline: compared only under equal settings, and called converged only by a threshold held before."""

from collections.abc import Callable

import pytest

from levels.comparison import Comparison, Side, compare, settings_digest
from levels.evidence import Evidence
from levels.judge import judge_leg
from levels.metrics import Series
from levels.model import Bound, Suite
from levels.plan import Convergence, Leg, LegModel
from levels.summary import render
from tests.levels.judging import CATALOGUE, changed, evidence, judged, knowledge, leg, text
from tests.levels.learning_leg import learning_leg
from tests.levels.series import as_series

SUITES = pytest.mark.parametrize("suite", list(Suite))
OTHER = "f" * 40


def ran(planned: Leg, scratch: str = "/scratch/a") -> Evidence:
    """Evidence whose phases hold what the leg planned, filled in as on a machine."""
    values = {
        "@{scratch}": scratch,
        "@{pythonpath}": f"{scratch}/src",
        "@{model_path}": "/models/m",
        "@{data}": "/data",
    }

    def fill(text: str) -> str:
        for name, value in values.items():
            text = text.replace(name, value)
        return text

    runs = {phase.id: phase for phase in planned.phases}
    found = evidence(planned)
    phases = tuple(
        changed(
            run,
            command=tuple(fill(part) for part in (*runs[run.id].command, *runs[run.id].overrides)),
            env={name: fill(value) for name, value in runs[run.id].env.items()},
        )
        for run in found.phases
    )
    return changed(found, phases=phases)


def series() -> dict[str, Series]:
    return as_series({"critic/score/mean": [0.1, 0.2], "actor/entropy": [0.4, 0.3]})


@SUITES
def test_another_bridge_commit_in_another_folder_is_compared(suite: Suite) -> None:
    candidate = leg(suite)
    baseline = changed(candidate, bridge_commit=OTHER, mcore_commit=OTHER, id=f"{candidate.id}-base")
    found = compare(Side(candidate, ran(candidate), series()), Side(baseline, ran(baseline, "/scratch/b"), series()))
    assert found.comparable, found.sentence
    assert found.metrics["critic/score/mean"] == (0.2, 0.2)


def env(name: str, value: str) -> Callable[[Leg, Evidence], tuple[Leg, Evidence]]:
    def change(planned: Leg, found: Evidence) -> tuple[Leg, Evidence]:
        return planned, changed(found, phases=tuple(changed(run, env={**run.env, name: value}) for run in found.phases))

    return change


def override(old: str, new: str) -> Callable[[Leg, Evidence], tuple[Leg, Evidence]]:
    def change(planned: Leg, found: Evidence) -> tuple[Leg, Evidence]:
        phases = tuple(
            changed(run, command=tuple(part.replace(old, new) for part in run.command)) for run in found.phases
        )
        return planned, changed(found, phases=phases)

    return change


def planned(**fields: object) -> Callable[[Leg, Evidence], tuple[Leg, Evidence]]:
    return lambda of, found: (changed(of, **fields), found)


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        pytest.param(env("ENGINE", "sglang"), "train ENGINE", id="rollout"),
        pytest.param(env("RM_MODEL_PATH", "/models/other"), "train RM_MODEL_PATH", id="reward"),
        pytest.param(env("TRAIN_FILES", "/data/other.parquet"), "train TRAIN_FILES", id="data"),
        pytest.param(env("LORA_RANK", "8"), "train LORA_RANK", id="adapter"),
        pytest.param(env("SAVE_FREQ", "1"), "train SAVE_FREQ", id="checkpoint"),
        pytest.param(env("MODEL_PATH", "/models/n"), "train MODEL_PATH", id="model-path"),
        pytest.param(planned(model=LegModel(name="other", revision=None)), "model", id="model"),
        pytest.param(planned(variants=("eager",)), "variants", id="variant"),
        pytest.param(planned(gpus=4), "gpus", id="gpus"),
    ],
)
def test_any_other_setting_makes_it_no_comparison(
    change: Callable[[Leg, Evidence], tuple[Leg, Evidence]], differs: str
) -> None:
    of = leg(Suite.VERL)
    other, found = change(of, ran(of))
    ours = compare(Side(of, ran(of), series()), Side(other, found, series()))
    assert not ours.comparable
    assert ours.sentence.startswith("no comparison: ")
    assert ours.differs == (differs,)
    assert ours.metrics == {}


def test_another_batch_size_of_nemo_rl_is_no_comparison() -> None:
    of = leg(Suite.NEMO_RL)
    other, found = override("policy.dtensor_cfg.enabled=false", "policy.dtensor_cfg.enabled=true")(of, ran(of))
    assert settings_digest(of, ran(of)) != settings_digest(other, found)


def test_without_evidence_there_is_no_comparison() -> None:
    of = leg(Suite.VERL)
    assert compare(Side(of, None, {}), Side(of, ran(of), {})) == Comparison(
        comparable=False, sentence="no comparison: no evidence of the candidate"
    )
    assert "of the baseline" in compare(Side(of, ran(of), {}), Side(of, None, {})).sentence


THRESHOLD = Convergence(
    suite=Suite.VERL, level=5, metric="critic/score/mean", bound=Bound.AT_LEAST, value=0.2, because="a test of it"
)


@pytest.mark.parametrize(
    ("thresholds", "said"),
    [
        pytest.param((), "learning-signal passed", id="no-threshold-was-held"),
        pytest.param((THRESHOLD,), "converged by the base branch's thresholds", id="met"),
        pytest.param((changed(THRESHOLD, value=0.9),), "learning-signal passed", id="missed"),
        pytest.param((THRESHOLD, changed(THRESHOLD, value=0.9)), "learning-signal passed", id="one-of-two-missed"),
        pytest.param((changed(THRESHOLD, metric="never/logged"),), "learning-signal passed", id="not-logged"),
        pytest.param((changed(THRESHOLD, suite=Suite.NEMO_RL),), "learning-signal passed", id="of-another-suite"),
    ],
)
def test_converged_is_said_only_by_a_threshold_held_before(thresholds: tuple[Convergence, ...], said: str) -> None:
    of, found, logs = learning_leg()
    verdict = judge_leg(of, found, logs, CATALOGUE, knowledge(Suite.VERL), convergence=thresholds)
    assert verdict.outcome == "Pass", verdict.sentence
    assert said in verdict.sentence
    assert ("converged" in render(verdict)) is ("converged" in said)


@pytest.mark.parametrize("name", ["v-pass-learning-signal-l5", "n-pass-learning-signal-l6"])
def test_a_log_by_itself_never_converged(name: str) -> None:
    assert "learning-signal passed" in judged(name).leg.sentence
    assert "converged" not in render(judged(name).leg)


def test_level_0_claims_nothing_about_learning() -> None:
    ours = judged("v-pass-lora-ddp-l0", text("v-pass-lora-ddp-l0"))
    assert "learning-signal passed" not in ours.leg.sentence
