"""`extends` and `like`: what is inherited, merged, replaced and dropped."""

from typing import Any

import pytest

from levels.errors import ConfigError
from levels.expand import expand


def levels(*own: dict[str, Any]) -> list[dict[str, Any]]:
    base = {
        "number": 0,
        "title": "base",
        "phases": [{"id": "train", "env": {"A": "1", "B": "2"}, "overrides": ["x=1"], "steps": 1}],
        "criteria": [{"id": "one"}, {"id": "two"}],
        "variants": [{"id": "eager"}],
        "limitations": [{"says": "text only"}],
    }
    done = expand({"version": 1, "levels": [base, *own]}, path="f.yaml")
    assert isinstance(done, dict)
    found: list[dict[str, Any]] = done["levels"]
    return found


def test_a_level_starts_from_the_one_that_it_extends() -> None:
    own = {"number": 1, "extends": 0, "title": "more", "limitations": [{"says": "short"}]}
    one = levels(own)[1]
    assert (one["number"], one["title"]) == (1, "more")
    assert one["phases"][0]["env"] == {"A": "1", "B": "2"}
    assert [item["says"] for item in one["limitations"]] == ["text only", "short"]
    assert "extends" not in one


@pytest.mark.parametrize(
    ("own", "ids"),
    [
        pytest.param({"criteria": [{"id": "three"}]}, ["one", "two", "three"], id="added"),
        pytest.param({"drops": {"criteria": ["one"]}}, ["two"], id="dropped"),
        pytest.param({"criteria": [{"id": "one", "says": "new"}]}, ["one", "two"], id="replaced-in-place"),
        pytest.param(
            {"criteria": [{"id": "x"}, {"id": "x"}]}, ["one", "two", "x", "x"], id="doubles-stay-to-be-refused"
        ),
    ],
)
def test_criteria_are_kept_by_id(own: dict[str, Any], ids: list[str]) -> None:
    criteria = levels({"number": 1, "extends": 0, **own})[1]["criteria"]
    assert [item["id"] for item in criteria] == ids
    if ids == ["one", "two"] and "criteria" in own:
        assert criteria[0]["says"] == "new"


def test_a_phase_starts_from_the_one_that_it_is_like() -> None:
    phases = [
        {"id": "save", "like": "train", "env": {"B": "3"}, "overrides": ["y=2"]},
        {"id": "resume", "like": "save", "env": {"C": "4"}, "steps": 2},
    ]
    save, resume = levels({"number": 1, "extends": 0, "phases": phases})[1]["phases"]
    assert save == {"id": "save", "env": {"A": "1", "B": "3"}, "overrides": ["x=1", "y=2"], "steps": 1}
    assert resume == {"id": "resume", "env": {"A": "1", "B": "3", "C": "4"}, "overrides": ["x=1", "y=2"], "steps": 2}


def test_a_variant_s_phase_starts_from_the_level_s() -> None:
    variant = {"id": "more", "extra_phases": [{"id": "again", "like": "train", "overrides": ["z=3"]}]}
    (_, found) = levels({"number": 1, "extends": 0, "variants": [variant]})[1]["variants"]
    assert found["extra_phases"][0]["overrides"] == ["x=1", "z=3"]


@pytest.mark.parametrize(
    ("own", "key"),
    [
        pytest.param({"number": 1, "extends": 5}, "levels[1].extends", id="unknown-level"),
        pytest.param({"number": 1, "extends": [0]}, "levels[1].extends", id="no-number"),
        pytest.param({"number": 1, "extends": 0, "drops": {"criteria": ["nine"]}}, "drops.criteria", id="unknown-drop"),
        pytest.param(
            {"number": 1, "extends": 0, "phases": [{"id": "a", "like": "b"}]}, "phases[0].like", id="unknown-phase"
        ),
    ],
)
def test_a_base_that_does_not_come_before_is_refused(own: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match="come") as caught:
        levels(own)
    assert key in str(caught.value)


@pytest.mark.parametrize("data", [None, [], {"levels": None}, {"levels": ["x", 3]}, {"levels": [{"phases": "x"}]}])
def test_another_shape_is_left_to_the_type_check(data: object) -> None:
    expand(data, path="f.yaml")
