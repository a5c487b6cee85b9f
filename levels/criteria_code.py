"""Criteria about which code ran: import paths, trees, Bridge tests. What follows from them never belongs here."""

import re
from pathlib import PurePosixPath
from typing import Final

from levels.answers import Answer, at, under
from levels.evidence import MAX_FAILURES, CheckFailure, ChecksRun, Roots, TreeState
from levels.log_stages import Note
from levels.model import CheckGroup, ImportPath, Process
from levels.subject import Subject
from levels.verdict import Met

MAX_NAMED: Final = 3
_MISSING_MODULE: Final = re.compile(r"No module named '([A-Za-z0-9_]{1,100})")
_INSTALLED: Final = ("site-packages", "dist-packages", "/3rdparty/Megatron-Bridge-workspace/")


def import_path(criterion: ImportPath, subject: Subject) -> Answer:
    """`module` came from below its root, in the probe and in the log."""
    wrong = _wrong_root_in_log(subject) if criterion.module == "megatron.bridge" else _wrong_core_in_log(subject)
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
                met=Met.UNMET,
                found=f"import failed: {(item.error or 'no reason given').partition(chr(10))[0][:300]}",
                source=source,
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
                    met=Met.UNMET, found=found, source=at(phase, note), lines=(note,), log_name=phase.log_name
                )
    return None


def _wrong_core_in_log(subject: Subject) -> Answer | None:
    """Another `megatron.core` than the probes found: what the wrapper or an image put before the checkout's."""
    wanted = subject.evidence.roots.mcore if subject.evidence and subject.evidence.roots else None
    for phase in subject.phases if wanted else ():
        for root, note in (phase.log.core_imports if phase.log else {}).items():
            if wanted and not under(root, wanted):
                found = f"megatron.core from {root}, not below {wanted}"
                return Answer(
                    met=Met.UNMET, found=found, source=at(phase, note), lines=(note,), log_name=phase.log_name
                )
    return None


def _import_in_log(criterion: ImportPath, subject: Subject) -> Answer:
    if criterion.module == "megatron.bridge":
        for phase in subject.phases:
            for root, note in (phase.log.imports if phase.log else {}).items():
                if criterion.process is Process.DRIVER or note.raw.startswith("("):
                    return Answer(met=Met.MET, found=f"{root}, as the log shows", source=at(phase, note), lines=(note,))
    return Answer(met=Met.UNVERIFIED, found="the log does not show it", source="log")


def trees(subject: Subject) -> Answer:
    """The three trees were at the planned commits and clean, but for the declared workarounds."""
    evidence, leg = subject.evidence, subject.leg
    if evidence is None or leg is None:
        return Answer(met=Met.UNVERIFIED, found="a log does not show which commits ran", source="log")
    planned = {"bridge": leg.bridge_commit, "mcore": leg.mcore_commit, "suite": leg.suite_pin.commit}
    workarounds = {"bridge": set(), "mcore": set(), "suite": {item.id for item in leg.workarounds}}
    states: dict[str, TreeState] = {tree.name: tree for tree in evidence.trees}
    for name, commit in planned.items():
        tree = states.get(name)
        if tree is None or tree.commit is None:
            return Answer(met=Met.UNVERIFIED, found=f"no state of {name}", source="evidence.trees")
        if subject.local and tree.expected is None:
            continue
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


def bridge_checks(subject: Subject) -> Answer:
    """The focused Bridge tests ran and passed, and so did those that the change calls for."""
    if subject.evidence is None:
        said = subject.checks or "skipped"
        states = {"pass": Met.MET, "assumed": Met.MET, "fail": Met.UNMET, "skipped": Met.UNVERIFIED}
        return Answer(met=states[said], found=f"{said}, says the caller", source="--bridge-checks")
    focused = of_run(subject.evidence.bridge_checks, "bridge-checks.log", subject.evidence.roots)
    groups = check_groups(subject)
    decisive = [focused, *(answer for group, answer in groups if group.needed or answer.met is Met.UNMET)]
    worst = min(decisive, key=lambda answer: (Met.UNMET, Met.UNVERIFIED, Met.MET, Met.NOT_APPLICABLE).index(answer.met))
    return focused if worst.met is focused.met else worst


def suite_checks(subject: Subject) -> Answer:
    """The suite's own unit tests of the surface ran and passed, by the same rule as Bridge's."""
    if subject.evidence is None or subject.leg is None:
        return Answer(met=Met.UNVERIFIED, found="a log does not show them", source="log")
    if not subject.leg.suite_tests:
        return Answer(met=Met.NOT_APPLICABLE, found="the level names none", source="plan")
    return of_run(subject.evidence.suite_checks, "suite-checks.log", subject.evidence.roots)


def check_groups(subject: Subject) -> tuple[tuple[CheckGroup, Answer], ...]:
    """Each group of tests that the change calls for, with what became of it."""
    if subject.leg is None:
        return ()
    evidence = subject.evidence
    runs = {item.id: item.run for item in evidence.check_groups} if evidence else {}
    roots = evidence.roots if evidence else None
    return tuple(
        (group, of_run(runs.get(group.id), f"bridge-checks-{group.id}.log", roots))
        for group in subject.leg.check_groups
    )


def of_run(run: ChecksRun | None, log: str, roots: Roots | None) -> Answer:
    """Whether the tests of one call ran and passed; a test that fails on the merge base too is not the change's."""
    if run is None or run.skipped_because is not None or run.exit_code is None:
        reason = (run.skipped_because if run else None) or "they were not run"
        return Answer(met=Met.UNVERIFIED, found=reason, source="evidence.bridge_checks")
    found = f"{run.passed} passed, {run.failed} failed, {run.errors} errors, exit code {run.exit_code}"
    if run.exit_code == 0 and run.passed > 0 and run.failed == 0 and run.errors == 0:
        return Answer(met=Met.MET, found=found, source=log, log_name=log)
    if not run.failed and not run.errors:
        return Answer(met=Met.UNVERIFIED, found=f"pytest could not run them: {found}", source=log)
    named = "; ".join(f"{item.test}: {item.error}" for item in run.failures[:MAX_NAMED])
    if _all_elsewhere(run, roots):
        return Answer(met=Met.UNVERIFIED, found=f"{found}, none raised in the checkout: {named}", source=log)
    before = set(run.base.failed) if run.base is not None and run.base.problem is None else set()
    new = [item for item in run.failures if item.test not in before]
    if not new and len(run.failures) == run.failed + run.errors:
        return Answer(met=Met.UNVERIFIED, found=f"{found}; all of them fail on the merge base too: {named}", source=log)
    shown = tuple(Note(line=0, raw=f"{item.test}: {item.error}") for item in (new or run.failures)[:MAX_NAMED])
    if run.base is not None:
        said = run.base.problem or f"{len(new)} of them pass on the merge base {run.base.commit[:9]}, or are not there"
        found = f"{found}; {said}"
    return Answer(met=Met.UNMET, found=found, source=log, log_name=log, lines=shown)


def _all_elsewhere(run: ChecksRun, roots: Roots | None) -> bool:
    """Whether every failure was raised outside the checkout: a missing driver or package, no fault of the change.

    A relative path is the checkout's own, unless it leads out of it; so is an absolute one below its root.
    """
    if len(run.failures) < min(run.failed + run.errors, MAX_FAILURES):
        return False
    return roots is not None and all(_elsewhere(item, roots) for item in run.failures)


def _elsewhere(item: CheckFailure, roots: Roots) -> bool:
    module = _MISSING_MODULE.search(item.error)
    if module:
        return module[1] not in {"megatron", "tests"}
    if item.file is None:
        return False
    path = PurePosixPath(item.file)
    if not path.is_absolute():
        return path.parts[:1] == ("..",)
    return not {PurePosixPath(roots.bridge_src).parent, PurePosixPath(roots.mcore)} & set(path.parents)
