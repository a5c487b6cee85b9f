"""Which Bridge tests a change calls for, and what their results make of the verdict."""

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from levels import catalogue, rulebook, rules
from levels.bridge_tests import groups_for
from levels.changes import Change, Status
from levels.evidence import BaseRun, CheckFailure, ChecksRun, GroupRun
from levels.judge import judge_leg
from levels.model import Boundary, CheckGroup, Outcome, Suite, Trait
from levels.verdict import LegVerdict
from tests.levels.judging import CATALOGUE, changed, evidence, knowledge, leg, read

S = "src/megatron/bridge/"
U = "tests/unit_tests/"
F = "tests/functional_tests/test_groups/models/"


def named(
    paths: list[str], traits: frozenset[Trait] = frozenset(), status: Status = Status.MODIFIED
) -> dict[str, CheckGroup]:
    return {group.id: group for group in groups_for([Change(path=path, status=status) for path in paths], traits)}


@pytest.mark.parametrize(
    ("path", "patterns"),
    [
        pytest.param(
            S + "models/qwen/qwen3_bridge.py",
            [U + "models/qwen/test_qwen3_bridge*.py", U + "**/test_qwen3_bridge.py"],
            id="a-family's-file",
        ),
        pytest.param(S + "peft/utils.py", [U + "peft/test_utils*.py"], id="a-common-name-only-in-its-folder"),
        pytest.param(S + "models/olmoe/__init__.py", [U + "models/olmoe/test_*.py"], id="a-package"),
        pytest.param(U + "models/qwen/test_new.py", [U + "models/qwen/test_new.py"], id="a-changed-test"),
        pytest.param("docs/index.md", [], id="outside"),
        pytest.param(S + "models/qwen/notes.txt", [], id="no-python"),
        pytest.param(S + "models/$(id)/x_bridge.py", [], id="a-name-that-no-test-has"),
        pytest.param(S + "models/-p/evil.py", [], id="a-name-that-looks-like-an-option"),
        pytest.param("../" + U + "test_x.py", [], id="a-way-out"),
    ],
)
def test_the_tests_of_a_changed_file(path: str, patterns: list[str]) -> None:
    found = named([path]).get("model-specific")
    assert list(found.tests if found else ()) == patterns


def test_a_removed_test_is_not_asked_for() -> None:
    assert not named([U + "models/qwen/test_old.py"], status=Status.REMOVED)


def test_a_new_family_has_its_minimum_evidence() -> None:
    groups = named([S + "models/newton/newton_bridge.py"], status=Status.ADDED)
    assert {name: group.needed for name, group in groups.items()} == {
        "model-specific": False,
        "provider-config": True,
        "mapping": True,
        "conversion": True,
        "generation": False,
    }
    assert any(
        fnmatch.fnmatch(F + "newton/test_newton_conversion.py", item.replace("**/", ""))
        for item in groups["conversion"].tests
    )


@pytest.mark.parametrize("trait", [Trait.VLM, Trait.AUDIO])
def test_a_text_only_smoke_lists_conversion_and_inference_tests(trait: Trait) -> None:
    groups = named([S + "models/qwen_vl/qwen3_vl_provider.py"], frozenset({trait}))
    assert {name: group.needed for name, group in groups.items() if name != "model-specific"} == {
        "conversion": False,
        "generation": False,
    }


@given(st.lists(st.text(max_size=60).map(lambda text: S + "models/" + text), max_size=5))
def test_no_path_makes_a_pattern_that_leads_elsewhere(paths: list[str]) -> None:
    for group in named(paths, status=Status.ADDED).values():
        assert all(test.startswith("tests/") and ".." not in test.split("/") for test in group.tests)


def test_the_selection_carries_the_groups_to_the_legs() -> None:
    changes = [Change(path=S + "models/qwen/qwen3_bridge.py", status=Status.MODIFIED)]
    selection = rules.select(changes, catalogue.load(), rulebook.load())
    assert [group.id for group in selection.checks] == ["model-specific"]
    assert not rules.select(["docs/x.md"], catalogue.load(), rulebook.load()).checks


NEEDED = CheckGroup(id="conversion", title="roundtrip", tests=("t",), needed=True, because="new")
OFFERED = changed(NEEDED, id="generation", title="generation", needed=False)
PASSED = ChecksRun(command=("pytest",), exit_code=0, passed=3)
OWN = CheckFailure(test="test_names", file="tests/t.py", error="AssertionError: x")
FAILED = ChecksRun(command=("pytest",), exit_code=1, passed=2, failed=1, failures=(OWN,))
ABSENT = ChecksRun(command=("pytest",), exit_code=None, skipped_because="no file of the checkout matches t")
ONLY_SKIPPED = ChecksRun(command=("pytest",), exit_code=0, skipped=3)


def with_groups(*found: tuple[CheckGroup, ChecksRun | None], focused: ChecksRun = PASSED) -> LegVerdict:
    of = changed(leg(Suite.VERL), check_groups=tuple(group for group, _ in found))
    runs = tuple(GroupRun(id=group.id, run=run) for group, run in found if run is not None)
    given_evidence = changed(evidence(of), bridge_checks=focused, check_groups=runs)
    return judge_leg(of, given_evidence, read(Suite.VERL), CATALOGUE, knowledge(Suite.VERL))


@pytest.mark.parametrize(
    ("group", "run", "outcome", "status"),
    [
        pytest.param(NEEDED, PASSED, Outcome.PASS, "Pass", id="needed-passed"),
        pytest.param(NEEDED, FAILED, Outcome.FAIL, "Fail", id="needed-failed"),
        pytest.param(NEEDED, ABSENT, Outcome.BLOCKED, "Skipped", id="needed-not-there"),
        pytest.param(NEEDED, ONLY_SKIPPED, Outcome.BLOCKED, "Skipped", id="needed-all-skipped"),
        pytest.param(NEEDED, None, Outcome.BLOCKED, "Skipped", id="needed-no-evidence"),
        pytest.param(OFFERED, PASSED, Outcome.PASS, "Pass", id="offered-passed"),
        pytest.param(OFFERED, FAILED, Outcome.FAIL, "Fail", id="offered-failed"),
        pytest.param(OFFERED, ABSENT, Outcome.PASS, "Skipped", id="offered-not-there"),
        pytest.param(OFFERED, None, Outcome.PASS, "Skipped", id="offered-no-evidence"),
    ],
)
def test_a_group_has_its_row_and_its_say(
    group: CheckGroup, run: ChecksRun | None, outcome: Outcome, status: str
) -> None:
    verdict = with_groups((group, run))
    assert verdict.outcome is outcome, verdict.sentence
    (row,) = [item for item in verdict.deliverables if item.name.endswith(group.title)]
    assert row.status == status
    assert verdict.deliverables[0].name == "Bridge-side checks"
    if outcome is not Outcome.PASS:
        assert verdict.boundary is Boundary.BRIDGE_CHECKS


def test_a_new_family_s_last_evidence_is_the_smoke_itself() -> None:
    names = [item.name for item in with_groups((NEEDED, PASSED)).deliverables]
    assert names[5:] == ["Bridge-side checks, roundtrip", "Bridge-side checks, this verl smoke after them"]


@pytest.mark.parametrize(
    ("base", "outcome", "said"),
    [
        pytest.param(None, Outcome.FAIL, "1 failed", id="nobody-asked"),
        pytest.param(BaseRun(commit="a" * 40), Outcome.FAIL, "1 of them pass on the merge base aaaaaaaaa", id="new"),
        pytest.param(
            BaseRun(commit="a" * 40, failed=("test_names",)), Outcome.BLOCKED, "fail on the merge base too", id="known"
        ),
        pytest.param(
            BaseRun(commit="a" * 40, failed=("test_names",), problem="it did not end"),
            Outcome.FAIL,
            "it did not end",
            id="nobody-knows",
        ),
    ],
)
def test_a_failing_test_is_asked_whether_it_failed_before(base: BaseRun | None, outcome: Outcome, said: str) -> None:
    verdict = with_groups(focused=changed(FAILED, base=base))
    assert verdict.outcome is outcome
    assert said in verdict.sentence


def test_one_new_failure_among_known_ones_is_the_change_s() -> None:
    other = CheckFailure(test="test_other", file="tests/t.py", error="ValueError: y")
    run = changed(FAILED, failed=2, failures=(OWN, other), base=BaseRun(commit="a" * 40, failed=("test_names",)))
    verdict = with_groups(focused=run)
    assert verdict.outcome is Outcome.FAIL
    assert verdict.first_error is not None
    assert "test_other" in verdict.first_error.text
