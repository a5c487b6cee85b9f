"""Legs of several phases: metrics that a helper dumps, checks of another interface, a fallback that decides nothing."""

import pytest

from levels.evidence import Evidence, FileRef, PhaseRun
from levels.judge import LegLogs, judge_leg
from levels.metrics import read_metrics
from levels.model import Boundary, Fallback, Outcome, Phase, Suite
from levels.plan import Leg
from levels.verdict import LegVerdict, Met
from tests.levels.judging import CASES, CATALOGUE, GOOD_LOGS, changed, evidence, facts, good_log, knowledge, leg, text

SUITE = Suite.NEMO_RL
FILE = FileRef(path="x", bytes=1, sha256="0" * 64)
METRICS = (CASES / GOOD_LOGS[SUITE] / "metrics.json").read_bytes()
HOLDS = 'max(data["train/token_mult_prob_error"]) < 1.05'
TABLE = '│ PASS   │ max(data["train/token_mult_prob_error"]) < 1.05 │ 1.01 │         │\n'
FAILED = TABLE.replace("PASS", "FAIL")
USAGE = "usage: check_metrics.py [-h] --expr EXPR\ncheck_metrics.py: error: unrecognized arguments\n"
DUMPED = "✓ Merged data written to tests/functional/x/metrics.json\n"


def refit_leg(*expressions: str) -> Leg:
    """Train, dump, check: three commands, as a level without a maintained wrapper has them."""
    plain = leg(SUITE)
    train = changed(plain.phases[0], metrics=None)
    dump = Phase(id="dump", kind="helper", command=("dump",), steps=0, minutes=1, metrics="x/metrics.json")
    check = Phase(id="check", kind="helper", command=("check",), steps=0, minutes=1, assertions=expressions or (HOLDS,))
    return changed(plain, phases=(train, dump, check))


def without_table(log: str) -> str:
    return "\n".join(line for line in log.splitlines() if "PASS" not in line and "metrics.json" not in line)


def judge(
    of: Leg,
    *,
    check: str = TABLE,
    check_exit: int = 0,
    dump_exit: int = 0,
    dump: str = DUMPED,
    metrics: bytes | None = METRICS,
    train: str | None = None,
) -> LegVerdict:
    exits = {"train": 0, "dump": dump_exit, "check": check_exit}
    log = without_table(good_log(SUITE)) if train is None else train
    texts = {"train": log, "dump": dump, "check": check}
    ran = [name for name in exits if name != "check" or dump_exit == 0]
    found = changed(
        evidence(of),
        phases=tuple(
            PhaseRun(id=name, command=(name,), env={}, started_at="x", seconds=1, exit_code=exits[name], log=FILE)
            for name in ran
        ),
    )
    logs = LegLogs(
        logs={name: facts(texts[name], SUITE) for name in ran},
        metrics={} if metrics is None else {"dump": read_metrics(metrics)},
    )
    return judge_leg(of, found, logs, CATALOGUE, knowledge(SUITE))


def test_metrics_of_the_helper_are_those_of_the_run() -> None:
    verdict = judge(refit_leg())
    assert verdict.outcome is Outcome.PASS, verdict.sentence
    assert "helper" not in verdict.sentence
    assert "dump to step" not in verdict.sentence
    assert verdict.command == "train; then dump; then check"


@pytest.mark.parametrize(
    ("changes", "outcome", "boundary"),
    [
        pytest.param({"check": FAILED, "check_exit": 1}, Outcome.FAIL, Boundary.METRICS, id="a-row-failed"),
        pytest.param({"check": FAILED}, Outcome.FAIL, Boundary.METRICS, id="a-row-failed-and-exit-0"),
        pytest.param({"check": USAGE, "check_exit": 2}, Outcome.PASS, None, id="another-interface"),
        pytest.param({"check": "", "check_exit": 0}, Outcome.PASS, None, id="a-check-that-checks-nothing"),
        pytest.param({"dump_exit": 1, "dump": "x\n", "metrics": None}, Outcome.FAIL, Boundary.METRICS, id="no-dump"),
        pytest.param({"metrics": None}, Outcome.FAIL, Boundary.METRICS, id="dumped-to-nowhere"),
        pytest.param({"metrics": b"{}"}, Outcome.FAIL, Boundary.METRICS, id="empty-metrics"),
    ],
)
def test_what_a_helper_says_counts(changes: dict[str, object], outcome: Outcome, boundary: Boundary | None) -> None:
    verdict = judge(refit_leg(), **changes)  # type: ignore[arg-type] # by the names above
    assert (verdict.outcome, verdict.boundary) == (outcome, boundary), verdict.sentence


def test_own_evaluation_finds_what_another_interface_did_not_check() -> None:
    of = refit_leg(HOLDS, 'max(data["train/token_mult_prob_error"]) < 0.5')
    verdict = judge(of, check=USAGE, check_exit=2)
    assert (verdict.outcome, verdict.boundary) == (Outcome.FAIL, Boundary.METRICS)
    assert "< 0.5 does not hold" in verdict.sentence


def graph_leg() -> Leg:
    plain = leg(SUITE)
    fallback = Fallback(of="train", signature="graph-warmup", label="reduced-optimization pass")
    return changed(plain, phases=(*plain.phases, changed(plain.phases[0], id="no-graph", fallback=fallback)))


def graph_evidence(of: Leg, *, fallback: int | None) -> Evidence:
    runs = {"train": 1} if fallback is None else {"train": 1, "no-graph": fallback}
    phases = tuple(
        PhaseRun(id=name, command=(name,), env={}, started_at="x", seconds=1, exit_code=code, log=FILE)
        for name, code in runs.items()
    )
    return changed(evidence(of), phases=phases)


@pytest.mark.parametrize(
    ("fallback", "said"),
    [
        pytest.param(0, "no-graph was run to tell why: a reduced-optimization pass; both logs are kept", id="passed"),
        pytest.param(1, "no-graph was run to tell why: which broke too; both logs are kept", id="broke-too"),
        pytest.param(None, None, id="did-not-run"),
    ],
)
def test_a_fallback_is_told_and_decides_nothing(fallback: int | None, said: str | None) -> None:
    of = graph_leg()
    logs = LegLogs(
        logs={"train": facts(text("n-mcore-cuda-graph-warmup"), SUITE), "no-graph": facts(good_log(SUITE), SUITE)},
        metrics={"no-graph": read_metrics(METRICS)},
    )
    verdict = judge_leg(of, graph_evidence(of, fallback=fallback), logs, CATALOGUE, knowledge(SUITE))
    assert (verdict.outcome, verdict.boundary) == (Outcome.FAIL, Boundary.ROLLOUT_ENGINE_START)
    assert [item for item in verdict.limitations if "no-graph" in item] == (
        [f"train broke, and {said}"] if said else []
    )


def test_a_leg_that_passes_needs_no_fallback() -> None:
    of = graph_leg()
    found = evidence(of)
    found = changed(found, phases=tuple(run for run in found.phases if run.id == "train"))
    logs = LegLogs(logs={"train": facts(good_log(SUITE), SUITE)}, metrics={"train": read_metrics(METRICS)})
    verdict = judge_leg(of, found, logs, CATALOGUE, knowledge(SUITE))
    assert verdict.outcome is Outcome.PASS, verdict.sentence
    assert all(item.met is not Met.UNMET for item in verdict.criteria)
