"""The learning-signal level of verl with whole evidence and a log of twenty steps."""

import random

from levels.evidence import Evidence
from levels.judge import LegLogs
from levels.model import Suite
from levels.plan import Choice, Leg, Selection, build_legs
from tests.levels.judging import CATALOGUE, COMMIT, CORRELATION, evidence, facts, text
from tests.levels.series import healthy


def learning_leg() -> tuple[Leg, Evidence, LegLogs]:
    level = CATALOGUE.level(Suite.VERL, 5)
    choice = Choice(suite=Suite.VERL, level=5, title=level.title, reasons=(), gpus=level.gpus, minutes=level.minutes)
    (leg,) = build_legs(
        CATALOGUE,
        Selection(chosen=(choice,), skipped=()),
        bridge_repository="https://example.org/bridge.git",
        bridge_commit=COMMIT,
        mcore_commit=COMMIT[::-1],
    )
    return leg, evidence(leg), LegLogs(logs={"train": facts(log(), Suite.VERL)})


def log() -> str:
    """The short passing log, with twenty steps of a healthy run in place of its one."""
    before, _, rest = text("v-pass-lora-ddp-l0").partition("Training Progress:")
    end = next(line for line in rest.splitlines() if "Final validation metrics" in line)
    run = healthy(random.Random(7))  # noqa: S311 - series, not keys
    lines = [f"{before}Training Progress:   0%|          | 0/20 [00:00<?, ?it/s]"]
    for index in range(20):
        step = index + 1
        own = " - ".join(f"{name}:{values[index]}" for name, values in run.items())
        more = f"critic/vf_loss:{1 / step} - critic/grad_norm:{2 + 1 / step} - critic/lr:2e-05"
        more += f" - critic/rewards/mean:0.{step:02}"
        numbers = CORRELATION.replace("global_step:1", f"global_step:{step}")
        lines += [
            f"(TaskRunnerV1 pid=47271) step:{step} - {own} - {more}{numbers}",
            f"Training Progress: {5 * step:3d}%|##########| {step}/20 [00:01<00:00]",
        ]
    return "\n".join([*lines, end, ""])
