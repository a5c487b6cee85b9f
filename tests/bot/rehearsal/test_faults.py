"""Planned faults strike where they should; and what real PyGithub makes of them (GITHUB.md section 13)."""

from collections.abc import Callable

import pytest
import requests
from github import Auth, Github, GithubException
from github.GithubRetry import GithubRetry

from bot.rehearsal import build
from bot.rehearsal.faults import Fault, Faults
from bot.rehearsal.server import serve
from tests.bot.rehearsal.conftest import TOKEN, World

R = "/repos/NVIDIA-NeMo/Megatron-Bridge"
COMMENTS = f"{R}/issues/1/comments"
AUTH = {"Authorization": f"Bearer {TOKEN}"}


@pytest.mark.parametrize(
    ("fault", "struck"),
    [
        pytest.param(Fault(), [0], id="next-request"),
        pytest.param(Fault(at=3), [3], id="by-index"),
        pytest.param(Fault(at=9), [], id="by-index-never-reached"),
        pytest.param(Fault(method="POST"), [1], id="by-method"),
        pytest.param(Fault(path="/comments$"), [1], id="by-path"),
        pytest.param(Fault(path="/pulls/1", skip=1), [2], id="second-match"),
        pytest.param(Fault(method="GET", times=2), [0, 2], id="twice"),
        pytest.param(Fault(method="GET", path="/pulls/1", skip=1, times=9), [2, 3], id="from-the-second-on"),
        pytest.param(Fault(method="DELETE"), [], id="no-match"),
    ],
)
def test_a_fault_strikes_where_planned(fault: Fault, struck: list[int]) -> None:
    asked = [("GET", "/pulls/1"), ("POST", "/issues/1/comments"), ("GET", "/pulls/1"), ("GET", "/pulls/1/files")]
    faults = Faults([fault])
    found = [index for index, (method, path) in enumerate(asked) if faults.strike(index, method, path)]
    assert found == struck
    assert faults.left == (() if len(struck) == fault.times else (fault,))


def test_the_first_fault_of_the_plan_wins() -> None:
    first, second = Fault(status=500), Fault(status=502)
    faults = Faults([first, second])
    assert [faults.strike(index, "GET", "/") for index in range(3)] == [first, second, None]


@pytest.mark.parametrize(
    ("fault", "seen", "comments"),
    [
        pytest.param(Fault(status=500), 500, 0, id="500-before-the-work"),
        pytest.param(Fault(status=502, work=True), 502, 1, id="502-after-the-work"),
        pytest.param(Fault(status=403, headers={"Retry-After": "7"}), 403, 0, id="secondary-limit"),
        pytest.param(Fault(kind="reset"), requests.ConnectionError, 0, id="reset-before-the-work"),
        pytest.param(Fault(kind="reset", work=True), requests.ConnectionError, 1, id="reset-after-the-work"),
        pytest.param(Fault(kind="cut"), requests.exceptions.ChunkedEncodingError, 1, id="cut-body"),
        pytest.param(Fault(kind="slow", seconds=30), requests.ReadTimeout, 1, id="slower-than-the-client-waits"),
        pytest.param(Fault(kind="slow", seconds=0.01), 201, 1, id="slow-but-there"),
    ],
)
def test_what_the_client_sees_and_what_was_done(
    fault: Fault, seen: int | type[requests.RequestException], comments: int, world: World
) -> None:
    def comment(url: str) -> requests.Response:
        return requests.post(url + COMMENTS, json={"body": "b"}, headers=AUTH, timeout=0.3)

    with serve(world.state, faults=[fault]) as server:
        if isinstance(seen, int):
            reply = comment(server.url)
            assert reply.status_code == seen
            assert reply.headers.get("Retry-After") == fault.headers.get("Retry-After")
        else:
            with pytest.raises(seen):
                comment(server.url)
        (entry,) = server.journal
        after = requests.get(server.url + COMMENTS, headers=AUTH, timeout=10).json()
    assert len(after) == len(world.repo.comments) == comments
    assert (entry.fault, entry.worked) == (fault, bool(comments))
    assert server.unhandled == []


Work = Callable[[Github, World], None]


def comment(github: Github, world: World) -> None:
    github.get_repo(world.repo.full_name).get_issue(1).create_comment("b")


def close_check(github: Github, world: World) -> None:
    run = next(iter(world.repo.check_runs))
    github.get_repo(world.repo.full_name).get_check_run(run).edit(conclusion="success")


@pytest.mark.parametrize(
    ("work", "fault", "error", "attempts", "comments"),
    [
        pytest.param(close_check, Fault(method="PATCH", status=500), GithubException, 1, 0, id="patch-is-not-retried"),
        pytest.param(comment, Fault(method="POST", status=500), None, 2, 1, id="post-is-retried"),
        pytest.param(comment, Fault(method="POST", status=502, work=True), None, 2, 2, id="and-then-done-twice"),
        pytest.param(comment, Fault(method="POST", status=429), GithubException, 1, 0, id="plain-429-is-not-retried"),
        pytest.param(
            comment, Fault(method="POST", status=429, headers={"Retry-After": "0"}), None, 2, 1, id="429-with-a-time-is"
        ),
        pytest.param(comment, Fault(method="POST", kind="reset"), None, 2, 1, id="a-reset-post-is-retried"),
        pytest.param(comment, Fault(method="POST", kind="reset", work=True), None, 2, 2, id="and-done-twice-as-well"),
        pytest.param(
            close_check, Fault(method="PATCH", kind="reset"), requests.ConnectionError, 1, 0, id="reset-patch"
        ),
        pytest.param(comment, Fault(method="POST", kind="cut"), requests.RequestException, 1, 1, id="cut"),
    ],
)
def test_what_pygithub_does_by_default(
    work: Work, fault: Fault, error: type[Exception] | None, attempts: int, comments: int, world: World
) -> None:
    build.add_check(world.state, world.repo, world.head)
    with (
        serve(world.state, faults=[fault]) as server,
        Github(
            base_url=server.url,
            auth=Auth.Token(TOKEN),
            retry=GithubRetry(backoff_factor=0),
            seconds_between_requests=0,
            seconds_between_writes=0,
        ) as github,
    ):
        if error:
            with pytest.raises(error):
                work(github, world)
        else:
            work(github, world)
        assert sum(one.method == fault.method for one in server.journal) == attempts
    assert len(world.repo.comments) == comments
