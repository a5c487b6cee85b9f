"""Criteria about what was left out on the way, and about what was shown to run. What follows never belongs here."""

from typing import Final

from levels.answers import Answer, at
from levels.log_stages import Launch, Note
from levels.model import Boundary, NothingSkipped, SkipWhen, StagesShown, Suite
from levels.skips import Skip, reader
from levels.subject import PhaseView
from levels.verdict import Met

MAX_SHOWN: Final = 3
_AFTER_THE_END: Final = frozenset({Boundary.ROLLOUT, Boundary.REFIT, Boundary.REWARD})
"""What is said about these after the last step comes from programs that are being shut down."""


def nothing_skipped(criterion: NothingSkipped, phase: PhaseView | None, suite: Suite) -> Answer:
    """No skip of the criterion's kinds stands in the log; the earliest one is told."""
    if phase is None or phase.log is None:
        return Answer(met=Met.UNVERIFIED, found="no log", source=phase.log_name if phase else "evidence")
    found = [item for item in skipped(phase, suite) if item[0].when in criterion.when]
    if not found:
        return Answer(met=Met.MET, found="nothing", source=phase.log_name, log_name=phase.log_name)
    skip, names, notes = min(found, key=lambda item: item[2][0].line)
    others = f"; {len(found) - 1} other kinds" if len(found) > 1 else ""
    return Answer(
        met=Met.UNMET,
        found=f"{skip.says}{_listed(names)} ({skip.id}){others}",
        source=at(phase, notes[0]),
        lines=notes,
        log_name=phase.log_name,
        skip=skip,
    )


def skipped(phase: PhaseView, suite: Suite) -> list[tuple[Skip, tuple[str, ...], tuple[Note, ...]]]:
    """What the last start left out: the skip, its names and its lines, in the order of skips.yaml."""
    found = []
    launches = {id(launch): launch for launch in (importer(phase), phase.last)}.values()
    for name, skip in reader(suite).by_id.items():
        seen = {
            left_out: note
            for launch in launches
            for left_out, note in launch.skips.get(name, {}).items()
            if launch is phase.last or skip.boundary is Boundary.HF_IMPORT
            if not _too_late(skip, note, phase)
        }
        if seen:
            lines = tuple(sorted(dict.fromkeys(seen.values()), key=lambda note: note.line))
            found.append((skip, tuple(left_out for left_out in seen if left_out), lines))
    return found


def stated(phase: PhaseView, suite: Suite) -> tuple[str, ...]:
    """A sentence for each thing left out that takes no Pass away but must be said."""
    return tuple(
        f"{skip.says}{_listed(names)} ({phase.log_name}:{notes[0].line})"
        for skip, names, notes in skipped(phase, suite)
        if skip.when is SkipWhen.STATED
    )


def importer(phase: PhaseView) -> Launch:
    """The start whose weights the last one uses: an earlier one where the last found them converted."""
    last = phase.last
    if "n-cached" not in last.passed or last.imported is not None or phase.log is None:
        return last
    return next((item for item in reversed(phase.log.launches) if item.imported is not None), last)


def _too_late(skip: Skip, note: Note, phase: PhaseView) -> bool:
    done = phase.done_line
    return done is not None and note.line > done and skip.boundary in _AFTER_THE_END


def _listed(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - MAX_SHOWN} more" if len(names) > MAX_SHOWN else ""
    return ": " + ", ".join(names[:MAX_SHOWN]) + more


def stages_shown(criterion: StagesShown, phase: PhaseView) -> Answer:
    """Each marker was seen, and none of those that exclude it."""
    passed = phase.last.passed
    for name in criterion.hidden:
        if name in passed:
            source = f"{phase.log_name}:{passed[name]}"
            return Answer(met=Met.UNMET, found=f"{name} is shown", source=source)
    absent = [name for name in criterion.shown if name not in passed]
    if absent:
        return Answer(met=Met.UNMET, found="nothing shows " + ", ".join(absent), source=phase.log_name)
    first = min(criterion.shown, key=lambda name: passed[name])
    return Answer(met=Met.MET, found=", ".join(criterion.shown), source=f"{phase.log_name}:{passed[first]}")
