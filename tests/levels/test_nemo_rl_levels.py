"""What NeMo-RL's levels refuse before a machine is asked for, and what they report. Commands stand in tests/golden."""

from pathlib import Path
from shutil import copy

import msgspec
import pytest

from levels import catalogue
from levels.catalogue import Catalogue, criteria_of, last_of_each_key, limitations_of, load, resolve_phases, variants_of
from levels.criteria import check
from levels.errors import ConfigError, UsageError
from levels.evidence import BaseRun, CheckFailure, ChecksRun, Roots
from levels.judge import judge_leg
from levels.metrics import read_metrics
from levels.model import Boundary, Outcome, Status, Suite, Trait, TransferTimings
from levels.pins import Lack
from levels.plan import Choice, Leg, Selection, build_legs
from levels.subject import PhaseView, Subject
from levels.verdict import LegVerdict, Met
from tests.levels.judging import CATALOGUE, changed, evidence, knowledge, leg, read

LEVELS = Path(catalogue.__file__).parent
COMMIT = "a" * 40


def planned(known: Catalogue, number: int, *names: str, traits: frozenset[Trait] | None = None) -> Leg:
    level = known.level(Suite.NEMO_RL, number)
    choice = Choice(suite=Suite.NEMO_RL, level=number, title=level.title, reasons=(), gpus=2, minutes=1)
    (found,) = build_legs(
        known,
        Selection(chosen=(choice,), skipped=()),
        bridge_repository="https://example.org/bridge.git",
        bridge_commit=COMMIT,
        mcore_commit=COMMIT,
        variants={Suite.NEMO_RL: names},
        traits=traits,
    )
    return found


def lacking(feature: str, boundary: Boundary) -> Catalogue:
    """The catalogue with a NeMo-RL pin that lacks `feature`."""
    lack = Lack(feature=feature, boundary=boundary, reason=f"no {feature}", remedy="see there", source="x")
    suites = tuple(changed(pin, lacks=(lack,)) if pin.suite is Suite.NEMO_RL else pin for pin in CATALOGUE.pins.suites)
    return msgspec.structs.replace(CATALOGUE, pins=changed(CATALOGUE.pins, suites=suites))


@pytest.mark.parametrize(
    ("feature", "boundary", "number", "names", "blocked"),
    [
        pytest.param("mcore-with-vllm", Boundary.DEPENDENCY, 0, (), True, id="extras-exclude-each-other"),
        pytest.param("mcore-with-vllm", Boundary.DEPENDENCY, 0, ("megatron-generation",), False, id="without-vllm"),
        pytest.param("mcore-with-vllm", Boundary.DEPENDENCY, 2, (), True, id="no-refit-without-vllm"),
        pytest.param("mcore-with-vllm", Boundary.DEPENDENCY, 3, (), False, id="megatron-generation-needs-no-vllm"),
        pytest.param("peft", Boundary.CONFIG, 1, ("lora",), True, id="no-peft"),
        pytest.param("peft", Boundary.CONFIG, 1, ("sft-resume",), False, id="resume-needs-no-peft"),
        pytest.param("peft", Boundary.CONFIG, 0, (), False, id="the-smoke-stays-the-signal"),
        pytest.param("peft", Boundary.CONFIG, 6, (), True, id="learning-signal-is-a-lora-run"),
        pytest.param("megatron-generation", Boundary.CONFIG, 3, (), True, id="tree-without-megatron-generation"),
    ],
)
def test_a_leg_whose_pin_lacks_something_is_blocked_by_the_plan(
    feature: str, boundary: Boundary, number: int, names: tuple[str, ...], *, blocked: bool
) -> None:
    found = planned(lacking(feature, boundary), number, *names).blocked
    assert (found is not None) is blocked
    if found is not None:
        assert found.boundary is boundary
        assert f"no {feature}" in found.found


@pytest.mark.parametrize(
    ("number", "names", "asked"),
    [
        pytest.param(0, (), ("mcore-with-vllm",), id="smoke"),
        pytest.param(0, ("megatron-generation",), (), id="without-vllm"),
        pytest.param(2, (), ("mcore-with-vllm",), id="refit"),
        pytest.param(3, (), (), id="megatron-generation"),
    ],
)
def test_what_only_one_interpreter_may_lack_is_left_to_the_machine(
    number: int, names: tuple[str, ...], asked: tuple[str, ...]
) -> None:
    found = planned(CATALOGUE, number, *names)
    assert found.blocked is None
    assert tuple(lack.feature for lack in found.lacks) == asked


def test_no_variant_of_the_refit_level_does_without_vllm() -> None:
    level = CATALOGUE.level(Suite.NEMO_RL, 2)
    assert all("mcore-with-vllm" not in variant.lifts for variant in level.variants)


def broken(tmp_path: Path, old: str, new: str) -> Path:
    for path in LEVELS.glob("*.yaml"):
        copy(path, tmp_path)
    text = (tmp_path / "nemo_rl.yaml").read_text("utf-8")
    assert old in text
    (tmp_path / "nemo_rl.yaml").write_text(text.replace(old, new, 1), "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param('UV_NO_SYNC: "1"', 'UV_NO_SYNC: "1"\n          NRL_IGNORE_TP_ACCURACY_CHECK: "1"', id="env"),
        pytest.param(
            '- "policy.dtensor_cfg.enabled=false"',
            '- "policy.dtensor_cfg.enabled=false"\n          - "loss_fn.force_on_policy_ratio=true"',
            id="override",
        ),
        pytest.param(
            "command: [uv, run, bash, tests/functional/grpo_megatron.sh]",
            "command: [env, NRL_IGNORE_TP_ACCURACY_CHECK=1, bash, tests/functional/grpo_megatron.sh]",
            id="command",
        ),
        pytest.param(
            "arguments: [--config, examples/configs/vlm_grpo_3B_megatron.yaml]",
            "arguments: [--config, x.yaml, NRL_IGNORE_TP_ACCURACY_CHECK]",
            id="argument",
        ),
    ],
)
def test_the_accuracy_guard_can_be_switched_off_nowhere(tmp_path: Path, old: str, new: str) -> None:
    with pytest.raises(ConfigError, match="anywhere"):
        load(broken(tmp_path, old, new))


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        pytest.param('- "policy.logprob_batch_size=1"', '- "policy.logprob_batch_size=1"', False, id="equal"),
        pytest.param(
            '          - "policy.train_micro_batch_size=1"\n          - "policy.logprob_batch_size=1"\n'
            '          - "cluster.gpus_per_node=4"',
            '          - "policy.train_micro_batch_size=1"\n          - "policy.logprob_batch_size=4"\n'
            '          - "cluster.gpus_per_node=4"',
            True,
            id="not-equal",
        ),
        pytest.param(
            '          - "policy.train_micro_batch_size=1"\n          - "policy.logprob_batch_size=1"\n'
            '          - "cluster.gpus_per_node=4"',
            '          - "cluster.gpus_per_node=4"',
            True,
            id="not-said",
        ),
    ],
)
def test_tp4_sets_both_batch_sizes_equal(tmp_path: Path, old: str, new: str, *, refused: bool) -> None:
    known = load(broken(tmp_path, old, new))
    if not refused:
        assert planned(known, 4, "tp4").gpus == 4
        return
    with pytest.raises(UsageError, match="one value for all of them"):
        planned(known, 4, "tp4")


@pytest.mark.parametrize("number", [4, 5])
def test_every_variant_respects_the_guards(number: int) -> None:
    # A variant that only changes the kernels or the graphs is no leg of these levels by itself.
    added = {"eager", "simple-kernels"}
    own = [variant.id for variant in CATALOGUE.level(Suite.NEMO_RL, number).variants if variant.id not in added]
    assert all(planned(CATALOGUE, number, name).blocked is None for name in own)


def test_experts_are_refused_for_a_dense_model() -> None:
    with pytest.raises(UsageError, match="no moe"):
        planned(CATALOGUE, 4, "moe-ep2", traits=frozenset())


@pytest.mark.parametrize(
    ("number", "names", "said", "unsaid"),
    [
        pytest.param(0, (), ("two GRPO steps", "no claim about PEFT", "text-only"), (), id="smoke"),
        pytest.param(1, ("lora",), ("not loaded",), ("no claim about PEFT", "no claim about saving"), id="lora"),
        pytest.param(2, (), ("no claim about PEFT",), ("colocated generation",), id="refit"),
        pytest.param(4, ("pp2",), (), ("sizes are 1",), id="pp2"),
        pytest.param(4, ("moe-ep2",), (), ("no claim about expert parallelism",), id="experts"),
        pytest.param(5, ("vlm",), ("no video",), ("text-only",), id="images"),
        pytest.param(5, ("audio",), ("no speech",), ("text-only",), id="sound"),
        pytest.param(6, (), ("no convergence",), ("two GRPO steps", "no claim about PEFT"), id="learning"),
    ],
)
def test_limitations_follow_the_effective_settings(
    number: int, names: tuple[str, ...], said: tuple[str, ...], unsaid: tuple[str, ...]
) -> None:
    level = CATALOGUE.level(Suite.NEMO_RL, number)
    chosen = variants_of(level, names)
    found = " | ".join(limitations_of(level, chosen, resolve_phases(level, chosen)))
    assert all(text in found for text in said)
    assert not any(text in found for text in unsaid)


def test_a_command_shows_what_takes_effect() -> None:
    assert last_of_each_key(("a=1", "b=1", "++a=2", "c=3")) == ("b=1", "++a=2", "c=3")


PARTS = {"refit/transfer/relay_flush_s": 0.1, "refit/transfer/global_commit_s": 0.2}
TOTAL = "timing/train/prepare_for_generation/total"
TRANSFER = "timing/train/prepare_for_generation/transfer_and_update_weights"


def timings(variants: tuple[str, ...]) -> TransferTimings:
    level = CATALOGUE.level(Suite.NEMO_RL, 2)
    (found,) = (one for one in criteria_of(level, variants_of(level, variants)) if isinstance(one, TransferTimings))
    return found


@pytest.mark.parametrize(
    ("metrics", "variants", "met", "found"),
    [
        pytest.param({}, (), Met.NOT_APPLICABLE, "was not logged", id="another-tree"),
        pytest.param({TOTAL: 2, TRANSFER: 1.5}, (), Met.MET, "no boundary can be named", id="not-apart"),
        pytest.param(
            {TOTAL: 2, TRANSFER: 1.5, **PARTS},
            ("delta-compression",),
            Met.MET,
            "export and encoding takes longest: a bottleneck of weight preparation",
            id="preparation",
        ),
        pytest.param(
            {TOTAL: 2, TRANSFER: 1.5, **PARTS, "refit/transfer/relay_flush_s": 1.2},
            ("delta-compression",),
            Met.MET,
            "the broadcast takes longest",
            id="broadcast",
        ),
        pytest.param({TOTAL: 2, TRANSFER: "NaN"}, (), Met.NOT_APPLICABLE, "2 s in all", id="not-finite"),
    ],
)
def test_the_boundary_of_a_slow_transfer_is_named(
    metrics: dict[str, object], variants: tuple[str, ...], met: Met, found: str
) -> None:
    data = msgspec.json.encode({name: {"2": value} for name, value in metrics.items()}).replace(b'"NaN"', b"NaN")
    view = PhaseView(id="train", steps=2, log_name="run-train.log", metrics=read_metrics(data))
    subject = Subject(suite=Suite.NEMO_RL, level=2, title="x", criteria=(), phases=(view,), proof="full")
    answer = check(timings(variants), subject, knowledge(Suite.NEMO_RL))
    assert answer.met is met
    assert found in answer.found


ROOTS = Roots(bridge_src="/workspace/Megatron-Bridge/src", mcore="/workspace/Megatron-Bridge/3rdparty/Megatron-LM")
FAILURE = CheckFailure(test="tests/unit/x.py::test_a", file="tests/unit/x.py", error="AssertionError")
FAILED = ChecksRun(command=("pytest",), exit_code=1, passed=2, failed=1, failures=(FAILURE,))


def judged(run: ChecksRun | None) -> LegVerdict:
    of = leg(Suite.NEMO_RL)
    found = changed(evidence(of), suite_checks=run)
    return judge_leg(of, found, read(Suite.NEMO_RL), CATALOGUE, knowledge(Suite.NEMO_RL))


@pytest.mark.parametrize(
    ("run", "outcome", "boundary", "status"),
    [
        pytest.param(ChecksRun(command=("x",), exit_code=0, passed=9), Outcome.PASS, None, Status.PASS, id="pass"),
        pytest.param(FAILED, Outcome.FAIL, Boundary.BRIDGE_CHECKS, Status.FAIL, id="fails"),
        pytest.param(
            changed(FAILED, base=BaseRun(commit=COMMIT)),
            Outcome.FAIL,
            Boundary.BRIDGE_CHECKS,
            Status.FAIL,
            id="passes-on-the-merge-base",
        ),
        pytest.param(
            changed(FAILED, base=BaseRun(commit=COMMIT, failed=(FAILURE.test,))),
            Outcome.BLOCKED,
            Boundary.BRIDGE_CHECKS,
            Status.SKIPPED,
            id="fails-on-the-merge-base-too",
        ),
        pytest.param(
            ChecksRun(command=("x",), exit_code=None, skipped_because="no pytest"),
            Outcome.BLOCKED,
            Boundary.BRIDGE_CHECKS,
            Status.SKIPPED,
            id="could-not-start",
        ),
        pytest.param(
            ChecksRun(command=("x",), exit_code=5),
            Outcome.BLOCKED,
            Boundary.BRIDGE_CHECKS,
            Status.SKIPPED,
            id="none-ran",
        ),
        pytest.param(None, Outcome.BLOCKED, Boundary.BRIDGE_CHECKS, Status.SKIPPED, id="not-run"),
    ],
)
def test_the_suites_own_tests_follow_the_rule_of_bridges(
    run: ChecksRun | None, outcome: Outcome, boundary: Boundary | None, status: Status
) -> None:
    verdict = judged(run)
    assert (verdict.outcome, verdict.boundary) == (outcome, boundary), verdict.sentence
    (row,) = (row for row in verdict.deliverables if row.name == "NeMo-RL unit checks")
    assert row.status is status


def test_only_a_comparison_with_the_merge_base_blames_the_change() -> None:
    assert judged(FAILED).attribution == "undetermined"
    assert judged(changed(FAILED, base=BaseRun(commit=COMMIT))).attribution == "bridge-side"
