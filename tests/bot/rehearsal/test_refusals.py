"""What the embedded GitHub refuses, and with which words; every refusal has the shape that GitHub publishes."""

from typing import Any

import msgspec
import pytest
import requests

from bot.rehearsal import build
from bot.rehearsal.server import serve
from tests.bot.rehearsal.conftest import PERSONAL, TOKEN, Opened, World

R = "/repos/NVIDIA-NeMo/Megatron-Bridge"
Json = Any
"""Any JSON value."""
SHA = "@head"
"""Stands for the pull request's head in the table."""
READER, ELSEWHERE, ISSUES, PERSON, PULLS = "reader", "elsewhere", "issues-only", "person", "pulls-only"
BASE: dict[str, Any] = {"name": "n", "head_sha": SHA}


def out(**fields: object) -> dict[str, Any]:
    return {**BASE, "output": {"title": "t", "summary": "s", **fields}}


def note(count: int) -> list[dict[str, Any]]:
    return [{"path": "p", "start_line": 1, "end_line": 1, "annotation_level": "notice", "message": "m"}] * count


@pytest.fixture
def tokens(world: World) -> None:
    build.grant(world.state, READER, permissions={"contents": "read", "checks": "read"})
    build.grant(world.state, ELSEWHERE, repository="NVIDIA/Megatron-LM")
    build.grant(world.state, ISSUES, permissions={"issues": "write"})
    build.grant(world.state, PULLS, permissions={"pull-requests": "write"})
    build.grant(world.state, PERSON, app=None, login="mia", permissions={"checks": "write"})
    world.repo.issues[9] = build.open_pull(
        world.state, world.repo, world.git.path, head="topic", author="rea", number=9
    )
    world.repo.issues[9].pull = None


@pytest.mark.usefixtures("tokens")
@pytest.mark.parametrize(
    ("token", "method", "path", "body", "status", "says"),
    [
        pytest.param("forged", "GET", R, None, 401, "Bad credentials", id="401-unknown-token"),
        pytest.param(None, "POST", f"{R}/issues/1/comments", {"body": "b"}, 401, "Requires auth", id="401-no-token"),
        pytest.param(TOKEN, "GET", "/user", None, 403, "not accessible by integration", id="403-user-of-a-job-token"),
        pytest.param(READER, "POST", f"{R}/check-runs", BASE, 403, "by integration", id="403-checks-read-only"),
        pytest.param(READER, "POST", f"{R}/issues/1/comments", {"body": "b"}, 403, "by integration", id="403-comment"),
        pytest.param(READER, "POST", f"{R}/actions/runs/7/cancel", None, 403, "by integration", id="403-cancel"),
        pytest.param(ELSEWHERE, "POST", f"{R}/check-runs", BASE, 403, "by integration", id="403-other-repository"),
        pytest.param(ISSUES, "POST", f"{R}/check-runs", BASE, 403, "by integration", id="403-only-issues"),
        pytest.param(PERSONAL, "POST", f"{R}/check-runs", BASE, 403, "personal access token", id="403-person-no-scope"),
        pytest.param(PERSON, "POST", f"{R}/check-runs", BASE, 403, "via a GitHub App", id="403-person-with-scope"),
        pytest.param(PERSON, "PATCH", f"{R}/check-runs/1", BASE, 403, "via a GitHub App", id="403-person-updates"),
        pytest.param(PULLS, "POST", f"{R}/issues/9/comments", {"body": "b"}, 403, "by integration", id="403-issue"),
        pytest.param(TOKEN, "GET", f"{R}/issues/5", None, 404, "Not Found", id="404-issue"),
        pytest.param(TOKEN, "GET", f"{R}/actions/runs/5", None, 404, "Not Found", id="404-run"),
        pytest.param(TOKEN, "PATCH", f"{R}/issues/comments/5", {"body": "b"}, 404, "Not Found", id="404-no-comment"),
        pytest.param(
            TOKEN, "POST", f"{R}/check-runs", out(annotations=7), 422, "not a list", id="422-annotations-no-list"
        ),
        pytest.param(
            TOKEN,
            "POST",
            f"{R}/check-runs",
            out(annotations=[{**note(1)[0], "end_line": 2, "start_column": 1}]),
            422,
            "start_column",
            id="422-columns-over-lines",
        ),
        pytest.param(TOKEN, "GET", "/repos/NVIDIA-NeMo/None", None, 404, "Not Found", id="404-repository"),
        pytest.param(TOKEN, "GET", f"{R}/pulls/2", None, 404, "Not Found", id="404-pull"),
        pytest.param(TOKEN, "GET", f"{R}/pulls/9", None, 404, "Not Found", id="404-issue-is-no-pull"),
        pytest.param(TOKEN, "GET", f"{R}/pulls/{'9' * 5000}", None, 404, "Not Found", id="404-endless-number"),
        pytest.param(TOKEN, "GET", f"{R}/pulls/²", None, 404, "Not Found", id="404-digit-of-another-script"),
        pytest.param(TOKEN, "GET", f"{R}/issues/comments/5", None, 404, "Not Found", id="404-comment"),
        pytest.param(TOKEN, "PATCH", f"{R}/check-runs/5", {"status": "queued"}, 404, "Not Found", id="404-check"),
        pytest.param(TOKEN, "GET", f"{R}/git/ref/heads/none", None, 404, "Not Found", id="404-ref"),
        pytest.param(TOKEN, "GET", f"{R}/contents/none.yml", None, 404, "Not Found", id="404-file"),
        pytest.param(TOKEN, "GET", f"{R}/contents/README.md?ref=none", None, 404, "No commit", id="404-ref-of-a-file"),
        pytest.param(TOKEN, "GET", f"{R}/compare/main...none", None, 404, "Not Found", id="404-compare"),
        pytest.param(TOKEN, "GET", f"{R}/compare/main", None, 404, "Not Found", id="404-compare-one-side"),
        pytest.param(TOKEN, "GET", f"{R}/collaborators/who/permission", None, 404, "not a user", id="404-account"),
        pytest.param(TOKEN, "DELETE", f"{R}/issues/1/labels/x", None, 404, "Label does not exist", id="404-label"),
        pytest.param(TOKEN, "GET", f"{R}/commits/{'0' * 40}", None, 422, "No commit found", id="422-commit"),
        pytest.param(TOKEN, "GET", f"{R}/commits/none/check-runs", None, 422, "No commit found", id="422-checks-of"),
        pytest.param(TOKEN, "POST", f"{R}/issues/1/comments", {}, 422, "missing_field", id="422-no-body"),
        pytest.param(TOKEN, "POST", f"{R}/issues/1/comments", {"body": " "}, 422, "missing_field", id="422-blank"),
        pytest.param(
            TOKEN, "POST", f"{R}/issues/1/comments", {"body": "x" * 65_537}, 422, "too long", id="422-comment-65537"
        ),
        pytest.param(
            TOKEN, "POST", f"{R}/issues/1/reactions", {"content": "smile"}, 422, "Validation", id="422-reaction"
        ),
        pytest.param(TOKEN, "POST", f"{R}/issues/1/labels", {"labels": []}, 422, "Validation", id="422-no-labels"),
        pytest.param(
            TOKEN, "POST", f"{R}/issues/1/labels", {"labels": ["x" * 51]}, 422, "Validation", id="422-label-51"
        ),
        pytest.param(TOKEN, "POST", f"{R}/check-runs", {"name": "n"}, 422, "wasn't supplied", id="422-no-head-sha"),
        pytest.param(TOKEN, "POST", f"{R}/check-runs", {"head_sha": SHA}, 422, "wasn't supplied", id="422-no-name"),
        pytest.param(
            TOKEN, "POST", f"{R}/check-runs", {**BASE, "head_sha": "0" * 40}, 422, "No commit", id="422-unknown-head"
        ),
        pytest.param(TOKEN, "POST", f"{R}/check-runs", {**BASE, "status": "waiting"}, 422, "status", id="422-status"),
        pytest.param(
            TOKEN, "POST", f"{R}/check-runs", {**BASE, "conclusion": "ok"}, 422, "conclusion", id="422-conclusion"
        ),
        pytest.param(
            TOKEN, "POST", f"{R}/check-runs", {**BASE, "conclusion": "stale"}, 422, "conclusion", id="422-stale"
        ),
        pytest.param(
            TOKEN, "POST", f"{R}/check-runs", {**BASE, "status": "completed"}, 422, "conclusion", id="422-no-conclusion"
        ),
        pytest.param(TOKEN, "POST", f"{R}/check-runs", {**BASE, "started_at": "soon"}, 422, "date-time", id="422-time"),
        pytest.param(
            TOKEN, "POST", f"{R}/check-runs", {**BASE, "external_id": 7}, 422, "not a string", id="422-external-id"
        ),
        pytest.param(TOKEN, "POST", f"{R}/check-runs", {**BASE, "output": {}}, 422, "title and", id="422-output"),
        pytest.param(
            TOKEN, "POST", f"{R}/check-runs", out(summary="x" * 65_536), 422, "Only 65535", id="422-summary-65536"
        ),
        pytest.param(TOKEN, "POST", f"{R}/check-runs", out(text="x" * 65_536), 422, "Only 65535", id="422-text-65536"),
        pytest.param(
            TOKEN, "POST", f"{R}/check-runs", out(annotations=note(51)), 422, "No more than 50", id="422-51-annotations"
        ),
        pytest.param(
            TOKEN, "POST", f"{R}/check-runs", out(annotations=[{"path": "p"}]), 422, "annotation", id="422-annotation"
        ),
        pytest.param(
            TOKEN, "POST", f"{R}/check-runs", {**BASE, "actions": [{}] * 4}, 422, "3 actions", id="422-4-actions"
        ),
        pytest.param(TOKEN, "POST", f"{R}/check-runs", ["n"], 400, "JSON object", id="400-not-an-object"),
    ],
)
def test_refusal(
    token: str | None, method: str, path: str, body: Json, status: int, says: str, world: World, opened: Opened
) -> None:
    sent = {**body, "head_sha": world.head} if isinstance(body, dict) and body.get("head_sha") == SHA else body
    before = msgspec.json.encode(world.state.repositories)
    with opened() as session:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        reply = requests.request(method, session.server.url + path, json=sent, headers=headers, timeout=10)
        assert (reply.status_code, says in reply.text) == (status, True), reply.text
    assert msgspec.json.encode(world.state.repositories) == before


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("GET", f"{R}/branches/main/protection", id="not-built"),
        pytest.param("PUT", f"{R}/pulls/1/merge", id="never-to-be-built"),
        pytest.param("POST", f"{R}/pulls/1", id="wrong-method"),
        pytest.param("GET", "/", id="root"),
        pytest.param("GET", f"{R}/contents%2F..%2F..", id="escaped"),
    ],
)
def test_an_operation_that_is_not_there_is_recorded(method: str, path: str, world: World) -> None:
    with serve(world.state) as server:
        reply = requests.request(method, server.url + path, headers={"Authorization": f"token {TOKEN}"}, timeout=10)
    assert reply.status_code == 404
    assert server.unhandled == [f"{method} {path}"]
