"""Exact commits, nothing else: real git repositories."""

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from action.checkout import DIFF, checkout
from action.context import InPlace, Job, trees_of
from action.store import open_recorder
from levels.errors import EnvironmentBlocked
from levels.evidence import Evidence, TreeState
from levels.model import Boundary, Suite
from levels.pins import Replacement, Workaround
from tests.action.miniature import World

Git = Callable[..., str]


def check_out(job: Job) -> Evidence:
    recorder = open_recorder(job, write=print)
    checkout(job, recorder)
    return recorder.evidence


def state(evidence: Evidence, name: str) -> TreeState:
    return next(tree for tree in evidence.trees if tree.name == name)


def workaround(world: World, *, old: str = "OLD = 1", count: int = 2) -> Workaround:
    return Workaround(
        id="mend",
        suite=Suite.VERL,
        commits=(world.suite_commit,),
        replacements=(Replacement(file="pkg/adapter.py", old=old, new="NEW = 2", count=count),),
        reason="r",
        link="https://example.test",
        ends_when="upstream mends it",
        limitation="l",
    )


def test_three_trees_at_their_commits_from_the_mirrors(world: World, run_git: Git) -> None:
    job = world.job()
    evidence = check_out(job)
    assert [(tree.name, tree.commit, tree.expected, tree.dirty) for tree in evidence.trees] == [
        ("bridge", world.bridge_commit, world.bridge_commit, ()),
        ("mcore", world.mcore_commit, world.mcore_commit, ()),
        ("suite", world.suite_commit, world.suite_commit, ()),
    ]
    assert state(evidence, "bridge").short == world.bridge_commit[:8]
    trees = trees_of(job, evidence)
    assert evidence.roots is not None
    assert evidence.roots.bridge_src == str((trees.bridge / "src").resolve())
    assert evidence.roots.mcore == str(trees.mcore.resolve())
    for tree in (trees.bridge, trees.mcore, trees.suite):
        assert run_git(tree, "rev-parse", "HEAD") in {world.bridge_commit, world.mcore_commit, world.suite_commit}


def test_nothing_is_shared_or_kept(world: World) -> None:
    job = world.job()
    trees = trees_of(job, check_out(job))
    for tree in (trees.bridge, trees.mcore, trees.suite):
        assert not (tree / ".git/objects/info/alternates").exists()
        assert not re.search("extraheader|helper|url|remote", (tree / ".git/config").read_text())
        assert not (tree / ".git/FETCH_HEAD").exists()
        assert all(path.stat().st_nlink == 1 for path in (tree / ".git/objects").rglob("*") if path.is_file())


def test_settings_of_the_machine_and_of_the_tree_run_nothing(
    world: World, tmp_path: Path, commit_to: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Filters and hooks that would leave a file behind, in the settings of the user and of the mirror."""
    mark = tmp_path / "ran"
    evil = f"touch {mark}"
    home = tmp_path / "person"
    hooks = home / "hooks"
    hooks.mkdir(parents=True)
    for name in ("post-checkout", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\n{evil}\n")
        (hooks / name).chmod(0o755)
    (home / ".gitconfig").write_text(
        f'[core]\n\thooksPath = {hooks}\n\tfsmonitor = "{evil}"\n'
        f'[filter "evil"]\n\tsmudge = "{evil}; cat"\n\tclean = "{evil}; cat"\n'
    )
    with (world.bridge / ".git/config").open("a") as file:
        file.write(f'[filter "evil"]\n\tsmudge = "{evil}; cat"\n[uploadpack]\n\tpackObjectsHook = "{evil}; exec"\n')
    commit = commit_to(
        world.bridge, {".gitattributes": "* filter=evil\n"}, links={"3rdparty/Megatron-LM": world.mcore_commit}
    )
    mark.unlink(missing_ok=True)  # committing in the test ran the filter of the test's own repository
    monkeypatch.setenv("HOME", str(home))
    evidence = check_out(world.job(world.leg(bridge_commit=commit)))
    assert state(evidence, "bridge").commit == commit
    assert not mark.exists()


@pytest.mark.parametrize(
    ("changes", "boundary", "says"),
    [
        pytest.param({"bridge_commit": "1" * 40}, Boundary.ENVIRONMENT, "not our ref", id="commit-does-not-exist"),
        pytest.param({"mcore_commit": "2" * 40}, Boundary.ENVIRONMENT, "2" * 40, id="plan-read-another-gitlink"),
        pytest.param(
            {"mcore_repository": "https://127.0.0.1:1/x.git"}, Boundary.ENVIRONMENT, "127.0.0.1", id="unreachable"
        ),
        pytest.param(
            {"bridge_repository": "ext::sh -c 'touch /tmp/never'"}, Boundary.ENVIRONMENT, "ext", id="transport-refused"
        ),
    ],
)
def test_what_cannot_be_had_is_blocked(world: World, changes: dict[str, str], boundary: Boundary, says: str) -> None:
    with pytest.raises(EnvironmentBlocked) as caught:
        check_out(world.job(world.leg(**changes)))
    assert caught.value.boundary is boundary
    assert says in str(caught.value)


def test_a_linked_submodule_folder_is_not_followed(world: World, tmp_path: Path, run_git: Git) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    run_git(world.bridge, "rm", "--quiet", "--cached", "3rdparty/Megatron-LM")
    (world.bridge / "3rdparty").symlink_to(outside)
    run_git(world.bridge, "add", "3rdparty")
    run_git(world.bridge, "commit", "--quiet", "--message", "link")
    leg = world.leg(bridge_commit=run_git(world.bridge, "rev-parse", "HEAD"))
    with pytest.raises(EnvironmentBlocked, match="no submodule at that path"):
        check_out(world.job(leg))
    assert not list(outside.iterdir())


def test_a_second_attempt_reuses_clean_trees_and_never_resets_a_dirty_one(world: World) -> None:
    job = world.job()
    check_out(job)
    check_out(job)
    precious = job.planned_trees.bridge / "src/megatron/bridge/__init__.py"
    precious.write_text("# edited by hand\n")
    with pytest.raises(EnvironmentBlocked, match="never reset"):
        check_out(job)
    assert precious.read_text() == "# edited by hand\n"


def test_a_workaround_changes_the_copy_and_is_recorded(world: World) -> None:
    job = world.job(world.leg(workarounds=(workaround(world),)))
    evidence = check_out(job)
    suite = state(evidence, "suite")
    assert (suite.applied, suite.dirty, suite.commit) == (("mend",), (), world.suite_commit)
    assert (job.planned_trees.suite / "pkg/adapter.py").read_text() == "NEW = 2\nNEW = 2\n"
    assert suite.diff is not None
    assert suite.diff.path == DIFF
    assert "+NEW = 2" in (job.bundle / DIFF).read_text()
    assert (world.suite / "pkg/adapter.py").read_text() == "OLD = 1\nOLD = 1\n"


@pytest.mark.parametrize(
    ("old", "count"),
    [pytest.param("OLD = 1", 3, id="count"), pytest.param("GONE", 1, id="text"), pytest.param("OLD", 1, id="too-many")],
)
def test_a_workaround_that_no_longer_fits_is_refused(world: World, old: str, count: int) -> None:
    job = world.job(world.leg(workarounds=(workaround(world, old=old, count=count),)))
    with pytest.raises(EnvironmentBlocked) as caught:
        check_out(job)
    assert caught.value.boundary is Boundary.DEPENDENCY
    assert "OLD" in (job.planned_trees.suite / "pkg/adapter.py").read_text()


def test_a_workaround_for_another_commit_is_not_applied(world: World, commit_to: Git) -> None:
    fix = workaround(world)
    newer = commit_to(world.suite, {"pkg/adapter.py": "fixed\n"})
    pin = world.leg().suite_pin
    leg = world.leg(workarounds=(fix,), suite_pin=msgspec.structs.replace(pin, commit=newer))
    assert state(check_out(world.job(leg)), "suite").applied == ()


def test_a_persons_trees_are_used_where_they_are_and_dirt_is_listed(world: World, in_place: InPlace) -> None:
    (in_place.bridge / "src/megatron/bridge/__init__.py").write_text("# mine\n")
    (in_place.suite / "note.txt").write_text("mine\n")
    job = world.job(in_place=in_place)
    evidence = check_out(job)
    assert state(evidence, "bridge").dirty == (" M src/megatron/bridge/__init__.py",)
    assert state(evidence, "suite").dirty == ("?? note.txt",)
    assert state(evidence, "bridge").expected is None
    assert trees_of(job, evidence).suite == in_place.suite
    assert (in_place.bridge / "src/megatron/bridge/__init__.py").read_text() == "# mine\n"


def test_a_persons_suite_that_needs_a_workaround_is_copied_with_its_changes(world: World, in_place: InPlace) -> None:
    (in_place.suite / "run.sh").write_text("echo mine\n")
    (in_place.suite / "new").mkdir()
    (in_place.suite / "new/file.txt").write_text("new\n")
    job = world.job(world.leg(workarounds=(workaround(world),)), in_place=in_place)
    evidence = check_out(job)
    copy = trees_of(job, evidence).suite
    assert copy == job.work / "suite"
    assert (copy / "run.sh").read_text() == "echo mine\n"
    assert (copy / "new/file.txt").read_text() == "new\n"
    assert (copy / "pkg/adapter.py").read_text() == "NEW = 2\nNEW = 2\n"
    assert (in_place.suite / "pkg/adapter.py").read_text() == "OLD = 1\nOLD = 1\n"
    suite = state(evidence, "suite")
    assert suite.applied == ("mend",)
    assert suite.dirty == (" M run.sh", "?? new/")
    assert not (copy / ".git/objects/info/alternates").exists()


def test_a_person_who_applied_the_workaround_by_hand_is_understood(world: World, in_place: InPlace) -> None:
    (in_place.suite / "pkg/adapter.py").write_text("NEW = 2\nNEW = 2\n")
    job = world.job(world.leg(workarounds=(workaround(world),)), in_place=in_place)
    assert state(check_out(job), "suite").applied == ("mend",)


def test_a_bare_suite_repository_is_copied_at_the_pin(world: World, in_place: InPlace, run_git: Git) -> None:
    bare = world.root / "bare"
    run_git(world.root, "clone", "--quiet", "--bare", str(world.suite), str(bare))
    job = world.job(in_place=InPlace(bridge=in_place.bridge, suite=bare))
    evidence = check_out(job)
    assert state(evidence, "suite").commit == world.suite_commit
    assert (trees_of(job, evidence).suite / "run.sh").exists()


def test_an_unpacked_archive_inside_a_repository_has_no_commit(world: World, in_place: InPlace) -> None:
    archive = in_place.suite / "unpacked"
    for name in ("src/megatron/bridge", "3rdparty/Megatron-LM/megatron/core"):
        (archive / name).mkdir(parents=True)
    job = world.job(in_place=InPlace(bridge=archive, suite=in_place.suite))
    bridge = state(check_out(job), "bridge")
    assert (bridge.commit, bridge.short, bridge.dirty) == (None, None, ())


def test_a_submodule_that_was_never_initialized_is_named(world: World, run_git: Git) -> None:
    bridge = world.root / "fresh"
    run_git(world.root, "clone", "--quiet", str(world.bridge), str(bridge))
    job = world.job(in_place=InPlace(bridge=bridge, suite=world.suite))
    with pytest.raises(EnvironmentBlocked, match="git submodule update --init"):
        check_out(job)


def test_mcore_of_another_folder(world: World, in_place: InPlace) -> None:
    job = world.job(in_place=InPlace(bridge=in_place.bridge, suite=in_place.suite, mcore=world.mcore))
    evidence = check_out(job)
    assert evidence.roots is not None
    assert evidence.roots.mcore == str(world.mcore.resolve())
