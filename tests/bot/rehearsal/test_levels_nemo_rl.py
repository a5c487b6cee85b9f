"""NeMo-RL's levels end to end on the miniatures: what passes, and what each level alone must notice."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.rehearsal import direct, leftovers, models, scenarios, workspace
from levels import catalogue, signatures
from levels.bundles import read_bundle
from levels.judge import judge_plan
from levels.model import Level, Suite, Trait
from levels.shapes import shapes_for
from levels.verdict import LegVerdict, Met

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "levels_nemo_rl.yaml").read_text("utf-8"))
KNOWLEDGE = {suite.value: signatures.load(suite) for suite in Suite}


@pytest.fixture
def root() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="e2e-", dir=workspace.PARENT))
    yield path
    leftovers.end_leftovers(path)
    shutil.rmtree(path)


def traits_of(case: dict[str, Any]) -> frozenset[Trait] | None:
    return frozenset(Trait(name) for name in case["traits"]) if "traits" in case else None


def ran(case: dict[str, Any], root: Path) -> LegVerdict:
    """The verdict of the only leg of the case."""
    made = workspace.make(root, scenarios.named(case["scenario"]))
    if not case.get("without_data"):
        models.make(root / "data", "eagle3-draft")
        made.site.write_text(made.site.read_text("utf-8") + f"data: {root / 'data'}\n", "utf-8")
    plan = direct.plan_of(
        made,
        (Suite.NEMO_RL,),
        level=case["level"],
        variants=tuple(case.get("variants", ())),
        traits=traits_of(case),
        gpus=case.get("gpus"),
    )
    direct.run_legs(made, plan, root / "evidence")
    assert leftovers.of(root) == []
    bundles = {leg.id: read_bundle(root / "evidence" / leg.id, KNOWLEDGE[leg.suite.value]) for leg in plan.legs}
    (leg,) = judge_plan(plan, bundles, catalogue.load(made.product / "levels"), KNOWLEDGE).legs
    return leg


def marked(case: dict[str, Any]) -> Any:  # noqa: ANN401 - pytest's own parameter set
    return pytest.param(case, marks=[] if case.get("always") else [pytest.mark.exhaustive], id=case["id"])


@pytest.mark.ray
@pytest.mark.parametrize("case", [marked(case) for case in CASES])
def test_a_level_on_the_miniatures_ends_as_it_must(case: dict[str, Any], root: Path) -> None:
    leg = ran(case, root)
    first = f"{leg.first_error.text if leg.first_error else ''} {leg.sentence}"
    unmet = {one.id for one in leg.criteria if one.met in {Met.UNMET, Met.UNVERIFIED}}
    assert (leg.outcome.value, leg.boundary) == (case["outcome"], case.get("boundary")), (first, unmet)
    assert set(case.get("unmet", ())) <= unmet
    assert case["outcome"] != "Pass" or unmet == set()
    assert case.get("error", "") in first
    assert any(case.get("says", "") in text for text in leg.limitations)


def test_every_level_and_each_of_its_own_variants_are_rehearsed() -> None:
    known = {level.number: level for level in catalogue.load().of(Suite.NEMO_RL)}
    passed = [case for case in CASES if case["outcome"] == "Pass"]
    assert {case["level"] for case in passed} == set(known)
    own = {(number, variant.id) for number, level in known.items() for variant in level.variants}
    named = {(case["level"], name) for case in passed for name in (*case.get("variants", ()), *legs_of(known, case))}
    settings = {variant.id for variant in known[0].variants if not variant.adds_criteria}
    assert {(number, name) for number, name in own - named if name not in settings} == set()


def legs_of(known: dict[int, Level], case: dict[str, Any]) -> set[str]:
    shapes = shapes_for(known[case["level"]], traits_of(case) or frozenset())
    return set() if case.get("variants") else {name for shape in shapes for name in shape.variants}
