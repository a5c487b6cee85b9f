"""Puts the exact commits in place and records their state. Never resets a dirty tree, never keeps a credential.

A person's trees are used where they are, except a suite that needs a declared workaround: that one is copied.
"""

import re
import shutil
from pathlib import Path
from typing import Final

from action import gitrepo, workarounds
from action.collect import file_ref
from action.context import MCORE_PATH, Job, Trees
from action.gitrepo import GitError
from action.provenance import tree_state
from action.site import mirror_of
from action.store import Recorder
from levels.errors import EnvironmentBlocked
from levels.evidence import FileRef, Roots, TreeState
from levels.model import Boundary

DIFF: Final = "workarounds.diff"
MAX_UNTRACKED: Final = 1_000
_SECRETS_IN_CONFIG: Final = re.compile(r"extraheader|helper|insteadof|://[^/\s]*@", re.IGNORECASE)


def checkout(job: Job, recorder: Recorder) -> None:
    """Record three trees at their commits, and the roots that imports must lie under.

    Raises:
        EnvironmentBlocked: when a commit cannot be had, a tree is not what the plan says, or a workaround does not fit.

    """
    try:
        trees, states = _exact(job) if job.in_place is None else _in_place(job)
    except GitError as error:
        raise EnvironmentBlocked(
            Boundary.ENVIRONMENT,
            doing="checking out the source trees",
            found=str(error),
            expected="the commits that the plan names",
            next_step="see whether the repository can be reached and has the commit; correct `mirrors` of the site",
        ) from error
    recorder.update(
        trees=states,
        roots=Roots(bridge_src=str(trees.bridge_src.resolve()), mcore=str(trees.mcore.resolve())),
    )
    _check_whole(trees)


def home_of(job: Job) -> Path:
    """Where git keeps its settings for this leg."""
    return job.work / "git-home"


def _exact(job: Job) -> tuple[Trees, tuple[TreeState, ...]]:
    leg, trees, home = job.leg, job.planned_trees, home_of(job)
    take(job, trees.bridge, leg.bridge_repository, leg.bridge_commit)
    mcore = gitrepo.gitlink(trees.bridge, home, MCORE_PATH)
    _check_gitlink(mcore, leg.mcore_commit)
    if mcore is not None:
        take(job, trees.mcore, leg.mcore_repository, mcore)
    take(job, trees.suite, leg.suite_pin.repository, leg.suite_pin.commit)
    states = (
        tree_state("bridge", trees.bridge, home, expected=leg.bridge_commit),
        tree_state("mcore", trees.mcore, home, expected=mcore),
        _worked_around(job, trees.suite, expected=leg.suite_pin.commit),
    )
    return trees, states


def _check_gitlink(found: str | None, planned: str | None) -> None:
    if found is None or planned not in (None, found):
        raise EnvironmentBlocked(
            Boundary.ENVIRONMENT,
            doing=f"reading the submodule {MCORE_PATH} of the Bridge commit",
            found=found or "no submodule at that path",
            expected=planned or "a gitlink",
            next_step="rebase the change on a base that has the submodule, or plan again",
        )


def take(job: Job, directory: Path, repository: str, commit: str) -> None:
    """`directory` is at `commit`, from the mirror or from `repository`; the mirror is copied from, never shared."""
    home = home_of(job)
    if directory.is_symlink() or not directory.parent.resolve().is_relative_to(job.work.resolve()):
        raise _not_ours(directory, "a link that leads elsewhere")
    if (directory / ".git").exists():
        _check_reusable(directory, home, commit)
        return
    mirror = mirror_of(job.site, repository)
    sources = ((mirror, True), (repository, False)) if mirror else ((repository, False),)
    gitrepo.fetch_commit(directory, home, sources, commit, job.site.git_seconds)
    found = gitrepo.head(directory, home)
    if found != commit:
        raise _not_ours(directory, f"HEAD {found}", expected=f"HEAD {commit}")
    _check_nothing_kept(directory)


def _check_reusable(directory: Path, home: Path, commit: str) -> None:
    found = gitrepo.head(directory, home)
    dirty = gitrepo.status(directory, home)
    if found != commit or dirty:
        raise _not_ours(directory, f"HEAD {found}, {len(dirty)} dirty files", expected=f"HEAD {commit}, clean")


def _check_nothing_kept(directory: Path) -> None:
    text = (directory / ".git" / "config").read_text(encoding="utf-8", errors="replace")
    if _SECRETS_IN_CONFIG.search(text) or (directory / ".git" / "objects" / "info" / "alternates").exists():
        raise _not_ours(directory, "credentials or shared objects in .git", expected="a full copy without either")


def _not_ours(directory: Path, found: str, *, expected: str = "a fresh checkout") -> EnvironmentBlocked:
    return EnvironmentBlocked(
        Boundary.ENVIRONMENT,
        doing=f"checking out into {directory}",
        found=found,
        expected=expected,
        next_step="name an empty folder with --out; a tree with changes is never reset",
    )


def _in_place(job: Job) -> tuple[Trees, tuple[TreeState, ...]]:
    home, trees = home_of(job), job.planned_trees
    for tree in (trees.bridge, trees.suite):
        if not tree.is_dir():
            raise _not_ours(tree, "no folder there", expected="a source tree")
    trees = Trees(bridge=trees.bridge, mcore=trees.mcore, suite=_suite_of(job, trees.suite))
    copied = trees.suite != job.planned_trees.suite
    suite = (
        _worked_around(job, trees.suite, expected=None)
        if copied
        else tree_state("suite", trees.suite, home, expected=None)
    )
    states = (
        tree_state("bridge", trees.bridge, home, expected=None),
        tree_state("mcore", trees.mcore, home, expected=None),
        suite,
    )
    return trees, states


def _suite_of(job: Job, source: Path) -> Path:
    """The tree to run: the person's own, or a full copy when a workaround applies to its commit or it has no files."""
    home, copy = home_of(job), job.work / "suite"
    bare = gitrepo.head(source, home) is None and (source / "objects").is_dir()
    commit = job.leg.suite_pin.commit if bare else gitrepo.head(source, home)
    if not bare and not any(commit in workaround.commits for workaround in job.leg.workarounds):
        return source
    if copy.exists():
        shutil.rmtree(copy)  # our own copy of an earlier run in this folder; the person's tree is never touched
    gitrepo.git(
        *("clone", "--quiet", "--no-local", "--no-checkout", "--template=", "--no-recurse-submodules"),
        *("--", str(source), str(copy)),
        cwd=job.work,
        home=home,
        local=True,
        seconds=job.site.git_seconds,
    )
    gitrepo.git("checkout", "--quiet", "--detach", str(commit), cwd=copy, home=home, seconds=job.site.git_seconds)
    gitrepo.git("remote", "remove", "origin", cwd=copy, home=home)
    if not bare:
        _bring_changes(source, copy, home)
    return copy


def _bring_changes(source: Path, copy: Path, home: Path) -> None:
    """A person runs the tree as it is: uncommitted changes and untracked files come along."""
    patch = gitrepo.git("diff", "--binary", "--no-ext-diff", "--no-textconv", "HEAD", cwd=source, home=home)
    if patch:
        path = home / "changes.patch"
        path.write_text(patch + "\n", encoding="utf-8", errors="surrogateescape")
        gitrepo.git("apply", "--whitespace=nowarn", str(path), cwd=copy, home=home)
    names = gitrepo.git("ls-files", "--others", "--exclude-standard", "-z", cwd=source, home=home)
    for name in [name for name in names.split("\0") if name][:MAX_UNTRACKED]:
        if (source / name).is_file() and not (source / name).is_symlink():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, copy / name)


def _worked_around(job: Job, suite: Path, *, expected: str | None) -> TreeState:
    """The state of the suite's copy, before and after the declared changes: nothing else may have changed."""
    home, declared = home_of(job), job.leg.workarounds
    before = tree_state("suite", suite, home, expected=expected)
    fitting = tuple(item for item in declared if before.commit in item.commits)
    if not fitting:
        return before
    applied = workarounds.apply(suite, fitting, done_is_fine=job.in_place is not None)
    files = frozenset(item.file for workaround in fitting for item in workaround.replacements)
    return tree_state(
        "suite",
        suite,
        home,
        expected=expected,
        applied=applied,
        applied_files=files,
        diff=_diff(job, suite, tuple(sorted(files))),
    )


def _diff(job: Job, suite: Path, files: tuple[str, ...]) -> FileRef:
    args = ("diff", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD", "--", *files)
    text = gitrepo.git(*args, cwd=suite, home=home_of(job))
    (job.bundle / DIFF).write_text(text + "\n", encoding="utf-8", errors="replace")
    return file_ref(job.bundle, DIFF)


def _check_whole(trees: Trees) -> None:
    """Refuse a tree without the package it must give; a submodule that was never initialized is the usual case."""
    for root, package in ((trees.bridge_src, "megatron/bridge"), (trees.mcore, "megatron/core")):
        if not (root / package).is_dir():
            raise EnvironmentBlocked(
                Boundary.DEPENDENCY,
                doing=f"looking for {package} in {root}",
                found="no such folder",
                expected=f"the package {package.replace('/', '.')} in the checkout",
                next_step=f"run `git submodule update --init {MCORE_PATH}` in the Bridge checkout, or pass --mcore DIR",
            )
