"""The checker itself: it must see what is wrong, and the fixture must be the one that the generator makes."""

import copy
import gzip
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from bot.rehearsal.routes import ROUTES
from bot.rehearsal.server import Exchange
from tests.bot.rehearsal.conftest import Opened, World
from tests.tools.openapi_check import FIXTURE, Checker
from tests.tools.trim_openapi import trim

Json = Any
"""Any JSON value."""
Plant = Callable[[Json], object]


def exchanges(world: World, opened: Opened) -> list[Exchange]:
    """Six good exchanges: two reads and four writes."""
    with opened() as session:
        repo = session.github.get_repo(world.repo.full_name)
        pull = repo.get_pull(1)
        list(pull.get_files())
        pull.create_issue_comment("a").create_reaction("eyes")
        run = repo.create_check_run("bridge-e2e", head_sha=world.head)
        run.edit(status="completed", conclusion="success", output={"title": "t", "summary": "s"})
        return session.server.journal


@pytest.mark.parametrize(
    ("end", "method", "plant", "expected"),
    [
        pytest.param("pulls/1", "GET", lambda a: a.pop("mergeable"), "'mergeable' is a required", id="missing"),
        pytest.param("pulls/1", "GET", lambda a: a.update(number="1"), "$.number", id="wrong-type"),
        pytest.param("pulls/1", "GET", lambda a: a.update(head_sha="x"), "'head_sha' was unexpected", id="invented"),
        pytest.param("pulls/1", "GET", lambda a: a["user"].pop("id"), "$.user: 'id'", id="missing-inside"),
        pytest.param("pulls/1", "GET", lambda a: a["head"]["repo"].pop("id"), "$.head.repo: 'id'", id="deep"),
        pytest.param("pulls/1", "GET", lambda a: a["base"].update(repo=None), "$.base.repo", id="null-base-repository"),
        pytest.param("pulls/1", "GET", lambda a: a.update(created_at="yesterday"), "'date-time'", id="not-a-time"),
        pytest.param("pulls/1", "GET", lambda a: a.update(url="nowhere"), "'uri'", id="not-an-address"),
        pytest.param("pulls/1/files", "GET", lambda a: a[0].update(status="touched"), "$[0].status", id="not-in-enum"),
        pytest.param("comments", "POST", lambda a: a.pop("user"), "'user' is a required", id="comment"),
        pytest.param("reactions", "POST", lambda a: a.update(content="smile"), "$.content", id="reaction"),
        pytest.param("check-runs", "POST", lambda a: a["app"].pop("id"), "$.app", id="app-of-a-check"),
        pytest.param("check-runs", "POST", lambda a: a.update(conclusion="done"), "$.conclusion", id="conclusion"),
    ],
)
def test_a_planted_mistake_in_an_answer_is_found(
    end: str, method: str, plant: Plant, expected: str, world: World, opened: Opened
) -> None:
    good = next(one for one in exchanges(world, opened) if one.path.endswith(end) and one.method == method)
    answer = copy.deepcopy(good.answer)
    plant(answer)
    checker = Checker()
    checker(good)
    assert checker.findings == []
    checker(msgspec.structs.replace(good, answer=answer))
    assert len(checker.findings) == 1
    assert expected in checker.findings[0]


@pytest.mark.parametrize(
    ("method", "plant", "expected"),
    [
        pytest.param("POST", lambda b: b.update(colour="red"), "'colour' was unexpected", id="invented"),
        pytest.param("POST", lambda b: b.pop("head_sha"), "'head_sha' is a required", id="missing"),
        pytest.param("POST", lambda b: b.update(status="stuck"), "$.status", id="status"),
        pytest.param("POST", lambda b: b.update(external_id=1), "$.external_id", id="type"),
        pytest.param("PATCH", lambda b: b["output"].update(summary="x" * 65_536), "too long", id="too-long"),
        pytest.param("PATCH", lambda b: b["output"].pop("summary"), "'summary' is a required", id="no-summary"),
        pytest.param("PATCH", lambda b: b.pop("conclusion"), "$.status: 'completed'", id="no-conclusion"),
    ],
)
def test_a_planted_mistake_in_a_request_is_found(
    method: str, plant: Plant, expected: str, world: World, opened: Opened
) -> None:
    good = next(one for one in exchanges(world, opened) if "/check-runs" in one.path and one.method == method)
    body = copy.deepcopy(good.body)
    plant(body)
    checker = Checker()
    checker(msgspec.structs.replace(good, body=body))
    assert len(checker.findings) == 1
    assert expected in checker.findings[0]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"query": {"per_pages": "100"}}, "query per_pages: not a parameter", id="misspelt-parameter"),
        pytest.param({"query": {"per_page": "many"}}, "query per_page", id="not-a-number"),
        pytest.param({"status": 299}, "a status that GitHub's description does not have", id="status"),
        pytest.param({"template": None}, "no such operation", id="unhandled"),
        pytest.param({"template": "/repos/{owner}/{repo}/merge-it"}, "in GitHub's description", id="unknown-to-github"),
        pytest.param({"body": {"a": 1}}, "a body where none is taken", id="body-of-a-read"),
    ],
)
def test_a_planted_mistake_around_them_is_found(
    changes: dict[str, Json], expected: str, world: World, opened: Opened
) -> None:
    good = next(one for one in exchanges(world, opened) if one.path.endswith("/files"))
    checker = Checker()
    checker(msgspec.structs.replace(good, **changes))
    assert len(checker.findings) == 1
    assert expected in checker.findings[0]


def test_the_fixture_is_small_and_names_where_it_comes_from() -> None:
    data = FIXTURE.read_bytes()
    description = json.loads(gzip.decompress(data))
    assert len(data) < 1_000_000
    assert description["x-origin"] == {
        "package": "@octokit/openapi",
        "version": "23.0.2",
        "file": "generated/api.github.com.json",
        "license": "MIT",
    }


def test_the_fixture_has_exactly_the_operations_that_the_server_has() -> None:
    description = json.loads(gzip.decompress(FIXTURE.read_bytes()))
    assert {(m.upper(), path) for path, item in description["paths"].items() for m in item} == {
        (route.method, route.template) for route in ROUTES
    }


def test_trimming_keeps_what_is_referred_to_and_properties_named_like_prose() -> None:
    title = {"type": "string", "description": "the title"}
    whole = {
        "openapi": "3.0.3",
        "paths": {
            "/a": {"get": {"summary": "s", "responses": {"200": {"$ref": "#/components/responses/one"}}}},
            "/b": {"get": {"responses": {}}},
        },
        "components": {
            "responses": {"one": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/s"}}}}},
            "schemas": {"s": {"type": "object", "title": "S", "properties": {"title": title}}, "unused": {}},
        },
    }
    assert trim(whole, {("GET", "/a")}, set()) == {
        "openapi": "3.0.3",
        "paths": {"/a": {"get": {"responses": {"200": {"$ref": "#/components/responses/one"}}}}},
        "components": {
            "responses": {"one": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/s"}}}}},
            "schemas": {"s": {"type": "object", "properties": {"title": {"type": "string"}}}},
        },
    }
