"""One small function per criterion: is it met, and where was that read? What follows from it never belongs here."""

import math
from collections.abc import Callable, Iterable
from typing import Final, assert_never

import msgspec

from levels.causes import Cause, swallowed
from levels.logs import Launch, Note
from levels.metrics import Series
from levels.model import (
    AdaptersAttached,
    AssertionsPassed,
    Bound,
    Boundary,
    BridgeChecksPassed,
    Criterion,
    ExitZero,
    ImportPath,
    LastStep,
    LearningSignal,
    LogCaptured,
    LogFlag,
    MetricBound,
    MetricsFinite,
    MetricsLogged,
    NoException,
    Process,
    ReachedStage,
    Resumed,
    Suite,
    TreesAsPlanned,
    WeightsImported,
)
from levels.signatures import Knowledge
from levels.subject import PhaseView, Subject
from levels.verdict import Met

_INSTALLED: Final = ("site-packages", "dist-packages", "/3rdparty/Megatron-Bridge-workspace/")
_TOTALS: Final = ("TOTAL_TRAIN_STEPS", "trainer.total_training_steps", "grpo.max_num_steps", "sft.max_num_steps")


class Answer(msgspec.Struct):
    """The state of one criterion, with the lines to show for it."""

    met: Met
    found: str
    source: str
    lines: tuple[Note, ...] = ()
    """Lines of the log that show it; the first is the one to quote."""
    cause: Cause | None = None
    log_name: str | None = None


def check(criterion: Criterion, subject: Subject, knowledge: Knowledge) -> Answer:
    """Whether `criterion` holds for `subject`. Total: every kind, any content."""
    match criterion:
        case ImportPath():
            return _import_path(criterion, subject)
        case TreesAsPlanned():
            return _trees(subject)
        case BridgeChecksPassed():
            return _bridge_checks(subject)
        case Resumed():
            return _resumed(criterion, subject)
        case _:
            return _in_every_phase(subject, lambda phase: _in_phase(criterion, phase, subject, knowledge))


def _in_phase(criterion: Criterion, phase: PhaseView, subject: Subject, knowledge: Knowledge) -> Answer:
    match criterion:
        case LogFlag():
            return _log_flag(criterion, phase)
        case ReachedStage():
            return _stages(criterion, phase)
        case WeightsImported():
            return _weights(criterion, phase)
        case AdaptersAttached():
            return _adapters(phase)
        case LastStep():
            return _last_step(phase)
        case MetricsLogged():
            return _metrics_logged(criterion, phase, subject)
        case MetricsFinite():
            return _metrics_finite(criterion, phase)
        case MetricBound():
            return _metric_bound(criterion, phase)
        case AssertionsPassed():
            return _assertions(phase)
        case LearningSignal():
            return _learning_signal(criterion, phase)
        case NoException():
            return _no_exception(phase, subject, knowledge)
        case ExitZero():
            return _exit_zero(phase)
        case LogCaptured():
            return _log_captured(phase)
        case ImportPath() | TreesAsPlanned() | BridgeChecksPassed() | Resumed():
            return Answer(met=Met.UNVERIFIED, found="asked of a phase, but about the leg", source="")
        case _:
            assert_never(criterion)


_WORST_FIRST: Final = (Met.UNMET, Met.UNVERIFIED, Met.MET, Met.NOT_APPLICABLE)


def _in_every_phase(subject: Subject, answer: Callable[[PhaseView], Answer]) -> Answer:
    answers: list[Answer] = []
    for phase in subject.phases:
        given = answer(phase)
        given.log_name = given.log_name or phase.log_name
        answers.append(given)
    if not answers:
        return Answer(met=Met.UNVERIFIED, found="no phase ran", source="evidence")
    return min(answers, key=lambda item: _WORST_FIRST.index(item.met))


def _at(phase: PhaseView, note: Note | None) -> str:
    return f"{phase.log_name}:{note.line}" if note else phase.log_name


def under(path: str, root: str) -> bool:
    """Whether `path` is `root` or lies below it, by text alone."""
    root = root.rstrip("/")
    return path == root or path.startswith(root + "/")


# ---- which code ran --------------------------------------------------------------------------------------------------


def _import_path(criterion: ImportPath, subject: Subject) -> Answer:
    wrong = _wrong_root_in_log(subject) if criterion.module == "megatron.bridge" else None
    if wrong:
        return wrong
    if subject.evidence is None:
        return _import_in_log(criterion, subject)
    source = f"probe {criterion.process.value}"
    roots = subject.evidence.roots
    root = {"bridge-src": roots.bridge_src, "mcore": roots.mcore}[criterion.root] if roots else None
    imports = [
        item
        for item in subject.evidence.imports
        if item.process is criterion.process and item.module == criterion.module
    ]
    if not imports or not root:
        return Answer(
            met=Met.UNVERIFIED, found=f"no probe of {criterion.module} in the {criterion.process.value}", source=source
        )
    for item in imports:
        if item.file is None:
            return Answer(
                met=Met.UNMET, found=f"import failed: {(item.error or 'no reason given')[-300:]}", source=source
            )
        if ".." in item.file.split("/") or not under(item.file, root):
            return Answer(met=Met.UNMET, found=f"{item.file}, not below {root}", source=source)
    return Answer(met=Met.MET, found=str(imports[0].file), source=source)


def _wrong_root_in_log(subject: Subject) -> Answer | None:
    for phase in subject.phases:
        for root, note in (phase.log.imports if phase.log else {}).items():
            wanted = subject.bridge_root
            wrong = not under(root, wanted) if wanted else any(part in root + "/" for part in _INSTALLED)
            if wrong:
                found = f"megatron.bridge from {root}" + (f", not below {wanted}" if wanted else "")
                return Answer(
                    met=Met.UNMET, found=found, source=_at(phase, note), lines=(note,), log_name=phase.log_name
                )
    return None


def _import_in_log(criterion: ImportPath, subject: Subject) -> Answer:
    if criterion.module == "megatron.bridge":
        for phase in subject.phases:
            for root, note in (phase.log.imports if phase.log else {}).items():
                if criterion.process is Process.DRIVER or note.raw.startswith("("):
                    return Answer(
                        met=Met.MET, found=f"{root}, as the log shows", source=_at(phase, note), lines=(note,)
                    )
    return Answer(met=Met.UNVERIFIED, found="the log does not show it", source="log")


def _trees(subject: Subject) -> Answer:
    evidence, leg = subject.evidence, subject.leg
    if evidence is None or leg is None:
        return Answer(met=Met.UNVERIFIED, found="a log does not show which commits ran", source="log")
    planned = {"bridge": leg.bridge_commit, "mcore": leg.mcore_commit, "suite": leg.suite_pin.commit}
    workarounds = {"bridge": set(), "mcore": set(), "suite": {item.id for item in leg.workarounds}}
    states = {tree.name: tree for tree in evidence.trees}
    for name, commit in planned.items():
        tree = states.get(name)
        if tree is None or tree.commit is None:
            return Answer(met=Met.UNVERIFIED, found=f"no state of {name}", source="evidence.trees")
        if commit is not None and tree.commit != commit:
            return Answer(met=Met.UNMET, found=f"{name} at {tree.commit}, not {commit}", source="evidence.trees")
        if tree.dirty or tree.dirty_count:
            first = tree.dirty[0] if tree.dirty else "files not listed"
            return Answer(met=Met.UNMET, found=f"{name} has local changes: {first}", source="evidence.trees")
        if set(tree.applied) != workarounds[name]:
            applied = ", ".join(sorted(tree.applied)) or "none"
            return Answer(met=Met.UNMET, found=f"{name}: workarounds applied: {applied}", source="evidence.trees")
    return Answer(
        met=Met.MET,
        found=", ".join(f"{n} {t.commit[:9]}" for n, t in states.items() if t.commit),
        source="evidence.trees",
    )


def _bridge_checks(subject: Subject) -> Answer:
    run = subject.evidence.bridge_checks if subject.evidence else None
    if subject.evidence is None:
        said = subject.checks or "skipped"
        states = {"pass": Met.MET, "assumed": Met.MET, "fail": Met.UNMET, "skipped": Met.UNVERIFIED}
        return Answer(met=states[said], found=f"{said}, says the caller", source="--bridge-checks")
    if run is None or run.skipped_because is not None or run.exit_code is None:
        reason = (run.skipped_because if run else None) or "they were not run"
        return Answer(met=Met.UNVERIFIED, found=reason, source="evidence.bridge_checks")
    found = f"{run.passed} passed, {run.failed} failed, {run.errors} errors, exit code {run.exit_code}"
    good = run.exit_code == 0 and run.passed > 0 and run.failed == 0 and run.errors == 0
    return Answer(
        met=Met.MET if good else Met.UNMET, found=found, source="bridge-checks.log", log_name="bridge-checks.log"
    )


# ---- what was built --------------------------------------------------------------------------------------------------


def _log_flag(criterion: LogFlag, phase: PhaseView) -> Answer:
    launch = phase.last
    shown = launch.settings.values.get(criterion.name, ())
    if criterion.name == "policy.megatron_cfg.enabled" and launch.dtensor is not None:
        lines = (launch.dtensor, *(Note(line=item.line, raw=item.raw) for item in shown))
        return Answer(met=Met.UNMET, found="DTensor policy workers", source=_at(phase, launch.dtensor), lines=lines)
    for item in shown:
        if item.value.casefold() != criterion.value.casefold():
            line = Note(line=item.line, raw=item.raw)
            return Answer(met=Met.UNMET, found=f"{criterion.name}={item.value}", source=_at(phase, line), lines=(line,))
    if shown:
        line = Note(line=shown[0].line, raw=shown[0].raw)
        return Answer(met=Met.MET, found=f"{criterion.name}={shown[0].value}", source=_at(phase, line), lines=(line,))
    if not criterion.required:
        return Answer(met=Met.NOT_APPLICABLE, found=f"{criterion.name} is not shown", source=phase.log_name)
    return Answer(met=Met.UNVERIFIED, found=f"the log does not show {criterion.name}", source=phase.log_name)


def _stages(criterion: ReachedStage, phase: PhaseView) -> Answer:
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


def _weights(criterion: WeightsImported, phase: PhaseView) -> Answer:
    launch = phase.last
    for kind, seen, allowed in (
        ("not in the checkpoint", launch.missing, criterion.missing_allowed),
        ("of another shape", launch.mismatched, criterion.mismatch_allowed),
    ):
        for name, note in seen.items():
            if name not in allowed:
                return Answer(met=Met.UNMET, found=f"{name} is {kind}", source=_at(phase, note), lines=(note,))
    if launch.imported is not None:
        done, total = launch.imported
        whole = 0 < total <= done
        found = f"{done} of {total} weights"
        lines = (launch.import_line,) if launch.import_line else ()
        return Answer(
            met=Met.MET if whole else Met.UNMET, found=found, source=_at(phase, launch.import_line), lines=lines
        )
    if "n-cached" in launch.passed:
        return Answer(
            met=Met.MET,
            found="converted earlier (Skipping import)",
            source=f"{phase.log_name}:{launch.passed['n-cached']}",
        )
    return Answer(met=Met.UNVERIFIED, found="the log shows no import of weights", source=phase.log_name)


def _adapters(phase: PhaseView) -> Answer:
    launch = phase.last
    lines = (launch.adapter_line,) if launch.adapter_line else ()
    if launch.adapters is not None:
        met = Met.MET if launch.adapters > 0 else Met.UNMET
        return Answer(
            met=met, found=f"{launch.adapters} adapter parameters", source=_at(phase, launch.adapter_line), lines=lines
        )
    if launch.lora_lines:
        return Answer(met=Met.MET, found=f"{launch.lora_lines} modules adapted", source=phase.log_name)
    for name, off in (("LORA_RANK", "0"), ("policy.megatron_cfg.peft.enabled", "false")):
        for item in launch.settings.values.get(name, ()):
            if item.value.casefold() == off:
                line = Note(line=item.line, raw=item.raw)
                return Answer(met=Met.UNMET, found=f"{name}={item.value}", source=_at(phase, line), lines=(line,))
    return Answer(met=Met.UNVERIFIED, found="the log shows no adapter", source=phase.log_name)


# ---- what was trained ------------------------------------------------------------------------------------------------


def _last_step(phase: PhaseView) -> Answer:
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
    return Answer(met=Met.UNMET, found=found, source=_at(phase, lines[0] if lines else None), lines=lines)


def _total_setting(launch: Launch) -> Iterable[Note]:
    for name in _TOTALS:
        for item in launch.settings.values.get(name, ()):
            return (Note(line=item.line, raw=item.raw),)
    return ()


def _resumed(criterion: Resumed, subject: Subject) -> Answer:
    if not subject.phases:
        return Answer(met=Met.UNVERIFIED, found="no phase ran", source="evidence")
    phase = next((item for item in subject.phases if item.id == criterion.phase), subject.phases[-1])
    launch = phase.last
    if launch.resumed_from is None:
        note = launch.scratch_line or launch.progress
        found = "training from scratch" if launch.scratch_line else "nothing shows a resume"
        return Answer(
            met=Met.UNMET, found=found, source=_at(phase, note), lines=(note,) if note else (), log_name=phase.log_name
        )
    note = launch.resume_line
    lines = (note,) if note else ()
    expected = criterion.from_step or launch.resumed_from
    right = launch.resumed_from == expected and launch.first_step in (expected, None)
    further = launch.step is not None and launch.step > launch.resumed_from
    met = Met.MET if right and further and launch.resumed_from > 0 else Met.UNMET
    found = f"resumed from step {launch.resumed_from}, first bar {launch.first_step}, last step {launch.step}"
    return Answer(met=met, found=found, source=_at(phase, note), lines=lines, log_name=phase.log_name)


# ---- what was measured -----------------------------------------------------------------------------------------------


def _metrics_logged(criterion: MetricsLogged, phase: PhaseView, subject: Subject) -> Answer:
    wanted = phase.wanted_step
    if subject.suite is Suite.NEMO_RL and phase.metrics is None and not phase.metrics_wanted and phase.last.dumped:
        note = phase.last.dumped
        return Answer(
            met=Met.MET, found="metrics.json was written, as the log says", source=_at(phase, note), lines=(note,)
        )
    series = phase.last.series if subject.suite is Suite.VERL else (phase.metrics.series if phase.metrics else {})
    source = phase.log_name if subject.suite is Suite.VERL else f"metrics of {phase.id}"
    for name in criterion.keys:
        known = series.get(name)
        if known is None or wanted is None or known.last_step < wanted:
            problem = phase.metrics.problem if phase.metrics and phase.metrics.problem else ""
            found = problem or (f"{name} ends at step {known.last_step}" if known else f"{name} was not logged")
            return Answer(met=Met.UNMET, found=found, source=source)
    return Answer(met=Met.MET, found=", ".join(criterion.keys) + f" at step {wanted}", source=source)


def _quote(series: Series, text: str) -> Note:
    return Note(line=series.line or 0, raw=text)


def _metrics_finite(criterion: MetricsFinite, phase: PhaseView) -> Answer:
    series = [item for item in phase.series().values() if any(word in item.name.casefold() for word in criterion.words)]
    bad = sorted((item for item in series if not item.finite), key=lambda item: "grad_norm" not in item.name)
    if bad:
        lines = tuple(_quote(item, item.nonfinite_text) for item in bad[:8])
        found = f"{bad[0].name} is not finite from step {bad[0].nonfinite_step} on"
        return Answer(met=Met.UNMET, found=found, source=_at(phase, lines[0]), lines=lines)
    if not series:
        return Answer(met=Met.UNVERIFIED, found="no such metric", source=phase.log_name)
    return Answer(met=Met.MET, found=f"{len(series)} metrics are finite", source=phase.log_name)


def _metric_bound(criterion: MetricBound, phase: PhaseView) -> Answer:
    series = phase.series().get(criterion.metric)
    if series is None:
        return Answer(met=Met.UNVERIFIED, found=f"{criterion.metric} was not logged", source=phase.log_name)
    value = series.value(criterion.aggregate)
    held = {
        Bound.AT_LEAST: value >= criterion.value,
        Bound.ABOVE: value > criterion.value,
        Bound.AT_MOST: value <= criterion.value,
        Bound.BELOW: value < criterion.value,
    }[criterion.bound]
    said = f"{criterion.aggregate.value} of {criterion.metric} is {value:.6g}, asked {criterion.bound.value} {criterion.value}"
    lines = tuple(
        Note(line=item.line, raw=item.raw)
        for item in phase.last.checks
        if not item.passed and criterion.metric in item.check
    ) or (_quote(series, f"{criterion.metric}: {value}"),)
    met = Met.MET if held and math.isfinite(value) else Met.UNMET
    return Answer(met=met, found=said, source=_at(phase, lines[0]), lines=lines)


def _assertions(phase: PhaseView) -> Answer:
    rows = phase.last.checks
    failed = [row for row in rows if not row.passed]
    if failed:
        lines = tuple(Note(line=row.line, raw=row.raw) for row in failed[:8])
        return Answer(
            met=Met.UNMET, found=f"{len(failed)} of {len(rows)} checks failed", source=_at(phase, lines[0]), lines=lines
        )
    if not rows:
        return Answer(met=Met.UNMET, found="no table of checks", source=phase.log_name)
    return Answer(met=Met.MET, found=f"{len(rows)} checks passed", source=f"{phase.log_name}:{rows[0].line}")


def _learning_signal(criterion: LearningSignal, phase: PhaseView) -> Answer:
    series = phase.series()
    for name in criterion.nonzero:
        known = series.get(name)
        if known and known.zero:
            return _still(known, f"{name} is 0 in all {known.count} steps", phase)
    for name in criterion.moving:
        known = series.get(name)
        if known and known.count > 1 and known.constant:
            return _still(known, f"{name} never changes", phase)
    counts = [series[name].count for name in (*criterion.moving, *criterion.nonzero) if name in series]
    if not counts or max(counts) < criterion.min_steps:
        found = f"{max(counts, default=0)} steps measured, {criterion.min_steps} needed"
        return Answer(met=Met.UNMET, found=found, source=phase.log_name)
    shown = [name for name in criterion.moving if name in series]
    if not shown:
        return Answer(met=Met.UNVERIFIED, found="none of " + ", ".join(criterion.moving), source=phase.log_name)
    return Answer(met=Met.MET, found=", ".join(shown) + " move and are finite", source=phase.log_name)


def _still(series: Series, found: str, phase: PhaseView) -> Answer:
    lines = (_quote(series, series.text),)
    if series.line is None:
        printed = [item for item in phase.last.series.values() if item.name.startswith("printed/") and item.zero]
        lines = (*(_quote(item, item.text) for item in printed[:1]), *lines)
    return Answer(met=Met.UNMET, found=found, source=_at(phase, lines[0]), lines=lines)


# ---- how it ended ----------------------------------------------------------------------------------------------------


def _no_exception(phase: PhaseView, subject: Subject, knowledge: Knowledge) -> Answer:
    cause = swallowed(phase.last, knowledge, done_line=phase.done_line, bridge_root=subject.bridge_root)
    if cause is None:
        met = Met.MET if phase.log else Met.UNVERIFIED
        return Answer(met=met, found="none in a Bridge-facing stage", source=phase.log_name)
    line = Note(line=cause.error.number, raw=cause.error.text)
    return Answer(met=Met.UNMET, found=cause.error.text, source=_at(phase, line), lines=(line,), cause=cause)


def _exit_zero(phase: PhaseView) -> Answer:
    if phase.timed_out:
        return Answer(met=Met.UNMET, found="stopped at the time limit", source="exit code")
    if phase.signal is not None:
        return Answer(met=Met.UNMET, found=f"ended by signal {phase.signal}", source="exit code")
    if phase.exit_code is None:
        return Answer(met=Met.UNVERIFIED, found="no exit code", source="exit code")
    return Answer(
        met=Met.MET if phase.exit_code == 0 else Met.UNMET, found=f"exit code {phase.exit_code}", source="exit code"
    )


def _log_captured(phase: PhaseView) -> Answer:
    if phase.log is None or phase.log.tail.size_bytes == 0:
        return Answer(met=Met.UNMET, found=phase.log_problem or "the log is empty", source=phase.log_name)
    if phase.log_problem:
        return Answer(met=Met.UNMET, found=phase.log_problem, source=phase.log_name)
    return Answer(met=Met.MET, found=f"{phase.log.tail.size_bytes} bytes", source=phase.log_name)
