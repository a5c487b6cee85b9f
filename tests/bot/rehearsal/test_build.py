"""Repositories read from real git: files, patches, trees, comparisons, forks."""

from pathlib import Path

import pytest

from bot.rehearsal import build, gitread
from bot.rehearsal.state import ChangedFile, Repository, State
from tests.bot.rehearsal.conftest import NOON, TOKEN, Git, Opened, World

LINES = "".join(f"line {number}\n" for number in range(30))
SUBMODULES = ("a" * 40, "b" * 40)


@pytest.fixture
def tree(tmp_path: Path) -> Git:
    """A repository of its own, for tests that commit."""
    return Git(tmp_path / "own")


def gitlink(git: Git, commit: str) -> str:
    git("update-index", "--add", "--cacheinfo", f"160000,{commit},3rdparty/Megatron-LM")
    git("commit", "-qm", "bump")
    return git("rev-parse", "HEAD")


def facts(file: ChangedFile) -> tuple[str, str, int, int, str | None]:
    return file.filename, file.status, file.additions, file.deletions, file.previous_filename


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({"a": "1\n"}, {"b": "1\n2\n"}, ("b", "added", 2, 0, None), id="added"),
        pytest.param({"a": "1\n2\n"}, {"a": None}, ("a", "removed", 0, 2, None), id="removed"),
        pytest.param({"a": "1\n2\n"}, {"a": "1\n3\n"}, ("a", "modified", 1, 1, None), id="modified"),
        pytest.param({"a": LINES}, {"a": None, "d/b": LINES}, ("d/b", "renamed", 0, 0, "a"), id="renamed"),
        pytest.param(
            {"a": LINES}, {"a": None, "b": f"{LINES}x\n"}, ("b", "renamed", 1, 0, "a"), id="renamed-and-edited"
        ),
        pytest.param({"a": b"\0\1"}, {"a": b"\0\2"}, ("a", "modified", 0, 0, None), id="binary"),
        pytest.param({"a": "1"}, {"a": "2"}, ("a", "modified", 1, 1, None), id="no-newline-at-the-end"),
        pytest.param({"a": "1\n"}, {"a": ""}, ("a", "modified", 0, 1, None), id="emptied"),
        pytest.param({"a": "1\n"}, {"e": ""}, ("e", "added", 0, 0, None), id="empty-file"),
        pytest.param({"a": "1\n"}, {"x y/ü\t.py": "1\n2\n"}, ("x y/ü\t.py", "added", 2, 0, None), id="odd-name"),
        pytest.param(
            {"a": "1\n"},
            {"n\ndiff --git a/x b/x": "9\n"},
            ("n\ndiff --git a/x b/x", "added", 1, 0, None),
            id="newline-in-name",
        ),
        pytest.param(
            {"a": "++ x\n"},
            {"a": "-- y\ndiff --git a/b b/b\n@@ -1 +1 @@\n"},
            ("a", "modified", 3, 1, None),
            id="content-like-a-diff",
        ),
        pytest.param({"a": "1\n"}, {"a": "1\r\n"}, ("a", "modified", 1, 1, None), id="carriage-return"),
        pytest.param({"a": "1\n"}, {"b": "x\n" * 3_100}, ("b", "added", 3_100, 0, None), id="too-large-for-a-patch"),
    ],
)
def test_a_file_is_listed_as_git_sees_it(
    before: dict[str, str | bytes | None],
    after: dict[str, str | bytes | None],
    expected: tuple[str, str, int, int, str | None],
    tree: Git,
) -> None:
    base, head = tree.write(before), tree.write(after)
    assert [facts(file) for file in gitread.diff(tree.path, base, head)] == [expected]


def test_a_patch_holds_the_hunks_and_nothing_else(tree: Git) -> None:
    base, head = tree.write({"a": "1\n2\n3\n", "z": "1"}), tree.write({"a": "1\n0\n3\n", "z": "2", "y": b"\0"})
    patches = {file.filename: file.patch for file in gitread.diff(tree.path, base, head)}
    assert patches == {
        "a": "@@ -1,3 +1,3 @@\n 1\n-2\n+0\n 3",
        "y": None,
        "z": "@@ -1 +1 @@\n-1\n\\ No newline at end of file\n+2\n\\ No newline at end of file",
    }


def test_a_file_that_becomes_a_link_keeps_its_neighbours_patches(tree: Git) -> None:
    base = tree.write({"a": "1\n", "b": "1\n", "c": "1\n"})
    (tree.path / "b").unlink()
    (tree.path / "b").symlink_to("a")
    head = tree.write({"c": "2\n"})
    files = gitread.diff(tree.path, base, head)
    assert [(file.filename, file.status) for file in files] == [("b", "changed"), ("c", "modified")]
    assert files[1].patch == "@@ -1 +1 @@\n-1\n+2"


def test_a_submodule_bump_shows_both_commits(tree: Git) -> None:
    tree.write({"a": "1\n"})
    base, head = (gitlink(tree, commit) for commit in SUBMODULES)
    (file,) = gitread.diff(tree.path, base, head)
    assert (file.filename, file.status, file.sha) == ("3rdparty/Megatron-LM", "modified", SUBMODULES[1])
    assert file.patch == f"@@ -1 +1 @@\n-Subproject commit {SUBMODULES[0]}\n+Subproject commit {SUBMODULES[1]}"


def test_the_gitlink_of_a_commit_can_be_read(tree: Git, opened: Opened, world: World) -> None:
    tree.write({"a": "1\n"})
    commit = gitlink(tree, SUBMODULES[0])
    (tree.path / "link").symlink_to("a")
    tree("add", "link")
    tree("commit", "-qm", "link")
    build.add_repository(world.state, "NVIDIA-NeMo/Other", tree.path)
    with opened() as session:
        repo = session.github.get_repo("NVIDIA-NeMo/Other")
        module, link = repo.get_contents("3rdparty/Megatron-LM"), repo.get_contents("link")
        listing = repo.get_contents("3rdparty")
    assert not isinstance(module, list)
    assert not isinstance(link, list)
    assert isinstance(listing, list)
    assert (module.type, module.sha) == ("submodule", SUBMODULES[0])
    assert (link.type, link.target) == ("symlink", "a")
    assert [(entry.path, entry.type) for entry in listing] == [("3rdparty/Megatron-LM", "file")]
    assert commit in world.state.repositories["NVIDIA-NeMo/Other"].commits


def test_odd_names_make_good_addresses(tree: Git, world: World, opened: Opened) -> None:
    tree.write({"a": "1\n"}, "base")
    tree("checkout", "-qb", "topic")
    tree.write({"x y/ü\t#?.py": "1\n"})
    world.state, repo, _ = build.small(tree.path, clock=NOON)
    build.grant(world.state, TOKEN)
    with opened() as session:
        shown = session.github.get_repo(repo.full_name)
        (file,) = shown.get_pull(1).get_files()
        assert file.filename == "x y/ü\t#?.py"
        found = shown.get_contents(file.filename, ref="topic")
        assert not isinstance(found, list)
        assert found.decoded_content == b"1\n"


def diverged(tree: Git) -> tuple[State, Repository]:
    """`main` has moved on since `topic` left it."""
    tree.write({"a": "1\n"}, "base")
    tree("checkout", "-qb", "topic")
    tree.write({"t": "1\n"}, "topic")
    tree("checkout", "-q", "main")
    tree.write({"m": "1\n"}, "main")
    state, repo, _ = build.small(tree.path, clock=NOON)
    build.grant(state, TOKEN)
    return state, repo


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        pytest.param("main", "topic", ("diverged", 1, 1, ["t"]), id="diverged"),
        pytest.param("main~1", "main", ("ahead", 1, 0, ["m"]), id="ahead"),
        pytest.param("main", "main~1", ("behind", 0, 1, []), id="behind"),
        pytest.param("main", "main", ("identical", 0, 0, []), id="identical"),
    ],
)
def test_comparison_goes_through_the_merge_base(
    base: str, head: str, expected: tuple[str, int, int, list[str]], tree: Git, world: World, opened: Opened
) -> None:
    world.state, repo = diverged(tree)
    first, second = (gitread.resolve(tree.path, name) for name in (base, head))
    merge_base = tree("merge-base", first, second)
    with opened() as session:
        found = session.github.get_repo(repo.full_name).compare(first, second)
        assert (found.status, found.ahead_by, found.behind_by, [f.filename for f in found.files]) == expected
        assert found.merge_base_commit.sha == merge_base


def test_a_stale_base_adds_no_files_to_a_pull_request(tree: Git) -> None:
    _, repo = diverged(tree)
    pull = repo.issues[1].pull
    assert pull
    assert [file.filename for file in pull.files] == ["t"]


def test_a_push_moves_the_head(tree: Git) -> None:
    state, repo = diverged(tree)
    tree("checkout", "-q", "topic")
    sha = tree.write({"t": "2\n", "u": "1\n"}, "more")
    build.push(state, repo, tree.path, 1, sha)
    pull = repo.issues[1].pull
    assert pull
    assert (pull.head_sha, len(pull.commits), [file.filename for file in pull.files]) == (sha, 2, ["t", "u"])
    assert repo.refs["refs/pull/1/head"] == repo.refs["refs/heads/topic"] == sha


@pytest.mark.parametrize("fork", [pytest.param("rea/Megatron-Bridge", id="fork"), pytest.param(None, id="deleted")])
def test_a_fork_and_a_deleted_fork(fork: str | None, git: Git, world: World, opened: Opened) -> None:
    if fork:
        build.add_repository(world.state, fork, git.path, parent=world.repo.full_name)
    build.open_pull(world.state, world.repo, git.path, head="topic", author="rea", number=2, head_repository=fork)
    with opened() as session:
        pull = session.github.get_repo(world.repo.full_name).get_pull(2)
        named = pull.raw_data["head"]["repo"]
        assert (named["full_name"] if named else None) == fork
        assert pull.head.label == "rea:topic"
        assert [file.filename for file in pull.get_files()] == ["src/a.py", "src/new.py"]
        if fork:
            assert session.github.get_repo(fork).parent.full_name == world.repo.full_name


def test_a_difference_that_nobody_loaded_is_no_empty_answer(tree: Git) -> None:
    first = tree.write({"a": "1\n"})
    tree.write({"b": "1\n"})
    last = tree.write({"c": "1\n"})
    repo = build.add_repository(build.new_state(NOON), "o/r", tree.path)
    with pytest.raises(LookupError, match="has no difference"):
        repo.changed_between(first, last)
    build.load_diff(repo, tree.path, first, last)
    assert [file.filename for file in repo.changed_between(first, last)] == ["b", "c"]


def test_unrelated_histories_are_refused(tree: Git, world: World, opened: Opened) -> None:
    tree.write({"a": "1\n"})
    build.load_commits(world.repo, tree.path, ["main"])
    sha = gitread.resolve(tree.path, "main")
    with pytest.raises(ValueError, match="no common ancestor"):
        build.push(world.state, world.repo, tree.path, 1, sha)
    with opened() as session, pytest.raises(Exception, match="No common ancestor"):
        session.github.get_repo(world.repo.full_name).compare("main", sha).status  # noqa: B018  it is fetched here


def test_a_branch_beyond_the_newest_commits_is_left_out(tree: Git) -> None:
    old = tree.write({"a": "0"}, "old")
    tree("branch", "old")
    tree.env["GIT_COMMITTER_DATE"] = "2026-08-02T00:00:00Z"
    for number in range(gitread.MAX_COMMITS):
        tree("commit", "-q", "--allow-empty", "-m", str(number))
    repo = build.add_repository(build.new_state(NOON), "o/r", tree.path)
    assert (old in repo.commits, list(repo.refs)) == (False, ["refs/heads/main"])


def test_a_blob_that_is_missing_or_too_large_is_left_out(tree: Git) -> None:
    tree.write({"a": "here\n", "b": b"x" * (gitread.MAX_BLOB_BYTES + 1)})
    small, large = (tree("rev-parse", f"HEAD:{name}") for name in ("a", "b"))
    assert gitread.blobs(tree.path, ["0" * 40, large, small]) == {small: b"here\n"}
    repo = build.add_repository(build.new_state(NOON), "o/r", tree.path)
    assert repo.tree_of(repo.refs["refs/heads/main"])["b"].size == gitread.MAX_BLOB_BYTES + 1


def test_only_chosen_files_are_kept(git: Git) -> None:
    state = build.new_state(NOON)
    repo = build.add_repository(state, "o/r", git.path, keep=lambda path: path.startswith(".github/"))
    assert list(repo.blobs.values()) == [b"labels: {}\n"]
