"""Check runs: what stays, what is replaced, whose they are, and which of them a list shows."""

from datetime import timedelta

import pytest
from github import Auth, Github, GithubException

from bot.rehearsal import build
from bot.rehearsal.state import LengthUnit
from tests.bot.rehearsal.conftest import NOON, Opened, Session, World


def names(session: Session, world: World, **query: str) -> list[tuple[str, str | None]]:
    commit = session.github.get_repo(world.repo.full_name).get_commit(world.head)
    return [(run.name, run.conclusion) for run in commit.get_check_runs(**query)]


def test_latest_hides_a_queued_repeat_and_all_shows_it(world: World, opened: Opened) -> None:
    build.add_check(world.state, world.repo, world.head, conclusion="failure")
    build.add_check(world.state, world.repo, world.head)
    with opened() as session:
        assert names(session, world) == [("bridge-e2e", "failure")]
        assert names(session, world, filter="latest") == [("bridge-e2e", "failure")]
        assert names(session, world, filter="all") == [("bridge-e2e", None), ("bridge-e2e", "failure")]


def test_latest_goes_by_the_time_of_completion(world: World, opened: Opened) -> None:
    build.add_check(world.state, world.repo, world.head, conclusion="success", at=NOON)
    build.add_check(world.state, world.repo, world.head, conclusion="failure", at=NOON - timedelta(hours=1))
    with opened() as session:
        assert names(session, world) == [("bridge-e2e", "success")]


def test_lists_can_be_narrowed(world: World, opened: Opened) -> None:
    build.add_check(world.state, world.repo, world.head, name="bridge-e2e / verl-0", conclusion="success")
    build.add_check(world.state, world.repo, world.head, name="other")
    with opened() as session:
        assert names(session, world, check_name="bridge-e2e / verl-0") == [("bridge-e2e / verl-0", "success")]
        assert names(session, world, status="in_progress") == [("other", None)]


def test_an_update_replaces_the_output_and_adds_annotations(world: World, opened: Opened) -> None:
    def note(line: int) -> dict[str, str | int]:
        return {"path": "a", "start_line": line, "end_line": line, "annotation_level": "notice", "message": str(line)}

    with opened() as session:
        run = session.github.get_repo(world.repo.full_name).create_check_run("n", head_sha=world.head)
        for number in range(2):
            output = {
                "title": "t",
                "summary": str(number),
                "annotations": [note(number * 50 + i + 1) for i in range(50)],
            }
            run.edit(output=output)
        assert (run.output.summary, run.output.annotations_count) == ("1", 100)
        assert [one.start_line for one in run.get_annotations()] == list(range(1, 101))


def test_a_conclusion_completes_and_a_new_status_reopens(world: World, opened: Opened) -> None:
    with opened() as session:
        run = session.github.get_repo(world.repo.full_name).create_check_run("n", head_sha=world.head)
        kept = world.repo.check_runs[run.id]
        assert (kept.status, kept.conclusion, kept.completed_at) == ("queued", None, None)
        world.state.advance(60)
        run.edit(conclusion="action_required")
        assert (kept.status, kept.started_at, kept.completed_at) == ("completed", NOON, NOON + timedelta(minutes=1))
        run.edit(status="in_progress")
        assert (kept.status, kept.conclusion, kept.completed_at) == ("in_progress", None, None)


def test_another_app_has_its_own_suite_and_may_not_touch_ours(world: World, opened: Opened) -> None:
    build.add_app(world.state, "bridge-e2e-bot", name="bridge-e2e", owner="NVIDIA-NeMo")
    build.grant(world.state, "app", app="bridge-e2e-bot")
    with (
        opened() as session,
        Github(
            base_url=session.server.url, auth=Auth.Token("app"), seconds_between_requests=0, seconds_between_writes=0
        ) as other,
    ):
        ours = session.github.get_repo(world.repo.full_name).create_check_run("n", head_sha=world.head)
        again = session.github.get_repo(world.repo.full_name).create_check_run("m", head_sha=world.head)
        theirs = other.get_repo(world.repo.full_name).create_check_run("n", head_sha=world.head)
        runs = world.repo.check_runs
        assert runs[ours.id].suite == runs[again.id].suite != runs[theirs.id].suite
        assert (ours.app.slug, theirs.app.slug) == ("github-actions", "bridge-e2e-bot")
        with pytest.raises(GithubException, match="can only be modified by the GitHub App that created it"):
            other.get_repo(world.repo.full_name).get_check_run(ours.id).edit(conclusion="success")
        assert len(names(session, world)) == 3


def test_the_server_keeps_its_own_time_of_creation(world: World, opened: Opened) -> None:
    with opened() as session:
        repo = session.github.get_repo(world.repo.full_name)
        run = repo.create_check_run("n", head_sha=world.head, started_at=NOON - timedelta(days=1))
        assert run.started_at == NOON - timedelta(days=1)
        assert world.repo.check_runs[run.id].created_at == NOON


@pytest.mark.parametrize(
    ("unit", "character", "fits"),
    [
        pytest.param("characters", "\N{ROCKET}", 65_536, id="characters"),
        pytest.param("utf16-units", "\N{ROCKET}", 32_768, id="utf16-units"),
        pytest.param("utf8-bytes", "\N{ROCKET}", 16_384, id="utf8-bytes"),
    ],
)
def test_the_limit_counts_what_the_test_says(
    unit: LengthUnit, character: str, fits: int, world: World, opened: Opened
) -> None:
    world.state.length_unit = unit
    with opened() as session:
        issue = session.github.get_repo(world.repo.full_name).get_issue(1)
        assert issue.create_comment(character * fits).body == character * fits
        with pytest.raises(GithubException, match="too long"):
            issue.create_comment(character * (fits + 1))
