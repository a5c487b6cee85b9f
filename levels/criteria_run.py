"""Criteria about one run: what was built, trained and how it ended. What follows from them never belongs here."""

from collections.abc import Iterable
from typing import Final

from levels.answers import Answer, at
from levels.causes import swallowed
from levels.log_stages import Launch, Note
from levels.model import Boundary, LogFlag, ReachedStage, Resumed, WeightsImported
from levels.signatures import Knowledge
from levels.subject import PhaseView, Subject
from levels.verdict import Met

_TOTALS: Final = ("TOTAL_TRAIN_STEPS", "trainer.total_training_steps", "grpo.max_num_steps", "sft.max_num_steps")


def log_flag(criterion: LogFlag, phase: PhaseView) -> Answer:
    """The setting is shown with the value, and with no other."""
    launch = phase.last
    shown = launch.settings.values.get(criterion.name, ())
    if criterion.name == "policy.megatron_cfg.enabled" and launch.dtensor is not None:
        lines = (launch.dtensor, *(Note(line=item.line, raw=item.raw) for item in shown))
        return Answer(met=Met.UNMET, found="DTensor policy workers", source=at(phase, launch.dtensor), lines=lines)
    for item in shown:
        if item.value.casefold() != criterion.value.casefold():
            line = Note(line=item.line, raw=item.raw)
            return Answer(met=Met.UNMET, found=f"{criterion.name}={item.value}", source=at(phase, line), lines=(line,))
    if shown:
        line = Note(line=shown[0].line, raw=shown[0].raw)
        return Answer(met=Met.MET, found=f"{criterion.name}={shown[0].value}", source=at(phase, line), lines=(line,))
    if not criterion.required:
        return Answer(met=Met.NOT_APPLICABLE, found=f"{criterion.name} is not shown", source=phase.log_name)
    return Answer(met=Met.UNVERIFIED, found=f"the log does not show {criterion.name}", source=phase.log_name)


def stages(criterion: ReachedStage, phase: PhaseView) -> Answer:
    """Each stage was passed."""
    launches = phase.log.launches if phase.log else []
    for stage in criterion.stages:
        if not any(_passed(launch, stage) for launch in launches):
            return Answer(met=Met.UNMET, found=f"nothing shows that {stage.value} was passed", source=phase.log_name)
    return Answer(met=Met.MET, found="passed: " + ", ".join(criterion.stages), source=phase.log_name)


def _passed(launch: Launch, stage: Boundary) -> bool:
    if stage is Boundary.CHECKPOINT_SAVE:
        begun = max(launch.passed.get("v-saving", 0), launch.passed.get("n-save", 0))
        return bool(launch.saved) or 0 < begun < launch.progress_line
    if stage is Boundary.CHECKPOINT_LOAD:
        return launch.resumed_from is not None
    return launch.step is not None


def weights(criterion: WeightsImported, phase: PhaseView) -> Answer:
    """Every mapped weight was found and copied, by the last start that read them."""
    launch = phase.last
    if "n-cached" in launch.passed and launch.imported is None and phase.log is not None:
        launch = next((item for item in reversed(phase.log.launches) if item.imported is not None), launch)
    for kind, seen, allowed in (
        ("not mapped, or not in the checkpoint", launch.missing, criterion.missing_allowed),
        ("of another shape", launch.mismatched, criterion.mismatch_allowed),
    ):
        for name, note in seen.items():
            if name not in allowed:
                return Answer(met=Met.UNMET, found=f"{name} is {kind}", source=at(phase, note), lines=(note,))
    if launch.imported is not None:
        done, total = launch.imported
        whole = 0 < total <= done
        found = f"{done} of {total} weights"
        lines = (launch.import_line,) if launch.import_line else ()
        return Answer(
            met=Met.MET if whole else Met.UNMET, found=found, source=at(phase, launch.import_line), lines=lines
        )
    if "n-cached" in launch.passed:
        return Answer(
            met=Met.MET,
            found="converted earlier (Skipping import)",
            source=f"{phase.log_name}:{launch.passed['n-cached']}",
        )
    return Answer(met=Met.UNVERIFIED, found="the log shows no import of weights", source=phase.log_name)


def adapters(phase: PhaseView) -> Answer:
    """Adapters hold parameters."""
    launch = phase.last
    lines = (launch.adapter_line,) if launch.adapter_line else ()
    if launch.adapters is not None:
        met = Met.MET if launch.adapters > 0 else Met.UNMET
        return Answer(
            met=met, found=f"{launch.adapters} adapter parameters", source=at(phase, launch.adapter_line), lines=lines
        )
    if launch.lora_lines:
        return Answer(met=Met.MET, found=f"{launch.lora_lines} modules adapted", source=phase.log_name)
    for name, off in (("LORA_RANK", "0"), ("policy.megatron_cfg.peft.enabled", "false")):
        for item in launch.settings.values.get(name, ()):
            if item.value.casefold() == off:
                line = Note(line=item.line, raw=item.raw)
                return Answer(met=Met.UNMET, found=f"{name}={item.value}", source=at(phase, line), lines=(line,))
    return Answer(met=Met.UNVERIFIED, found="the log shows no adapter", source=phase.log_name)


def last_step(phase: PhaseView) -> Answer:
    """The wanted step was finished."""
    launch, wanted = phase.last, phase.wanted_step
    lines = (launch.progress,) if launch.progress else ()
    if wanted is None:
        return Answer(met=Met.UNMET, found="no training step", source=phase.log_name)
    found = f"step {launch.step if launch.step is not None else 'none'} of {wanted}"
    if phase.done_line is not None:
        return Answer(met=Met.MET, found=found, source=f"{phase.log_name}:{phase.done_line}", lines=lines)
    if launch.total is not None and launch.step == launch.total < wanted:
        found = f"the run asked for {launch.total} steps, not {wanted}"
        lines = (*_total_setting(launch), *lines)
    return Answer(met=Met.UNMET, found=found, source=at(phase, lines[0] if lines else None), lines=lines)


def _total_setting(launch: Launch) -> Iterable[Note]:
    for name in _TOTALS:
        for item in launch.settings.values.get(name, ()):
            return (Note(line=item.line, raw=item.raw),)
    return ()


def resumed(criterion: Resumed, subject: Subject) -> Answer:
    """The phase continued from a checkpoint and trained on."""
    trained = [item for item in subject.phases if not item.helper]
    if not trained:
        return Answer(met=Met.UNVERIFIED, found="no phase ran", source="evidence")
    phase = next((item for item in trained if item.id == criterion.phase), trained[-1])
    launch = phase.last
    if launch.resumed_from is None:
        note = launch.scratch_line or launch.first_progress
        found = "training from scratch" if launch.scratch_line else "nothing shows a resume"
        return Answer(
            met=Met.UNMET, found=found, source=at(phase, note), lines=(note,) if note else (), log_name=phase.log_name
        )
    note = launch.resume_line
    lines = (note,) if note else ()
    expected = criterion.from_step or launch.resumed_from
    right = launch.resumed_from == expected and launch.first_step in (expected, None)
    further = launch.step is not None and launch.step > launch.resumed_from
    met = Met.MET if right and further and launch.resumed_from > 0 else Met.UNMET
    found = f"resumed from step {launch.resumed_from}, first bar {launch.first_step}, last step {launch.step}"
    return Answer(met=met, found=found, source=at(phase, note), lines=lines, log_name=phase.log_name)


def no_exception(phase: PhaseView, subject: Subject, knowledge: Knowledge) -> Answer:
    """Nothing was swallowed in a Bridge-facing stage."""
    if phase.helper:
        return Answer(met=Met.NOT_APPLICABLE, found="it builds and trains nothing", source=phase.log_name)
    cause = swallowed(phase.last, knowledge, done_line=phase.done_line, bridge_root=subject.bridge_root)
    if cause is None:
        met = Met.MET if phase.log else Met.UNVERIFIED
        return Answer(met=met, found="none in a Bridge-facing stage", source=phase.log_name)
    line = Note(line=cause.error.number, raw=cause.error.text)
    return Answer(met=Met.UNMET, found=cause.error.text, source=at(phase, line), lines=(line,), cause=cause)


def exit_zero(phase: PhaseView) -> Answer:
    """Exit code 0, inside the time limit."""
    if phase.timed_out:
        return Answer(met=Met.UNMET, found="stopped at the time limit", source="exit code")
    if phase.signal is not None:
        return Answer(met=Met.UNMET, found=f"ended by signal {phase.signal}", source="exit code")
    if phase.exit_code is None:
        return Answer(met=Met.UNVERIFIED, found="no exit code", source="exit code")
    if phase.exit_code and phase.checks_here:
        found = f"the suite's own check gave no table (exit code {phase.exit_code}): evaluated here"
        return Answer(met=Met.NOT_APPLICABLE, found=found, source=phase.log_name)
    return Answer(
        met=Met.MET if phase.exit_code == 0 else Met.UNMET, found=f"exit code {phase.exit_code}", source="exit code"
    )


def log_captured(phase: PhaseView) -> Answer:
    """A log, whole and not empty; only a helper may say nothing."""
    if phase.log is None or (phase.log.tail.size_bytes == 0 and not phase.helper):
        return Answer(met=Met.UNMET, found=phase.log_problem or "the log is empty", source=phase.log_name)
    if phase.log_problem:
        return Answer(met=Met.UNMET, found=phase.log_problem, source=phase.log_name)
    return Answer(met=Met.MET, found=f"{phase.log.tail.size_bytes} bytes", source=phase.log_name)
