"""Each scenario's trees, run on real Ray and judged; and no criterion can go without a scenario noticing."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from bot.rehearsal import direct, leftovers, scenarios, workspace
from levels import catalogue, signatures
from levels.bundles import read_bundle
from levels.catalogue import Catalogue
from levels.judge import Bundle, judge_plan
from levels.model import Suite
from levels.plan import Plan
from levels.verdict import LegVerdict, Met

HERE = Path(__file__).parent
EXPECTED: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "expected.yaml").read_text(encoding="utf-8"))
JOINED = "+"


def scenario_of(names: str) -> scenarios.Scenario:
    chosen = [scenarios.named(name) for name in names.split(JOINED)]
    return scenarios.Scenario(
        id="joined",
        says=names,
        edits=tuple(edit for one in chosen for edit in one.edits),
        phase_seconds=chosen[0].phase_seconds,
    )


@pytest.fixture
def root() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="e2e-", dir=workspace.PARENT))
    yield path
    leftovers.end_leftovers(path)
    shutil.rmtree(path)


def without(known: Catalogue, suite: Suite, criterion: str) -> Catalogue:
    """The catalogue as it would be if somebody deleted that criterion from the suite's YAML."""
    levels = tuple(
        msgspec.structs.replace(level, criteria=tuple(one for one in level.criteria if one.id != criterion))
        if level.suite is suite
        else level
        for level in known.levels
    )
    return msgspec.structs.replace(known, levels=levels)


def read(plan: Plan, evidence: Path) -> dict[str, Bundle | None]:
    return {leg.id: read_bundle(evidence / leg.id, signatures.load(leg.suite)) for leg in plan.legs}


def judged(plan: Plan, bundles: dict[str, Bundle | None], known: Catalogue) -> dict[str, LegVerdict]:
    knowledge = {suite.value: signatures.load(suite) for suite in Suite}
    return {leg.suite.value: leg for leg in judge_plan(plan, bundles, known, knowledge).legs}


def differences(verdict: LegVerdict, expected: dict[str, Any]) -> list[str]:
    """What is not as expected, in words."""
    unmet = {one.id for one in verdict.criteria if one.met in {Met.UNMET, Met.UNVERIFIED}}
    first = f"{verdict.first_error.text if verdict.first_error else ''} {verdict.sentence}"
    checks = {
        f"outcome {verdict.outcome}": verdict.outcome.value == expected["outcome"],
        f"boundary {verdict.boundary}": verdict.boundary == expected.get("boundary", verdict.boundary),
        f"not met: {sorted(unmet)}": set(expected.get("unmet", ())) <= unmet
        and unmet == set(expected.get("only", unmet)),
        f"first error {first!r}": expected.get("error", "") in first,
    }
    return [found for found, holds in checks.items() if not holds]


def cases() -> Iterator[Any]:
    for names, entry in EXPECTED.items():
        marks = [pytest.mark.exhaustive] if entry.get("exhaustive") else []
        yield pytest.param(names, marks=marks, id=names)


@pytest.mark.ray
@pytest.mark.parametrize("names", list(cases()))
def test_what_comes_of_the_trees(names: str, root: Path) -> None:
    expected = EXPECTED[names]
    made = workspace.make(root, scenario_of(names))
    plan = direct.plan_of(made)
    direct.run_legs(made, plan, root / "evidence")
    assert leftovers.of(root) == []
    assert list((root / workspace.TEMPORARY).iterdir()) == [], "the runner leaves no TMPDIR of a leg"

    known = catalogue.load(made.product / "levels")
    bundles = read(plan, root / "evidence")
    found = judged(plan, bundles, known)
    assert {suite: differences(found[suite], expected[suite]) for suite in found} == {suite: [] for suite in found}
    for suite in Suite:
        for criterion in named_by(expected[suite.value]):
            poorer = judged(plan, bundles, without(known, suite, criterion))
            assert differences(poorer[suite.value], expected[suite.value]) != [], f"nobody misses {suite} {criterion}"


def named_by(expected: dict[str, Any]) -> set[str]:
    return {*expected.get("unmet", ()), *expected.get("only", ())}


@pytest.mark.parametrize("suite", list(Suite))
def test_every_criterion_is_missed_by_a_scenario_that_always_runs(suite: Suite) -> None:
    (level,) = (level for level in catalogue.load().levels if level.suite is suite and level.number == 0)
    always = [entry[suite.value] for entry in EXPECTED.values() if not entry.get("exhaustive")]
    # A line about something left out, and how closely two engines agree, are shown on logs: tests/levels holds each.
    on_logs = {"nothing-skipped", "rollout-diff-mean", "rollout-compared", "gen-kl-agrees"}
    assert {one.id for one in level.criteria} - on_logs == set().union(*(named_by(one) for one in always)) - on_logs


def test_every_scenario_has_an_expectation() -> None:
    deeper = {
        case["scenario"] for path in HERE.glob("levels_*.yaml") for case in yaml.safe_load(path.read_text("utf-8"))
    }
    named = {name for names in EXPECTED for name in names.split(JOINED)}
    assert {one.id for one in scenarios.load()} == named | deeper


@pytest.mark.parametrize("scenario", scenarios.load(), ids=lambda one: one.id)
def test_the_product_never_sees_a_scenarios_name(scenario: scenarios.Scenario, root: Path) -> None:
    if scenario.id in {"pass", "hang"}:
        pytest.skip("also an ordinary word")
    workspace.make(root, scenario)
    plain = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    assert [path for path in plain if scenario.id.encode() in path.read_bytes()] == []
    assert [path for path in root.rglob("*") if scenario.id in path.name] == []
