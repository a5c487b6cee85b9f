"""Criteria about metrics. Thresholds never belong here (they are YAML)."""

import math
from collections.abc import Mapping

from levels.answers import Answer, at
from levels.assertions import Expression, Unevaluated
from levels.learning import problem, too_short
from levels.log_stages import Note
from levels.metrics import Series
from levels.model import Bound, LearningSignal, MetricBound, MetricsFinite, MetricsLogged, Suite, TransferTimings
from levels.subject import PhaseView, Subject
from levels.verdict import Met


def metrics_logged(criterion: MetricsLogged, phase: PhaseView, subject: Subject) -> Answer:
    """Each metric is there at the last step."""
    wanted = phase.wanted_step
    if subject.suite is Suite.NEMO_RL and phase.metrics is None and not phase.metrics_wanted and phase.last.dumped:
        note = phase.last.dumped
        return Answer(
            met=Met.MET, found="metrics.json was written, as the log says", source=at(phase, note), lines=(note,)
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


def metrics_finite(criterion: MetricsFinite, phase: PhaseView) -> Answer:
    """No NaN and no infinity."""
    series = [item for item in phase.series().values() if any(word in item.name.casefold() for word in criterion.words)]
    bad = sorted((item for item in series if not item.finite), key=lambda item: "grad_norm" not in item.name)
    if bad:
        lines = tuple(_quote(item, item.nonfinite_text) for item in bad[:8])
        found = f"{bad[0].name} is not finite from step {bad[0].nonfinite_step} on"
        return Answer(met=Met.UNMET, found=found, source=at(phase, lines[0]), lines=lines)
    if not series:
        return Answer(met=Met.UNVERIFIED, found="no such metric", source=phase.log_name)
    return Answer(met=Met.MET, found=f"{len(series)} metrics are finite", source=phase.log_name)


def metric_bound(criterion: MetricBound, phase: PhaseView) -> Answer:
    """The aggregate keeps the bound."""
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
    asked = f"asked {criterion.bound.value} {criterion.value}"
    said = f"{criterion.aggregate.value} of {criterion.metric} is {value:.6g}, {asked}"
    lines = tuple(
        Note(line=item.line, raw=item.raw)
        for item in phase.last.checks
        if not item.passed and criterion.metric in item.check
    ) or (_quote(series, f"{criterion.metric}: {value}"),)
    met = Met.MET if held and math.isfinite(value) else Met.UNMET
    return Answer(met=met, found=said, source=at(phase, lines[0]), lines=lines)


def assertions(phase: PhaseView) -> Answer:
    """No row of the suite's own table failed, and every expression of the phase holds for its metrics.

    The expressions are evaluated here too: another revision's check may take other arguments and check nothing.
    """
    rows = phase.last.checks
    failed = [row for row in rows if not row.passed]
    if failed:
        lines = tuple(Note(line=row.line, raw=row.raw) for row in failed[:8])
        return Answer(
            met=Met.UNMET, found=f"{len(failed)} of {len(rows)} checks failed", source=at(phase, lines[0]), lines=lines
        )
    if phase.assertions:
        return _evaluated(phase)
    if not rows:
        return Answer(met=Met.UNMET, found="no table of checks", source=phase.log_name)
    return Answer(met=Met.MET, found=f"{len(rows)} checks passed", source=f"{phase.log_name}:{rows[0].line}")


def _evaluated(phase: PhaseView) -> Answer:
    source = f"metrics of {phase.id}"
    if phase.metrics is None or phase.metrics.problem:
        found = (phase.metrics.problem if phase.metrics else None) or "no metrics file"
        return Answer(met=Met.UNMET, found=f"{len(phase.assertions)} checks, {found}", source=source)
    data = {name: series.points for name, series in phase.metrics.series.items() if series.whole}
    for text in phase.assertions:
        try:
            held, value = Expression(text).evaluate(data)
        except Unevaluated as error:
            return Answer(met=Met.UNMET, found=f"{text}: {error}", source=source)
        if not held:
            return Answer(met=Met.UNMET, found=f"{text} does not hold: {value:.6g}", source=source)
    shown = f", {len(phase.last.checks)} of them in the suite's own table" if phase.last.checks else ""
    return Answer(met=Met.MET, found=f"{len(phase.assertions)} checks hold{shown}", source=source)


def learning_signal(criterion: LearningSignal, phase: PhaseView) -> Answer:
    """Nothing speaks against learning by the rule of levels/learning.py; one series is compared with its start."""
    series = phase.series()
    if found := problem(criterion, series):
        return _still(found.series, found.found, phase)
    return _moved(criterion, phase, series)


def _moved(criterion: LearningSignal, phase: PhaseView, series: Mapping[str, Series]) -> Answer:
    counts = [series[name].count for name in (*criterion.moving, *criterion.nonzero) if name in series]
    if not counts or max(counts) < criterion.min_steps:
        found = f"{max(counts, default=0)} steps measured, {criterion.min_steps} needed"
        return Answer(met=Met.UNMET, found=found, source=phase.log_name)
    if (scarce := _scarce(criterion, phase, series)) is not None:
        return scarce
    shown = [name for name in criterion.moving if name in series]
    found = ", ".join(shown) + " move and are finite"
    if too_short(criterion, series):
        found += "; too few steps to compare the first and last third"
    if not criterion.trend:
        return Answer(met=Met.MET, found=found, source=phase.log_name)
    compared = _trend(criterion.trend, series)
    if compared is None:
        found = "nothing to compare with the start: " + ", ".join(criterion.trend)
        return Answer(met=Met.UNVERIFIED, found=found, source=phase.log_name)
    return Answer(met=Met.MET, found=f"{found}; {compared}", source=phase.log_name)


def _scarce(criterion: LearningSignal, phase: PhaseView, series: Mapping[str, Series]) -> Answer | None:
    for name in criterion.logged:
        if name not in series:
            return Answer(met=Met.UNVERIFIED, found=f"{name} was not logged", source=phase.log_name)
        if series[name].count < criterion.min_steps:
            found = f"{name} was logged at {series[name].count} steps, {criterion.min_steps} needed"
            return Answer(met=Met.UNMET, found=found, source=phase.log_name)
    if not any(name in series for name in criterion.moving):
        return Answer(met=Met.UNVERIFIED, found="none of " + ", ".join(criterion.moving), source=phase.log_name)
    return None


def _trend(beginnings: tuple[str, ...], series: Mapping[str, Series]) -> str | None:
    """Start and end of the first metric that was logged at two steps; null when there is none."""
    for beginning in beginnings:
        for name, known in sorted(series.items()):
            if name.startswith(beginning) and known.last_step > known.first_step:
                points = f"{known.first:.6g} at step {known.first_step}, {known.last:.6g} at step {known.last_step}"
                return f"{name}: {points} ({known.last - known.first:+.6g})"
    return None


def _still(series: Series, found: str, phase: PhaseView) -> Answer:
    lines: tuple[Note, ...] = (_quote(series, series.text if series.finite else series.nonfinite_text),)
    if series.line is None:
        printed = [item for item in phase.last.series.values() if item.name.startswith("printed/") and item.zero]
        lines = (*(_quote(item, item.text) for item in printed[:1]), *lines)
    return Answer(met=Met.UNMET, found=found, source=at(phase, lines[0]), lines=lines)


def transfer_timings(criterion: TransferTimings, phase: PhaseView) -> Answer:
    """The seconds of the last step, and which part of the transfer took longest."""
    series = phase.series()
    total, transfer = series.get(criterion.total), series.get(criterion.transfer)
    source = f"metrics of {phase.id}"
    if total is None or transfer is None:
        missing = criterion.total if total is None else criterion.transfer
        return Answer(met=Met.NOT_APPLICABLE, found=f"weight transfer: {missing} was not logged", source=source)
    found = (
        f"weight transfer at step {total.last_step}: {total.last:.3g} s in all, {transfer.last:.3g} s of it transfer"
    )
    if not all(math.isfinite(item.last) for item in (total, transfer)):
        return Answer(met=Met.NOT_APPLICABLE, found=found, source=source)
    return Answer(met=Met.MET, found=f"{found}; {_slowest(criterion, series, transfer.last)}", source=source)


def _slowest(criterion: TransferTimings, series: Mapping[str, Series], transfer: float) -> str:
    names = (*criterion.broadcast, *criterion.load)
    if not names or any(name not in series for name in names):
        return "export, broadcast and load are not logged apart, so no boundary can be named"
    parts = {
        "broadcast": sum(series[name].last for name in criterion.broadcast),
        "load": sum(series[name].last for name in criterion.load),
    }
    parts = {"export and encoding": max(0.0, transfer - sum(parts.values())), **parts}
    said = ", ".join(f"{name} {seconds:.3g} s" for name, seconds in parts.items())
    slowest = max(parts, key=lambda name: parts[name])
    if slowest == "broadcast":
        return f"{said}: the broadcast takes longest, not the preparation of the weights"
    return f"{said}: {slowest} takes longest: a bottleneck of weight preparation, not of the broadcast"
