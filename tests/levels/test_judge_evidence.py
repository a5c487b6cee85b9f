"""A leg with evidence: a whole one passes, and each missing or wrong fact takes the Pass away."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from levels.evidence import ChecksRun, Evidence, Import, Stop, TreeState
from levels.judge import Bundle, LegLogs, judge_leg, judge_plan
from levels.metrics import read_metrics
from levels.model import Boundary, Outcome, Process, Suite
from levels.plan import Decision, Plan, Selection
from levels.rows import NAMES
from levels.verdict import LegVerdict, Met
from tests.levels.judging import (
    CATALOGUE,
    COMMIT,
    GOOD_LOGS,
    ROOT,
    changed,
    evidence,
    facts,
    good_log,
    judge,
    knowledge,
    leg,
    read,
    text,
)

SUITES = pytest.mark.parametrize("suite", list(Suite))


def state(verdict: LegVerdict, name: str) -> Met:
    return next(item.met for item in verdict.criteria if item.id == name)


@SUITES
def test_whole_evidence_passes(suite: Suite) -> None:
    verdict = judge(suite)
    assert verdict.outcome is Outcome.PASS, verdict.sentence
    assert verdict.proof == "full"
    assert {item.met for item in verdict.criteria} <= {Met.MET, Met.NOT_APPLICABLE}
    assert {row.status.value for row in verdict.deliverables} == {"Pass", "Not requested"}


def tree(found: Evidence, name: str, **fields: object) -> Evidence:
    trees = tuple(
        TreeState(**{**{f: getattr(item, f) for f in item.__struct_fields__}, **fields}) if item.name == name else item
        for item in found.trees
    )
    return changed(found, trees=trees)


def imports(found: Evidence, process: Process, module: str, file: str | None, error: str | None = None) -> Evidence:
    return changed(
        found,
        imports=tuple(
            Import(process=process, module=module, file=file, error=error)
            if (item.process, item.module) == (process, module)
            else item
            for item in found.imports
        ),
    )


def phase(found: Evidence, **fields: object) -> Evidence:
    return changed(found, phases=tuple(changed(item, **fields) for item in found.phases))


BROKEN: list[tuple[str, Callable[[Evidence], Evidence], str, Outcome, Boundary]] = [
    (
        "dirty-bridge",
        lambda e: tree(e, "bridge", dirty=(" M a.py",), dirty_count=1),
        "trees",
        Outcome.BLOCKED,
        Boundary.BRIDGE_IMPORT,
    ),
    ("dirty-unlisted", lambda e: tree(e, "suite", dirty_count=3), "trees", Outcome.BLOCKED, Boundary.BRIDGE_IMPORT),
    ("other-commit", lambda e: tree(e, "mcore", commit=COMMIT), "trees", Outcome.BLOCKED, Boundary.BRIDGE_IMPORT),
    (
        "undeclared-workaround",
        lambda e: tree(e, "bridge", applied=("x",)),
        "trees",
        Outcome.BLOCKED,
        Boundary.BRIDGE_IMPORT,
    ),
    ("no-commit", lambda e: tree(e, "suite", commit=None), "trees", Outcome.BLOCKED, Boundary.BRIDGE_IMPORT),
    (
        "worker-wheel",
        lambda e: imports(
            e, Process.RAY_WORKER, "megatron.bridge", "/usr/lib/python3/site-packages/megatron/bridge/__init__.py"
        ),
        "worker-bridge",
        Outcome.BLOCKED,
        Boundary.BRIDGE_IMPORT,
    ),
    (
        "worker-mcore",
        lambda e: imports(e, Process.RAY_WORKER, "megatron.core", "/workspace/Megatron-LM/megatron/core/__init__.py"),
        "worker-mcore",
        Outcome.BLOCKED,
        Boundary.BRIDGE_IMPORT,
    ),
    (
        "sibling-folder",
        lambda e: imports(e, Process.DRIVER, "megatron.bridge", ROOT + "-old/megatron/bridge/__init__.py"),
        "driver-bridge",
        Outcome.BLOCKED,
        Boundary.BRIDGE_IMPORT,
    ),
    (
        "dots-in-path",
        lambda e: imports(e, Process.DRIVER, "megatron.bridge", ROOT + "/../x/megatron/bridge/__init__.py"),
        "driver-bridge",
        Outcome.BLOCKED,
        Boundary.BRIDGE_IMPORT,
    ),
    ("no-imports", lambda e: changed(e, imports=()), "driver-bridge", Outcome.BLOCKED, Boundary.BRIDGE_IMPORT),
    ("no-roots", lambda e: changed(e, roots=None), "driver-bridge", Outcome.BLOCKED, Boundary.BRIDGE_IMPORT),
    (
        "checks-failed",
        lambda e: changed(e, bridge_checks=ChecksRun(command=(), exit_code=1, passed=3, failed=1)),
        "bridge-checks",
        Outcome.FAIL,
        Boundary.BRIDGE_CHECKS,
    ),
    (
        "checks-none-collected",
        lambda e: changed(e, bridge_checks=ChecksRun(command=(), exit_code=0)),
        "bridge-checks",
        Outcome.BLOCKED,
        Boundary.BRIDGE_CHECKS,
    ),
    (
        "checks-skipped",
        lambda e: changed(e, bridge_checks=ChecksRun(command=(), exit_code=None, skipped_because="no uv")),
        "bridge-checks",
        Outcome.BLOCKED,
        Boundary.BRIDGE_CHECKS,
    ),
    (
        "checks-absent",
        lambda e: changed(e, bridge_checks=None),
        "bridge-checks",
        Outcome.BLOCKED,
        Boundary.BRIDGE_CHECKS,
    ),
    ("exit-1", lambda e: phase(e, exit_code=1), "exit-zero", Outcome.FAIL, Boundary.SHUTDOWN),
    ("signal", lambda e: phase(e, exit_code=None, signal=11), "exit-zero", Outcome.FAIL, Boundary.SHUTDOWN),
    ("timed-out", lambda e: phase(e, exit_code=None, timed_out=True), "exit-zero", Outcome.FAIL, Boundary.SHUTDOWN),
    ("no-exit-code", lambda e: phase(e, exit_code=None), "exit-zero", Outcome.BLOCKED, Boundary.SHUTDOWN),
]


@SUITES
@pytest.mark.parametrize(("name", "change", "criterion", "outcome", "boundary"), BROKEN, ids=[row[0] for row in BROKEN])
def test_a_wrong_fact_takes_the_pass_away(
    suite: Suite,
    name: str,
    change: Callable[[Evidence], Evidence],
    criterion: str,
    outcome: Outcome,
    boundary: Boundary,
) -> None:
    verdict = judge(suite, change(evidence(leg(suite))))
    assert state(verdict, criterion) is not Met.MET, name
    assert (verdict.outcome, verdict.boundary) == (outcome, boundary)
    assert verdict.follow_ups
    assert verdict.attribution is not None


@SUITES
def test_a_person_may_run_a_tree_as_it_is(suite: Suite) -> None:
    found = tree(evidence(leg(suite)), "bridge", expected=None, dirty=(" M a.py",), dirty_count=1)
    verdict = judge(suite, found)
    assert verdict.outcome is Outcome.PASS
    assert any("not publishable" in text for text in verdict.limitations)
    in_ci = judge(suite, changed(found, plan="0123456789ab"), expected_plan="0123456789ab")
    assert (in_ci.outcome, in_ci.boundary) == (Outcome.BLOCKED, Boundary.BRIDGE_IMPORT)


LOGS: list[tuple[str, Suite, Callable[[str], str], str, Outcome, Boundary]] = [
    (
        "vanilla",
        Suite.VERL,
        lambda t: t.replace("+ VANILLA_MBRIDGE=False", "+ VANILLA_MBRIDGE=True"),
        "vanilla-mbridge",
        Outcome.BLOCKED,
        Boundary.CONFIG,
    ),
    (
        "vanilla-not-shown",
        Suite.VERL,
        lambda t: t.replace("+ VANILLA_MBRIDGE=False", "+ true"),
        "vanilla-mbridge",
        Outcome.BLOCKED,
        Boundary.CONFIG,
    ),
    (
        "mbridge-off",
        Suite.VERL,
        lambda t: t.replace("+ USE_MBRIDGE=True", "+ USE_MBRIDGE=False"),
        "use-mbridge",
        Outcome.BLOCKED,
        Boundary.CONFIG,
    ),
    (
        "weight-missing",
        Suite.VERL,
        lambda t: t.replace("module: 1", "WARNING: Can't find model.layers.0.q_norm.weight in hf_keys", 1),
        "weights-imported",
        Outcome.FAIL,
        Boundary.HF_IMPORT,
    ),
    (
        "weights-missing-list",
        Suite.VERL,
        lambda t: t.replace(
            "module: 1", "WARNING: Can't find the following HF parameters in hf_keys: ['a.b', 'c.d']", 1
        ),
        "weights-imported",
        Outcome.FAIL,
        Boundary.HF_IMPORT,
    ),
    (
        "weight-skipped-by-shape",
        Suite.VERL,
        lambda t: t.replace("megatron param output_layer.weight allowed", "megatron param decoder.x.weight allowed"),
        "weights-imported",
        Outcome.FAIL,
        Boundary.HF_IMPORT,
    ),
    (
        "import-stops-short",
        Suite.VERL,
        lambda t: t.replace("(290/290)", "(12/290)"),
        "weights-imported",
        Outcome.FAIL,
        Boundary.HF_IMPORT,
    ),
    (
        "no-import-shown",
        Suite.VERL,
        lambda t: t.replace("Loading from", "Reading"),
        "weights-imported",
        Outcome.BLOCKED,
        Boundary.HF_IMPORT,
    ),
    (
        "no-adapters",
        Suite.VERL,
        lambda t: t.replace("Adapter parameters:   1,081,344", "Adapter parameters:   0"),
        "adapters-attached",
        Outcome.FAIL,
        Boundary.PEFT_WRAP,
    ),
    (
        "half-the-bar",
        Suite.VERL,
        lambda t: t.replace("100%|██████████| 1/1", " 50%|█████     | 0/1"),
        "last-step",
        Outcome.FAIL,
        Boundary.TRAIN_STEP,
    ),
    (
        "no-step-line",
        Suite.VERL,
        lambda t: t.replace("step:1 - ", "stage:1 - "),
        "metrics-logged",
        Outcome.FAIL,
        Boundary.METRICS,
    ),
    (
        "nan",
        Suite.VERL,
        lambda t: t.replace("actor/entropy:", "actor/entropy:nan - x:"),
        "metrics-finite",
        Outcome.FAIL,
        Boundary.METRICS,
    ),
    (
        "rollout-disagrees",
        Suite.VERL,
        lambda t: t.replace("pearson_corr:0.9999", "pearson_corr:0.31"),
        "rollout-agrees",
        Outcome.FAIL,
        Boundary.REFIT,
    ),
    (
        "rollout-not-compared",
        Suite.VERL,
        lambda t: t.replace("pearson_corr:0.9999", "pearson_corrr:1"),
        "rollout-agrees",
        Outcome.BLOCKED,
        Boundary.REFIT,
    ),
    (
        "wheel-in-a-warning",
        Suite.VERL,
        lambda t: t + "(WorkerDict pid=1) /usr/lib/site-packages/megatron/bridge/models/x.py:3: UserWarning: y\n",
        "driver-bridge",
        Outcome.BLOCKED,
        Boundary.BRIDGE_IMPORT,
    ),
    (
        "swallowed-save",
        Suite.VERL,
        lambda t: t.replace("module: 1", "Failed to save checkpoint to /x: disk", 1),
        "no-exception",
        Outcome.FAIL,
        Boundary.CHECKPOINT_SAVE,
    ),
    (
        "dtensor",
        Suite.NEMO_RL,
        lambda t: t.replace("(MegatronPolicyWorker[", "(DTensorPolicyWorkerV2["),
        "megatron-policy",
        Outcome.BLOCKED,
        Boundary.CONFIG,
    ),
    (
        "failed-row",
        Suite.NEMO_RL,
        lambda t: t.replace("│ PASS ", "│ FAIL ", 1),
        "assertions",
        Outcome.FAIL,
        Boundary.METRICS,
    ),
    ("no-table", Suite.NEMO_RL, lambda t: t.replace("│ PASS ", "│ "), "assertions", Outcome.FAIL, Boundary.METRICS),
    (
        "swallowed-generation",
        Suite.NEMO_RL,
        lambda t: t.replace(
            "▶ Processing rewards", "Error generating response for sample 0: x\n▶ Processing rewards", 1
        ),
        "no-exception",
        Outcome.FAIL,
        Boundary.ROLLOUT,
    ),
    ("empty", Suite.NEMO_RL, lambda _: "", "log-captured", Outcome.FAIL, Boundary.TRAIN_STEP),
]


@pytest.mark.parametrize(
    ("name", "suite", "change", "criterion", "outcome", "boundary"), LOGS, ids=[row[0] for row in LOGS]
)
def test_a_log_that_says_otherwise_takes_the_pass_away(
    name: str, suite: Suite, change: Callable[[str], str], criterion: str, outcome: Outcome, boundary: Boundary
) -> None:
    log = change(good_log(suite))
    assert log != good_log(suite), name
    verdict = judge(suite, logs=read(suite, log))
    assert state(verdict, criterion) is not Met.MET
    assert verdict.outcome is not Outcome.PASS
    if name != "empty":
        assert (verdict.outcome, verdict.boundary) == (outcome, boundary)


@pytest.mark.parametrize(
    ("metrics", "criterion", "boundary"),
    [
        pytest.param(b"", "metrics-logged", Boundary.METRICS, id="empty"),
        pytest.param(b"[1]", "metrics-logged", Boundary.METRICS, id="list"),
        pytest.param(b"[" * 100_000, "metrics-logged", Boundary.METRICS, id="too-deep"),
        pytest.param(b'{"train/loss": {"1": 0.1}}', "metrics-logged", Boundary.METRICS, id="first-step-only"),
        pytest.param(
            b'{"train/loss": {"1": 1, "2": NaN}, "train/token_mult_prob_error": {"2": 1},'
            b' "train/gen_kl_error": {"2": 1}}',
            "metrics-finite",
            Boundary.METRICS,
            id="bare-nan",
        ),
        pytest.param(
            b'{"train/loss": {"2": 1}, "train/token_mult_prob_error": {"2": 1.2}, "train/gen_kl_error": {"2": 1}}',
            "rollout-agrees",
            Boundary.METRICS,
            id="over-the-bound",
        ),
    ],
)
def test_metrics_decide(metrics: bytes, criterion: str, boundary: Boundary) -> None:
    verdict = judge(Suite.NEMO_RL, logs=read(Suite.NEMO_RL, metrics=metrics))
    assert state(verdict, criterion) is Met.UNMET
    assert (verdict.outcome, verdict.boundary) == (Outcome.FAIL, boundary)


@SUITES
@pytest.mark.parametrize(
    ("found", "plan", "says"),
    [
        pytest.param(None, None, "no evidence", id="missing"),
        pytest.param("other-leg", None, "evidence of leg", id="other-leg"),
        pytest.param("open", None, "not closed", id="open"),
        pytest.param("plan", "123456789abc", "evidence of plan", id="other-plan"),
    ],
)
def test_foreign_or_missing_evidence_is_blocked(suite: Suite, found: str | None, plan: str | None, says: str) -> None:
    of = leg(suite)
    given_ = evidence(of)
    if found == "other-leg":
        given_ = changed(given_, leg="verl-9")
    if found == "open":
        given_ = changed(given_, complete=False)
    shown = None if found is None else given_
    verdict = judge_leg(of, shown, read(suite), CATALOGUE, knowledge(suite), expected_plan=plan)
    assert verdict.outcome is Outcome.BLOCKED
    assert says in verdict.sentence
    assert [row.name for row in verdict.deliverables][:5] == list(NAMES[suite].values())


@SUITES
def test_a_log_that_is_not_the_named_one_is_blocked(suite: Suite) -> None:
    logs = read(suite)
    for broken in (LegLogs(), LegLogs(logs=logs.logs, metrics=logs.metrics, problems={"train": "the log was cut"})):
        verdict = judge(suite, logs=broken)
        assert verdict.outcome is Outcome.BLOCKED
        assert verdict.category == "evidence"


def stop(boundary: Boundary, *, ours: bool = False) -> Stop:
    return Stop(
        step="prepare",
        boundary=boundary,
        doing="looking for data",
        found="nothing\nKeyError: 'x'",
        expected="a file",
        next_step="make it",
        ours=ours,
    )


@SUITES
@pytest.mark.parametrize("ours", [True, False])
def test_a_stop_of_the_runner_is_blocked_at_its_boundary(suite: Suite, ours: bool) -> None:  # noqa: FBT001 - a table
    found = changed(evidence(leg(suite)), phases=(), stop=stop(Boundary.DATA, ours=ours))
    verdict = judge(suite, found, LegLogs())
    assert (verdict.outcome, verdict.boundary) == (Outcome.BLOCKED, Boundary.DATA)
    assert verdict.category == ("runner-bug" if ours else "stopped-prepare")


@SUITES
def test_a_failed_run_stays_a_fail_when_collecting_stops_too(suite: Suite) -> None:
    found = changed(phase(evidence(leg(suite)), exit_code=1), stop=stop(Boundary.ENVIRONMENT))
    assert judge(suite, found).outcome is Outcome.FAIL


SYNTAX = f"""Traceback (most recent call last):
  File "<string>", line 1, in <module>
  File "{ROOT}/megatron/bridge/__init__.py", line 19, in <module>
    from megatron.bridge.models import x
  File "{ROOT}/megatron/bridge/models/x.py", line 3
    def (:
        ^
SyntaxError: invalid syntax
"""
MISSING = f"""Traceback (most recent call last):
  File "{ROOT}/megatron/bridge/__init__.py", line 19, in <module>
    import modelopt
ModuleNotFoundError: No module named 'modelopt'
"""


@SUITES
@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        pytest.param(SYNTAX, Outcome.FAIL, id="own-code"),
        pytest.param(MISSING, Outcome.BLOCKED, id="package"),
        pytest.param("", Outcome.BLOCKED, id="silent"),
    ],
)
def test_an_import_that_fails_in_the_probe(suite: Suite, error: str, outcome: Outcome) -> None:
    found = imports(evidence(leg(suite)), Process.DRIVER, "megatron.bridge", None, error)
    verdict = judge(suite, changed(found, phases=(), stop=stop(Boundary.BRIDGE_IMPORT)), LegLogs())
    assert (verdict.outcome, verdict.boundary) == (outcome, Boundary.BRIDGE_IMPORT)


def test_every_planned_leg_gets_a_verdict() -> None:
    legs = tuple(leg(suite) for suite in Suite)
    plan = Plan(
        decision=Decision.RUN, because="x", repository="a/b", pull_request=1, head=COMMIT, base=None, consent=None,
        selection=Selection(chosen=(), skipped=()), legs=legs,
    )  # fmt: skip
    known = {suite.value: knowledge(suite) for suite in Suite}
    good = Bundle(evidence=changed(evidence(legs[0]), plan=plan.id), logs=read(Suite.VERL))
    verdict = judge_plan(plan, {legs[0].id: good, "stranger": good}, CATALOGUE, known)
    assert [item.outcome for item in verdict.legs] == [Outcome.PASS, Outcome.BLOCKED]
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.plan == plan.id


def test_a_leg_that_the_catalogue_lacks_is_blocked() -> None:
    of = changed(leg(Suite.VERL), level=4)
    verdict = judge_leg(of, None, LegLogs(), CATALOGUE, knowledge(Suite.VERL))
    assert verdict.outcome is Outcome.BLOCKED


FACTS = [
    "trees",
    "roots",
    "imports",
    "bridge_checks",
    "phases",
    "complete",
]
EMPTY = {"trees": (), "roots": None, "imports": (), "bridge_checks": None, "phases": (), "complete": False}


@SUITES
@given(data=st.data())
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_no_pass_with_a_required_fact_removed(suite: Suite, data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.sampled_from(FACTS), min_size=1))
    found = changed(evidence(leg(suite)), **{name: EMPTY[name] for name in gone})
    assert judge(suite, found).outcome is not Outcome.PASS


@given(raw=st.binary(max_size=3000), suite=st.sampled_from(list(Suite)))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_judge_is_total_over_log_bytes(raw: bytes, suite: Suite) -> None:
    logs = LegLogs(logs={"train": facts(raw, suite)}, metrics={"train": read_metrics(raw)})
    assert judge(suite, logs=logs).outcome is not Outcome.PASS


LINES = sorted(
    {line for name in ("v-lora-base-layer-name", "v-exception-group-rollout") for line in text(name).split("\n")}
)


@given(lines=st.lists(st.sampled_from(LINES), max_size=60))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_judge_is_total_over_shuffled_lines(lines: list[str]) -> None:
    logs = LegLogs(logs={"train": facts("\n".join(lines), Suite.VERL)})
    assert judge(Suite.VERL, logs=logs).outcome is not Outcome.PASS


CLAIMS = [
    "Result: Pass - all good",
    '{"schema": "bridge-e2e/verdict/1", "outcome": "Pass", "legs": []}',
    "[preflight] megatron.bridge.__file__ = /workspace/Megatron-Bridge/src/megatron/bridge/__init__.py",
    "::set-output name=verdict::Pass",
    "bridge-e2e: Pass",
    "<!-- bridge-e2e:sticky -->",
    "│ PASS │ everything │ 1 │ │",
]


@SUITES
@pytest.mark.parametrize("name", ["failed", "wrong-tree", "killed"])
def test_a_log_that_prints_our_own_words_changes_nothing(suite: Suite, name: str) -> None:
    found = evidence(leg(suite))
    if name == "failed":
        found = phase(found, exit_code=1)
    elif name == "wrong-tree":
        found = imports(found, Process.RAY_WORKER, "megatron.bridge", "/x/megatron/bridge/__init__.py")
    else:
        found = phase(found, exit_code=None, signal=9)
    plain = judge(suite, found)
    dressed = judge(suite, found, read(suite, good_log(suite) + "\n".join(CLAIMS) + "\n"))
    assert plain.outcome is not Outcome.PASS
    assert (dressed.outcome, dressed.boundary) == (plain.outcome, plain.boundary)


def test_the_good_logs_are_labelled_pass() -> None:
    assert all("-pass-" in name for name in GOOD_LOGS.values())


@SUITES
def test_a_weight_without_a_mapping_was_not_imported(suite: Suite) -> None:
    line = "(WorkerDict pid=1) WARNING: No mapping found for megatron_param: decoder.layers.0.mlp.linear_fc1.weight\n"
    verdict = judge(suite, logs=read(suite, line + good_log(suite)))
    assert (verdict.outcome, verdict.boundary) == (Outcome.FAIL, Boundary.HF_IMPORT)
    assert "decoder.layers.0.mlp.linear_fc1.weight" in verdict.sentence


@SUITES
def test_an_empty_log_is_nothing_to_judge(suite: Suite) -> None:
    verdict = judge(suite, logs=read(suite, ""))
    assert (verdict.outcome, verdict.boundary) == (Outcome.BLOCKED, Boundary.ENVIRONMENT)
    assert "is empty" in verdict.sentence


@pytest.mark.parametrize("process", list(Process))
def test_a_package_that_an_import_probe_misses_is_a_dependency(process: Process) -> None:
    error = (
        "ModuleNotFoundError: No module named 'modelopt'\nTraceback (most recent call last):\n"
        f'  File "{ROOT}/megatron/bridge/__init__.py", line 1, in <module>\n    import modelopt\n'
        "ModuleNotFoundError: No module named 'modelopt'\n"
    )
    found = imports(evidence(leg(Suite.VERL)), process, "megatron.bridge", None, error)
    verdict = judge(Suite.VERL, found)
    assert (verdict.outcome, verdict.boundary) == (Outcome.BLOCKED, Boundary.DEPENDENCY)
    assert verdict.first_error is not None
    assert "No module named 'modelopt'" in verdict.first_error.text
