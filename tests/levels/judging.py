"""Logs, legs and evidence for the tests of the judge."""

import io
import json
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from levels import catalogue, deliverables, signatures
from levels.evidence import ChecksRun, Evidence, FileRef, Import, PhaseRun, Roots, TreeState
from levels.judge import LegLogs, judge_leg, judge_log
from levels.log_stages import LogFacts
from levels.logs import read_log
from levels.metrics import MetricsFile, read_metrics
from levels.model import Process, Suite
from levels.plan import Choice, Leg, Selection, build_legs
from levels.signatures import Knowledge
from levels.verdict import LegVerdict, LogVerdict, flat

S = TypeVar("S", bound=msgspec.Struct)

CASES = Path(__file__).parents[1] / "fixtures" / "cases"
CATALOGUE = catalogue.load()
WORDS = deliverables.load()
ROOT = "/workspace/Megatron-Bridge/src"
MCORE = "/workspace/Megatron-Bridge/3rdparty/Megatron-LM"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@cache
def knowledge(suite: Suite) -> Knowledge:
    return signatures.load(suite)


def case(name: str, folder: Path = CASES) -> dict[str, Any]:
    return dict(json.loads((folder / name / "case.json").read_text()))


def text(name: str, folder: Path = CASES) -> str:
    return (folder / name / "run.log").read_bytes().decode("utf-8", "replace")


def facts(data: bytes | str, suite: Suite) -> LogFacts:
    raw = data.encode() if isinstance(data, str) else data
    return read_log(io.BytesIO(raw), knowledge(suite))


def judged(
    name: str,
    log: str | bytes | None = None,
    folder: Path = CASES,
    **changes: Any,  # noqa: ANN401 - fields of a case
) -> LogVerdict:
    """`judge --log` on a labelled case, with its log or its circumstances changed."""
    about = {**case(name, folder), **changes}
    suite = Suite(about["suite"])
    file = folder / name / "metrics.json"
    metrics: MetricsFile | None = about.get("metrics")
    if metrics is None and file.exists() and "metrics" not in changes:
        metrics = read_metrics(file.read_bytes())
    ask = deliverables.ask(CATALOGUE, WORDS, suite, about["level"], tuple(about["requested"]))
    return flat(
        judge_log(
            ask,
            facts(text(name, folder) if log is None else log, suite),
            knowledge(suite),
            log_name="run.log",
            exit_code=about["exit_code"],
            timed_out=about["timed_out"],
            steps=about["expected_steps"],
            bridge_root=about.get("expected_bridge_root"),
            metrics=metrics,
            checks=about.get("checks", "assumed"),
        )
    )


def leg(suite: Suite) -> Leg:
    """Level 0 of `suite` as a plan would hold it."""
    level = CATALOGUE.level(suite, 0)
    choice = Choice(suite=suite, level=0, title=level.title, reasons=(), gpus=level.gpus, minutes=level.minutes)
    legs = build_legs(
        CATALOGUE,
        Selection(chosen=(choice,), skipped=()),
        bridge_repository="https://example.org/bridge.git",
        bridge_commit=COMMIT,
        mcore_commit=COMMIT[::-1],
    )
    return legs[0]


def evidence(of: Leg) -> Evidence:
    """Everything that a good run of `of` leaves behind."""
    planned = {"bridge": of.bridge_commit, "mcore": of.mcore_commit, "suite": of.suite_pin.commit}
    file = FileRef(path="run-train.log", bytes=1, sha256="0" * 64)
    return Evidence(
        leg=of.id,
        plan="local",
        complete=True,
        trees=tuple(
            TreeState(
                name=name,  # type: ignore[arg-type] # a literal, by the keys above
                path=f"/workspace/{name}",
                commit=commit,
                short=commit[:9] if commit else None,
                expected=commit,
                applied=tuple(item.id for item in of.workarounds) if name == "suite" else (),
            )
            for name, commit in planned.items()
        ),
        roots=Roots(bridge_src=ROOT, mcore=MCORE),
        imports=tuple(
            Import(process=process, module=module, file=f"{root}/{module.replace('.', '/')}/__init__.py")
            for process in Process
            for module, root in (("megatron.bridge", ROOT), ("megatron.core", MCORE))
        ),
        bridge_checks=ChecksRun(command=("pytest", "-q"), exit_code=0, passed=12),
        suite_checks=ChecksRun(command=("pytest", "-q"), exit_code=0, passed=9) if of.suite_tests else None,
        phases=tuple(
            PhaseRun(
                id=phase.id,
                command=phase.command,
                env={},
                started_at="2026-08-22T00:00:00Z",
                seconds=300,
                exit_code=0,
                log=file,
                metrics=file if phase.metrics else None,
            )
            for phase in of.phases
        ),
    )


GOOD_LOGS = {Suite.VERL: "v-pass-lora-ddp-l0", Suite.NEMO_RL: "n-pass-grpo-l0"}
CORRELATION = (
    " - training/rollout_probs_diff_valid:1 - training/rollout_probs_diff_mean:7e-07"
    " - training/rollout_actor_probs_pearson_corr:0.9999 - training/global_step:1"
)


def good_log(suite: Suite) -> str:
    """A passing log; the reconstructed verl logs lack metrics that real ones print."""
    log = text(GOOD_LOGS[suite])
    return log.replace(" - training/global_step:1", CORRELATION) if suite is Suite.VERL else log


def read(suite: Suite, log: str | None = None, metrics: bytes | None = None) -> LegLogs:
    content = good_log(suite) if log is None else log
    logs = LegLogs(logs={"train": facts(content, suite)})
    if suite is Suite.NEMO_RL:
        file = (CASES / GOOD_LOGS[suite] / "metrics.json").read_bytes() if metrics is None else metrics
        logs.metrics["train"] = read_metrics(file)
    return logs


def judge(
    suite: Suite, found: Evidence | None = None, logs: LegLogs | None = None, *, expected_plan: str | None = None
) -> LegVerdict:
    of = leg(suite)
    given = evidence(of) if found is None else found
    return judge_leg(
        of, given, read(suite) if logs is None else logs, CATALOGUE, knowledge(suite), expected_plan=expected_plan
    )


def changed(found: S, **fields: object) -> S:
    return msgspec.structs.replace(found, **fields)
