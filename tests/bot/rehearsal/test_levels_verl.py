"""verl's deeper levels end to end on the miniatures: what passes, and what each level alone must notice."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.rehearsal import direct, leftovers, scenarios, workspace
from levels import catalogue, signatures
from levels.bundles import read_bundle
from levels.judge import judge_plan
from levels.model import Level, Suite, Trait
from levels.shapes import shapes_for
from levels.verdict import LegVerdict, Met

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "levels_verl.yaml").read_text(encoding="utf-8"))
KNOWLEDGE = {suite.value: signatures.load(suite) for suite in Suite}


@pytest.fixture
def root() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="e2e-", dir=workspace.PARENT))
    yield path
    leftovers.end_leftovers(path)
    shutil.rmtree(path)


def ran(case: dict[str, Any], root: Path) -> LegVerdict:
    """The verdict of the only leg of the case."""
    made = workspace.make(root, scenarios.named(case["scenario"]))
    plan = direct.plan_of(
        made,
        (Suite.VERL,),
        level=case["level"],
        variants=tuple(case.get("variants", ())),
        traits=frozenset(Trait(name) for name in case["traits"]) if "traits" in case else None,
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


def test_every_deeper_level_and_its_own_variants_are_rehearsed() -> None:
    known = {level.number: level for level in catalogue.load().of(Suite.VERL)}
    seen = {case["level"] for case in CASES if case["outcome"] == "Pass"}
    assert seen == set(known) - {0}
    base = {variant.id for variant in known[0].variants}
    own = {variant.id for number, level in known.items() if number for variant in level.variants} - base
    named = {name for case in CASES for name in case.get("variants", ())}
    of_legs = {name for case in CASES for name in legs_of(known[case["level"]], case)}
    assert own - named - of_legs == {"routing-replay", "steps-50", "steps-100"}, "settings of the wrapper alone"


def legs_of(level: Level, case: dict[str, Any]) -> set[str]:
    traits = frozenset(Trait(name) for name in case.get("traits", ()))
    return {name for shape in shapes_for(level, traits) for name in shape.variants}
