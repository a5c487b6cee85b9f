"""What the programs leave out with a line of log: each line is won, each near miss lost, and a Pass goes or stays."""

from pathlib import Path

import pytest
import yaml

from levels.criteria_skips import nothing_skipped
from levels.model import Attribution, Boundary, Deliverable, NothingSkipped, Outcome, SkipWhen, Suite
from levels.skips import Skip, SkipReader, Skips, load, reader
from levels.subject import PhaseView
from levels.verdict import Met
from tests.levels.judging import facts, good_log, judge, judged, read, text

LINES = yaml.safe_load(Path(__file__).with_name("skipped_lines.yaml").read_text(encoding="utf-8"))
SKIPS = {skip.id: skip for skip in load().skips}
BEFORE = {Suite.VERL: "Training Progress:", Suite.NEMO_RL: "========================= Step 1/"}
BOTH = [
    pytest.param(name, suite, id=f"{name}-{suite}") for name in SKIPS for suite in SKIPS[name].suites or tuple(Suite)
]


def with_line(suite: Suite, line: str) -> str:
    """The good log with one more line before its first step."""
    before, step, after = good_log(suite).partition(BEFORE[suite])
    assert step
    head, newline, last = before.rpartition("\n")
    return f"{head}{newline}{line}\n{last}{step}{after}"


def test_every_skip_has_a_line_that_it_wins_and_a_near_miss() -> None:
    assert list(LINES) == list(SKIPS)


@pytest.mark.parametrize(("name", "suite"), BOTH)
def test_a_skip_wins_its_line_and_loses_the_near_miss(name: str, suite: Suite) -> None:
    found = [skip.id for skip, _ in reader(suite).read(LINES[name]["wins"])]
    assert found == [name]
    assert not list(reader(suite).read(LINES[name]["loses"]))


@pytest.mark.parametrize(("name", "suite"), [item for item in BOTH if SKIPS[str(item.values[0])].when == "always"])
def test_a_green_run_that_left_something_out_is_no_pass(name: str, suite: Suite) -> None:
    verdict = judge(suite, logs=read(suite, with_line(suite, LINES[name]["wins"])))
    assert (verdict.outcome, verdict.boundary) == (Outcome.FAIL, SKIPS[name].boundary)
    assert verdict.attribution is SKIPS[name].attribution
    assert verdict.first_error is not None
    assert LINES[name]["wins"].strip() in verdict.first_error.text
    assert SKIPS[name].remedy in verdict.follow_ups
    assert judge(suite, logs=read(suite, with_line(suite, LINES[name]["loses"]))).outcome is Outcome.PASS


@pytest.mark.parametrize(("name", "suite"), [item for item in BOTH if SKIPS[str(item.values[0])].when != "always"])
def test_what_is_normal_in_places_is_stated_and_passes_level_0(name: str, suite: Suite) -> None:
    verdict = judge(suite, logs=read(suite, with_line(suite, LINES[name]["wins"])))
    assert verdict.outcome is Outcome.PASS
    said = any(SKIPS[name].says in item for item in verdict.limitations)
    assert said is (SKIPS[name].when is SkipWhen.STATED)


def criterion(*when: SkipWhen) -> NothingSkipped:
    return NothingSkipped(
        id="it",
        when=when,
        says="nothing",
        source="a test",
        deliverable=Deliverable.RUN,
        boundary=Boundary.TRAIN_STEP,
        unmet=Outcome.FAIL,
        remedy="none",
    )


def asked(suite: Suite, line: str, *when: SkipWhen) -> Met:
    phase = PhaseView(id="resume", steps=1, log_name="run.log", log=facts(with_line(suite, line), suite))
    return nothing_skipped(criterion(*when), phase, suite).met


@pytest.mark.parametrize(
    ("name", "suite"), [item for item in BOTH if SKIPS[str(item.values[0])].when in ("resume", "training")]
)
def test_a_resumed_or_training_run_is_held_to_more(name: str, suite: Suite) -> None:
    assert asked(suite, LINES[name]["wins"], SKIPS[name].when) is Met.UNMET
    assert asked(suite, LINES[name]["loses"], SKIPS[name].when) is Met.MET
    assert asked(suite, LINES[name]["wins"], SkipWhen.ALWAYS) is Met.MET


def test_lines_folded_by_ray_and_prefixed_by_workers_count() -> None:
    line = f"(WorkerDict pid=7) {LINES['weight-outside-index']['wins']} [repeated 7x across cluster]"
    assert judge(Suite.VERL, logs=read(Suite.VERL, with_line(Suite.VERL, line))).boundary is Boundary.HF_IMPORT


def test_a_sample_that_quotes_a_skip_does_not_count() -> None:
    quoted = "\n".join(LINES[name]["wins"] for name in ("prompt-empty", "weight-outside-index"))
    sample = f"[prompt] what does it say?\n{quoted}\n[score] 0"
    assert judge(Suite.VERL, logs=read(Suite.VERL, with_line(Suite.VERL, sample))).outcome is Outcome.PASS


def test_what_dies_after_the_last_step_is_no_skip() -> None:
    log = good_log(Suite.VERL) + "\nERROR:agent_loop_tq:Error in _run_prompt for uid=9\n"
    assert judge(Suite.VERL, logs=read(Suite.VERL, log)).outcome is Outcome.PASS


def test_a_conversion_of_another_run_is_no_import_of_this_one() -> None:
    log = text("n-pass-srun-label-prefix")
    assert "Skipping import" in log
    assert judged("n-pass-srun-label-prefix").verdict == "Pass"
    verdict = judge(Suite.NEMO_RL, logs=read(Suite.NEMO_RL, log))
    assert (verdict.outcome, verdict.boundary) == (Outcome.BLOCKED, Boundary.HF_IMPORT)


def test_lora_without_any_matching_module_fails_at_the_adapters() -> None:
    log = "\n".join(line for line in text("n-pass-lora-checkpoint-l1").splitlines() if "Adding lora to" not in line)
    place = "(MegatronPolicyWorker[rank=0] pid=1) WARNING:megatron.bridge.peft.module_matcher:"
    said = place + "No modules matched the requested target_modules entries: linear_qkv\n▶ Setting up data"
    verdict = judged("n-pass-lora-checkpoint-l1", log.replace("▶ Setting up data", said, 1))
    assert (verdict.verdict, verdict.boundary) == ("Fail", "peft-wrap")


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        pytest.param("/1 ", "/20 ", "Fail", id="1-of-20-with-1-asked"),
        pytest.param("/1 ", "/1 ", "Pass", id="1-of-1"),
    ],
)
def test_a_step_counts_out_of_the_total_that_was_asked_for(old: str, new: str, verdict: str) -> None:
    log = "\n".join(
        line.replace(f"1{old}", f"1{new}").replace(f"0{old}", f"0{new}") if "Training Progress" in line else line
        for line in text("v-pass-lora-ddp-l0").split("\n")
    )
    ours = judged("v-pass-lora-ddp-l0", log)
    assert ours.verdict == verdict
    assert verdict == "Pass" or ours.boundary == "train-step"


def test_the_whole_of_another_total_is_no_last_step() -> None:
    ours = judged("v-exit0-three-of-five", expected_steps=3)
    assert (ours.verdict, ours.boundary) == ("Fail", "train-step")


@pytest.mark.parametrize(
    ("name", "requested", "verdict"),
    [
        pytest.param("v-pass-lora-ddp-l0", ["ddp"], "Pass", id="ddp"),
        pytest.param("n-pass-grpo-l0", ["grpo-megatron"], "Pass", id="grpo-megatron"),
        pytest.param("n-pass-grpo-l0", ["vlm"], "Fail", id="a-text-run-is-no-vlm"),
        pytest.param("n-pass-grpo-l0", ["audio"], "Fail", id="a-text-run-is-no-audio"),
        pytest.param("n-pass-grpo-l0", ["sft"], "Fail", id="grpo-is-no-sft"),
    ],
)
def test_a_requested_word_needs_something_that_shows_it(name: str, requested: list[str], verdict: str) -> None:
    assert judged(name, requested=requested).verdict == verdict


@pytest.mark.parametrize(
    ("name", "old", "new", "requested"),
    [
        pytest.param("v-pass-lora-ddp-l0", "Setting up DistributedDataParallel", "Wrapping", ["ddp"], id="ddp"),
        pytest.param(
            "n-pass-grpo-l0",
            "Model, optimizer, and learning rate scheduler built",
            "built",
            ["grpo-megatron"],
            id="grpo-megatron",
        ),
    ],
)
def test_a_word_that_nothing_shows_is_no_pass(name: str, old: str, new: str, requested: list[str]) -> None:
    assert old in text(name)
    assert judged(name, text(name).replace(old, new), requested=requested).verdict != "Pass"


@pytest.mark.parametrize(
    ("logged", "boundary"),
    [
        pytest.param("training/rollout_probs_diff_valid:0", "rollout", id="nothing-compared"),
        pytest.param("training/rollout_probs_diff_mean:np.float64(0.02)", "refit", id="mean-differs"),
        pytest.param("training/rollout_actor_probs_pearson_corr:0.4", "refit", id="not-correlated"),
        pytest.param("training/rollout_probs_diff_mean:7e-07", None, id="as-on-one-h200"),
    ],
)
def test_rollout_and_policy_must_agree(logged: str, boundary: str | None) -> None:
    name = "v-pass-lora-ddp-l0"
    ours = judged(name, text(name).replace(" - training/global_step:1", f" - {logged} - training/global_step:1"))
    assert ours.boundary == boundary


def test_a_literal_is_part_of_every_winning_line() -> None:
    assert all(skip.literal in LINES[name]["wins"] for name, skip in SKIPS.items())
    assert {skip.attribution for skip in SKIPS.values()} <= set(Attribution)


def test_an_entry_that_is_no_re2_is_refused_with_its_id() -> None:
    bad = Skip(
        id="bad",
        when=SkipWhen.ALWAYS,
        literal="something",
        pattern=r"(?=something)",
        boundary=Boundary.REFIT,
        attribution=Attribution.DOWNSTREAM,
        says="",
        remedy="",
        source="",
    )
    with pytest.raises(Exception, match="bad"):
        SkipReader(Suite.VERL, Skips(version=1, skips=(bad,)))
