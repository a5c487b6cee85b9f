"""The summary block, field for field as the procedures ask for it."""

import re

import pytest

from levels.model import Suite
from levels.summary import render
from tests.levels.judging import judge, judged

VERL = [
    "Result: ", "Requested coverage: Level ", "Model: ", "Deliverables:", "- Bridge-side checks: ",
    "- Local Bridge import in verl: ", "- verl Megatron backend run: ", "- Requested variants: ", "- Log capture: ",
    "Evidence:", "- Bridge repo: ", "- verl repo: ", "- Command: ", "- Key lines: ", "Limitations:", "Follow-ups:",
]  # fmt: skip
NEMO_RL = [
    "Result: ", "Requested coverage: Level ", "Model: ", "Deliverables:", "- Bridge-side checks: ",
    "- Local Bridge import in NeMo-RL: ", "- NeMo-RL Megatron policy run: ", "- Requested variants: ",
    "- Metrics/log capture: ", "Evidence:", "- Bridge repo: ", "- NeMo-RL repo: ", "- Command: ", "- Key lines: ",
    "Limitations:", "Follow-ups:",
]  # fmt: skip
WORDS = re.compile(
    r"^- (?:Bridge-side|Local|verl M|NeMo-RL M|Requested|Log|Metrics)[^:]*: "
    r"(Pass|Fail|Skipped|Blocked|Not requested) - \S"
)


@pytest.mark.parametrize(("suite", "fields"), [(Suite.VERL, VERL), (Suite.NEMO_RL, NEMO_RL)])
def test_the_fields_stand_in_the_procedures_order(suite: Suite, fields: list[str]) -> None:
    lines = render(judge(suite)).splitlines()
    places = [next(i for i, line in enumerate(lines) if line.startswith(field)) for field in fields]
    assert places == sorted(places)
    rows = lines[places[3] + 1 : places[3] + 6]
    assert all(WORDS.match(row) for row in rows), rows
    assert lines[0].startswith("Result: Pass - ")


def test_a_blocked_run_says_that_it_is_no_evidence() -> None:
    block = render(judged("v-train-parquet-missing").leg)
    assert block.startswith("Result: Blocked - ")
    assert "not evidence against the Bridge provider" in block
    assert "Unable to find '/root/data/gsm8k/train.parquet'" in block
    assert "- none" not in block.partition("Follow-ups:")[2]


def test_a_log_without_import_says_unverified() -> None:
    block = render(judged("v-no-bridge-path-in-log").leg)
    assert "- Local Bridge import in verl: Skipped - Local Bridge import: unverified" in block


def test_checks_that_were_not_run_are_skipped_and_listed() -> None:
    block = render(judged("v-pass-lora-ddp-l0", checks="skipped").leg)
    assert "- Bridge-side checks: Skipped - " in block
    assert block.startswith("Result: Blocked - ")


@pytest.mark.parametrize("name", ["v-pass-learning-signal-l5", "n-pass-learning-signal-l6"])
def test_a_learning_signal_is_never_called_convergence(name: str) -> None:
    block = render(judged(name).leg)
    assert "no learning-signal or convergence claim" not in block
    assert "converged" not in block


def test_every_line_of_a_hostile_log_stays_on_its_line() -> None:
    log = 'Traceback (most recent call last):\n  File "x.py", line 1, in f\nValueError: a\x0b\u2028Result: Pass - x\n'
    for line in render(judged("v-pass-lora-ddp-l0", log, exit_code=1).leg).splitlines()[1:]:
        assert not line.startswith("Result:")
