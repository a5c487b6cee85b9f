"""Progress, metrics, weights, adapters, checkpoints and checks that single lines show. Stages never belong here."""

from typing import Final

import re2

from levels.log_lines import Line
from levels.log_stages import MAX_NOTES, MAX_TEXT, Check, Launch, note
from levels.metrics import add_point, number
from levels.model import Suite
from levels.skips import reader

MAX_KEPT: Final = 400
MAX_STEPS: Final = 100_000

_BAR: Final = re2.compile(r"^Training Progress: +\d+%\|.*?\| *(\d{1,9})/(\d{1,9}) ")
_STEP_LINE: Final = re2.compile(r"^step:(\d{1,9}) - ")
_BANNER: Final = re2.compile(r"=+ Step (\d{1,9})/(\d{1,9}) =+")
_RESULT: Final = re2.compile(r"^\s*• (Loss|Generation KL Error|Avg Reward|Mean Generation Length|Grad Norm): (\S+)")
_ADAPTERS: Final = re2.compile(r"^\s*(?:Adapter|Trainable) parameters: +([\d,]{1,24})")
"""Source: verl-project/verl: verl/utils/megatron_peft_utils.py@1dda039b9c6311889a9c9a26040677e1254814f9;
NVIDIA-NeMo/Megatron-Bridge: src/megatron/bridge/training/setup.py@067f987df03b8355b03192d88d70f1709fedf51a."""
_IMPORT_BAR: Final = re2.compile(r"^\W*(?:2K)?Loading from .*\((\d{1,9})/(\d{1,9})\) (\w+)")
_MISSING_ONE: Final = re2.compile(r"Can't find (\S+) in hf_keys")
_MISSING_LIST: Final = re2.compile(r"Can't find the following HF parameters in hf_keys: \[(.*)\]")
_UNMAPPED: Final = re2.compile(r"No mapping found for megatron_param: ([A-Za-z0-9_.]+)")
"""Source: NVIDIA-NeMo/Megatron-Bridge: src/megatron/bridge/models/conversion/model_bridge.py@067f987d."""
_MISMATCH: Final = re2.compile(r"Shape mismatch for megatron param (\S+) allowed by whitelist")
_RESUMING: Final = re2.compile(
    r"Resuming from \S+?(?:, setting global step to (\d{1,9}))?$|^Setting global step to (\d{1,9})"
)
_RESUME_PATH: Final = re2.compile(r"(?:Resuming from|Found checkpoint:) .*?global_step_(\d{1,9})")
_LOADED: Final = re2.compile(r"successfully loaded checkpoint from \S+ .*at iteration (\d{1,9})")
_SAVED: Final = re2.compile(
    r"successfully saved checkpoint from iteration +([1-9]\d{0,8})|Checkpoint save completed for"
)
_ROW: Final = re2.compile(r"^[│|]\s*(PASS|FAIL)\s*[│|]\s*(.*?)\s*[│|]")
_DUMPED: Final = re2.compile(r"Merged data written to (\S+metrics\.json)")


def add_facts(launch: Launch, line: Line, text: str, suite: Suite) -> None:
    """The facts that one line adds."""
    if suite is Suite.VERL:
        _verl(launch, line, text)
    else:
        _nemo_rl(launch, line, text)
    _skips(launch, line, text, suite)
    if "arameters:" in text and (match := _ADAPTERS.match(text)):
        count = int(match[1].replace(",", "") or 0)
        if launch.adapters is None or count < launch.adapters:
            launch.adapters, launch.adapter_line = count, note(line)
    elif "dding lora to:" in text or "dding dora to:" in text or "dding canonical_lora to:" in text:
        launch.lora_lines += 1 + line.repeated
    elif "Loading from " in text and (match := _IMPORT_BAR.match(text)):
        done = (int(match[1]), int(match[2]))
        if launch.imported is None or done[0] / max(done[1], 1) < launch.imported[0] / max(launch.imported[1], 1):
            launch.imported, launch.import_line = done, note(line)
    elif "hf_keys" in text or "No mapping found" in text:
        _missing(launch, line, text)
    elif "allowed by whitelist" in text and (match := _MISMATCH.search(text)):
        launch.mismatched.setdefault(match[1], note(line))
    elif len(launch.saved) < MAX_NOTES and "heckpoint" in text and _SAVED.search(text):
        launch.saved.append(note(line))


def _skips(launch: Launch, line: Line, text: str, suite: Suite) -> None:
    for skip, names in reader(suite).read(text):
        known = launch.skips.setdefault(skip.id, {})
        for name in names:
            if name in known or len(known) < MAX_NOTES:
                known.setdefault(name, note(line))


def _missing(launch: Launch, line: Line, text: str) -> None:
    if match := _MISSING_LIST.search(text):
        names = [part.strip(" '\"") for part in match[1].split(",")]
    elif match := _MISSING_ONE.search(text) or _UNMAPPED.search(text):
        names = [match[1]]
    else:
        return
    for name in names:
        if len(launch.missing) < MAX_KEPT:
            launch.missing.setdefault(name, note(line))


def _by_trainer(line: Line) -> bool:
    """Whether the process that counts steps wrote it: a sample that a worker prints may look like a step.

    Source: verl-project/verl: verl/trainer/main_ppo.py@1dda039b9c6311889a9c9a26040677e1254814f9, `TaskRunnerV1`.
    """
    return not line.actor or line.actor.startswith(("TaskRunner", "main_task"))


def _verl(launch: Launch, line: Line, text: str) -> None:
    if text.startswith(("Training Progress:", "step:")) and not _by_trainer(line):
        return
    if text.startswith("Training Progress:"):
        if match := _BAR.match(text):
            launch.progress = note(line)
            launch.first_progress = launch.first_progress or launch.progress
            _progress(launch, line, int(match[1]), int(match[2]))
    elif text.startswith("step:"):
        if match := _STEP_LINE.match(text):
            _metrics_line(launch, line, text, int(match[1]))
    elif "Resuming from" in text or "global step to" in text or "Found checkpoint" in text:
        match = _RESUMING.search(text)
        step = (match[1] or match[2]) if match else None
        if step is None and (path := _RESUME_PATH.search(text)):
            step = path[1]
        if step is not None:
            launch.resumed_from, launch.resume_line = int(step), note(line)
    elif "Training from scratch" in text:
        launch.scratch_line = note(line)


def _nemo_rl(launch: Launch, line: Line, text: str) -> None:  # noqa: C901 - one branch for each kind of line
    if line.actor and "successfully loaded checkpoint" not in text:
        return  # steps, results and checks are the driver's; a worker's samples may look like them
    if "= Step " in text and (match := _BANNER.search(text)):
        launch.started, launch.total = int(match[1]), int(match[2])
        launch.progress = note(line)
        launch.first_progress = launch.first_progress or launch.progress
        if launch.first_step is None:
            launch.first_step = launch.started - 1
    elif text.startswith("📊 Training Results") and launch.started is not None:
        _finished(launch, line, launch.started)
    elif "• " in text and launch.started is not None and (match := _RESULT.match(text)):
        value = number(match[2])
        if value is not None:
            add_point(launch.series, f"printed/{match[1]}", launch.started, value, line.raw[:MAX_TEXT], line.number)
    elif "successfully loaded checkpoint" in text and (match := _LOADED.search(text)):
        if int(match[1]) > 0:
            launch.resumed_from, launch.resume_line = int(match[1]), note(line)
    elif text[:1] in "│|" and (match := _ROW.match(text)):
        if len(launch.checks) < MAX_KEPT:
            launch.checks.append(
                Check(passed=match[1] == "PASS", check=match[2][:MAX_TEXT], line=line.number, raw=line.raw[:MAX_TEXT])
            )
    elif "Merged data written" in text and _DUMPED.search(text):
        launch.dumped = note(line)


def _progress(launch: Launch, line: Line, step: int, total: int) -> None:
    launch.total = total
    if launch.first_step is None:
        launch.first_step = step
    elif step > launch.first_step:
        _finished(launch, line, step)


def _finished(launch: Launch, line: Line, step: int) -> None:
    if len(launch.steps) < MAX_STEPS:
        launch.steps.setdefault(step, line.number)
    launch.step = step if launch.step is None else max(launch.step, step)


def _metrics_line(launch: Launch, line: Line, text: str, step: int) -> None:
    launch.progress_line = line.number
    if launch.progress is None:
        _finished(launch, line, step)  # no bar at all: standard error was not kept
    for part in text.split(" - ")[1:]:
        name, _, shown = part.rpartition(":")
        value = number(shown.strip())
        if name and value is not None:
            add_point(launch.series, name, step, value, part[:MAX_TEXT], line.number)
