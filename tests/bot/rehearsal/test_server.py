"""HTTP: pages, limits, conditional requests, the journal, many clients, our own crashes."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import requests
from github import GithubException

from bot.rehearsal import build
from bot.rehearsal.server import serve
from bot.rehearsal.state import ChangedFile, dump, load
from tests.bot.rehearsal.conftest import NOON, TOKEN, Opened, World

R = "/repos/NVIDIA-NeMo/Megatron-Bridge"
AUTH = {"Authorization": f"Bearer {TOKEN}"}


def many_files(world: World, count: int) -> None:
    assert world.pull.pull
    world.pull.pull.files = [
        ChangedFile(filename=f"f{number:05}", status="added", sha="0" * 40, additions=1, deletions=0)
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("query", "rows", "relations"),
    [
        pytest.param("", 30, {"next": 2, "last": 4}, id="default-is-30"),
        pytest.param("?per_page=100", 95, {}, id="all-on-one-page"),
        pytest.param("?per_page=5000", 95, {}, id="more-than-100-is-100"),
        pytest.param("?per_page=0", 30, {"next": 2, "last": 4}, id="zero-is-the-default"),
        pytest.param("?per_page=x&page=y", 30, {"next": 2, "last": 4}, id="no-numbers"),
        pytest.param("?page=2", 30, {"prev": 1, "next": 3, "last": 4, "first": 1}, id="second"),
        pytest.param("?page=4", 5, {"prev": 3, "first": 1}, id="last"),
        pytest.param("?page=5", 0, {"prev": 4, "first": 1}, id="beyond"),
    ],
)
def test_pages(query: str, rows: int, relations: dict[str, int], world: World) -> None:
    many_files(world, 95)
    with serve(world.state) as server:
        reply = requests.get(f"{server.url}{R}/pulls/1/files{query}", headers=AUTH, timeout=10)
    assert len(reply.json()) == rows
    assert {name: int(link["url"].rpartition("page=")[2]) for name, link in reply.links.items()} == relations


def test_a_client_that_follows_the_links_gets_everything(world: World, opened: Opened) -> None:
    many_files(world, 1_234)
    with opened() as session:
        files = [file.filename for file in session.github.get_repo(world.repo.full_name).get_pull(1).get_files()]
        assert files == [f"f{number:05}" for number in range(1_234)]
        assert len(session.server.journal) == 2 + 13


def test_files_stop_at_3000_without_a_word(world: World, opened: Opened) -> None:
    many_files(world, 3_456)
    with opened() as session:
        pull = session.github.get_repo(world.repo.full_name).get_pull(1)
        assert pull.changed_files == 3_456
        assert sum(1 for _ in pull.get_files()) == 3_000


def test_comments_have_pages_too(world: World, opened: Opened) -> None:
    for number in range(130):
        build.add_comment(world.state, world.repo, 1, author="rea", body=str(number))
    with opened() as session:
        comments = session.github.get_repo(world.repo.full_name).get_issue(1).get_comments()
        assert [comment.body for comment in comments] == [str(number) for number in range(130)]


def test_a_known_answer_is_not_sent_again(world: World) -> None:
    with serve(world.state) as server:
        first = requests.get(server.url + R, headers=AUTH, timeout=10)
        same = requests.get(server.url + R, headers={**AUTH, "If-None-Match": first.headers["ETag"]}, timeout=10)
        world.repo.default_branch = "trunk"
        other = requests.get(server.url + R, headers={**AUTH, "If-None-Match": first.headers["ETag"]}, timeout=10)
    assert [(first.status_code, same.status_code, other.status_code), same.content] == [(200, 304, 200), b""]


def test_the_date_is_the_servers_clock(world: World) -> None:
    with serve(world.state) as server:
        before = requests.get(server.url + R, headers=AUTH, timeout=10).headers["Date"]
        world.state.advance(90)
        after = requests.get(server.url + R, headers=AUTH, timeout=10).headers["Date"]
    assert (before, after) == ("Mon, 03 Aug 2026 12:00:00 GMT", "Mon, 03 Aug 2026 12:01:30 GMT")


def test_requests_are_counted_and_run_out(world: World) -> None:
    world.state.rate.limit = 2
    with serve(world.state) as server:
        replies = [requests.get(server.url + R, headers=AUTH, timeout=10) for _ in range(3)]
        world.state.advance(timedelta(hours=1).total_seconds())
        later = requests.get(server.url + R, headers=AUTH, timeout=10)
    assert [reply.status_code for reply in replies] == [200, 200, 403]
    assert "rate limit exceeded" in replies[2].text
    assert replies[2].headers["X-RateLimit-Remaining"] == "0"
    assert int(replies[2].headers["X-RateLimit-Reset"]) == int((NOON + timedelta(hours=1)).timestamp())
    assert later.status_code == 200


def test_names_are_found_in_any_case(opened: Opened) -> None:
    with opened() as session:
        repo = session.github.get_repo("nvidia-nemo/MEGATRON-bridge")
        assert repo.full_name == "NVIDIA-NeMo/Megatron-Bridge"
        assert repo.get_collaborator_role_name("ADA") == "admin"


@pytest.mark.parametrize(
    ("private", "login", "expected"),
    [
        pytest.param(False, "new", ("read", "read"), id="public-everyone-reads"),
        pytest.param(True, "new", ("none", "none"), id="private-nobody"),
        pytest.param(False, "ops", ("write", "ci-operator"), id="custom-role"),
    ],
)
def test_roles_of_others(private: bool, login: str, expected: tuple[str, str], world: World, opened: Opened) -> None:  # noqa: FBT001
    world.repo.private = private
    world.repo.custom_roles["ci-operator"] = "write"
    world.repo.roles["ops"] = "ci-operator"
    build.add_user(world.state, login)
    with opened() as session:
        repo = session.github.get_repo(world.repo.full_name)
        assert (repo.get_collaborator_permission(login), repo.get_collaborator_role_name(login)) == expected


def test_a_private_repository_is_hidden_and_scoped(world: World) -> None:
    world.repo.private = True
    build.grant(world.state, "reader", permissions={"contents": "read"})
    with serve(world.state) as server:
        answers = [
            requests.get(server.url + R + path, headers=headers, timeout=10).status_code
            for path, headers in (
                ("", {}),
                ("/commits/main", {"Authorization": "token reader"}),
                ("/pulls/1", {"Authorization": "token reader"}),
                ("/pulls/1", AUTH),
            )
        ]
    assert answers == [404, 200, 403, 200]


def test_a_finished_run_cannot_be_cancelled(world: World, opened: Opened) -> None:
    run = build.add_run(world.state, world.repo, world.head, event="schedule")
    run.status, run.conclusion = "completed", "success"
    with opened() as session:
        found = session.github.get_repo(world.repo.full_name).get_workflow_run(run.id)
        assert found.cancel() is False


def test_the_journal_holds_what_was_asked_and_answered_but_no_token(world: World, opened: Opened) -> None:
    with opened() as session:
        session.github.get_repo(world.repo.full_name).get_issue(1).create_comment("hello")
        last = session.server.journal[-1]
    assert (last.method, last.path, last.status, last.login) == (
        "POST",
        f"{R}/issues/1/comments",
        201,
        "github-actions[bot]",
    )
    assert (last.body, last.answer["body"]) == ({"body": "hello"}, "hello")
    assert TOKEN not in repr(session.server.journal)


def test_the_state_survives_json(world: World, opened: Opened) -> None:
    with opened() as session:
        repo = session.github.get_repo(world.repo.full_name)
        repo.get_issue(1).create_comment("hello").create_reaction("eyes")
        repo.create_check_run("n", head_sha=world.head, conclusion="success")
    data = dump(world.state)
    assert dump(load(data)) == data
    world.state = load(data)
    world.repo = world.state.repositories[world.repo.full_name]
    with opened() as session:
        assert [c.body for c in session.github.get_repo(world.repo.full_name).get_issue(1).get_comments()] == ["hello"]


def test_many_clients_at_once_lose_nothing(world: World) -> None:
    with serve(world.state) as server:

        def comment(number: int) -> int:
            address = f"{server.url}{R}/issues/1/comments"
            reply = requests.post(address, json={"body": str(number)}, headers=AUTH, timeout=30)
            return int(reply.json()["id"])

        with ThreadPoolExecutor(8) as pool:
            ids = list(pool.map(comment, range(40)))
    assert len(set(ids)) == len(world.repo.comments) == 40
    assert sorted(comment.body for comment in world.repo.comments.values()) == sorted(map(str, range(40)))
    assert [one.index for one in server.journal] == list(range(40))


def test_a_bug_of_the_server_is_raised_and_not_swallowed(world: World) -> None:
    world.repo.refs["refs/heads/broken"] = "0" * 40

    def session() -> None:
        with serve(world.state) as server:
            with pytest.raises(requests.ConnectionError):
                requests.get(f"{server.url}{R}/commits/broken", headers=AUTH, timeout=10)
            assert requests.get(server.url + R, headers=AUTH, timeout=10).status_code == 200

    with pytest.raises(ExceptionGroup, match="the embedded GitHub crashed") as caught:
        session()
    assert isinstance(caught.value.exceptions[0], KeyError)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"{", id="cut"),
        pytest.param(b"\xff\xfe", id="no-text"),
        pytest.param(b"[" * 200_000, id="deep"),
    ],
)
def test_an_unreadable_body_is_refused(body: bytes, world: World) -> None:
    with serve(world.state) as server:
        reply = requests.post(f"{server.url}{R}/issues/1/comments", data=body, headers=AUTH, timeout=10)
    assert (reply.status_code, json.loads(reply.text)["message"]) == (400, "Problems parsing JSON")


def test_a_body_that_is_too_large_is_not_read(world: World) -> None:
    with serve(world.state) as server:
        headers = {**AUTH, "Content-Length": str(10**12)}
        reply = requests.post(f"{server.url}{R}/issues/1/comments", data=iter(()), headers=headers, timeout=10)
    assert (reply.status_code, world.repo.comments) == (413, {})


def test_a_server_closes_with_clients_still_connected(world: World) -> None:
    with requests.Session() as client:
        with serve(world.state) as server:
            assert client.get(server.url + R, headers=AUTH, timeout=10).status_code == 200
        with pytest.raises(requests.ConnectionError):
            client.get(server.url + R, headers=AUTH, timeout=10)


def test_a_comment_of_somebody_else_can_be_edited_with_write_permission(world: World, opened: Opened) -> None:
    comment = build.add_comment(world.state, world.repo, 1, author="rea", body="mine")
    with opened() as session:
        session.github.get_repo(world.repo.full_name).get_issue(1).get_comment(comment.id).edit("not mine")
    assert (comment.body, comment.user) == ("not mine", "rea")


def test_a_missing_account_is_shown_as_ghost(world: World, opened: Opened) -> None:
    comment = build.add_comment(world.state, world.repo, 1, author="gone", body="x")
    del world.state.users["gone"]
    with opened() as session:
        found = session.github.get_repo(world.repo.full_name).get_issue(1).get_comment(comment.id)
        assert found.user.login == "ghost"
        with pytest.raises(GithubException, match="gone is not a user"):
            session.github.get_repo(world.repo.full_name).get_collaborator_permission("gone")
