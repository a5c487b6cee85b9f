"""The exact commands of every level, its legs and its variants, as `run --dry-run` prints them.

`UPDATE_GOLDEN=1` writes the files anew; the difference is then what a reviewer reads.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from action import dryrun, local
from action.environment import PASSED
from action.site import Site
from levels.catalogue import Catalogue, load, variants_of
from levels.errors import UsageError
from levels.model import Level, Suite

GOLDEN = Path(__file__).parents[1] / "golden"
CATALOGUE: Catalogue = load()
SITE = Site(launcher="host", data="/data", model_stores=("/models",), reward_model="/models/reward", scratch="/scratch")


def legs_of(level: Level) -> Iterator[tuple[str, ...]]:
    """Its own legs, then each variant by itself, or with a leg's where it would leave out what the level is about."""
    own = [shape.variants for shape in level.legs]
    yield from own
    named = {name for names in own for name in names}
    for variant in level.variants:
        if variant.id in named:
            continue
        alone = () in own or bool(variant.adds_criteria)
        fitting = [()] if alone else [names for names in own if _together(level, (*names, variant.id))]
        yield (*fitting[0], variant.id)


def _together(level: Level, names: tuple[str, ...]) -> bool:
    try:
        variants_of(level, names)
    except UsageError:
        return False
    return True


def name_of(level: Level, variants: tuple[str, ...]) -> str:
    return "-".join((level.suite.value, str(level.number), *(variants or ("plain",)))) + ".txt"


LEGS = [
    pytest.param(level, variants, id=name_of(level, variants).removesuffix(".txt"))
    for level in CATALOGUE.levels
    for variants in legs_of(level)
]


@pytest.mark.parametrize(("level", "variants"), LEGS)
def test_a_dry_run_prints_what_stands_in_its_golden_file(
    monkeypatch: pytest.MonkeyPatch, level: Level, variants: tuple[str, ...]
) -> None:
    for name in PASSED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir("/")
    request = local.Request(
        suite=level.suite, level=level.number, variants=variants, out=Path("/out"), dry_run=True, workarounds=True
    )
    shown = dryrun.describe(local.job_of(request, SITE, CATALOGUE))
    golden = GOLDEN / name_of(level, variants)
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8")


def test_no_golden_file_is_left_over() -> None:
    known = {name_of(level, variants) for level in CATALOGUE.levels for variants in legs_of(level)}
    assert {path.name for suite in Suite for path in GOLDEN.glob(f"{suite.value}-*.txt")} == known
