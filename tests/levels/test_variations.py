"""Runs after public threads, and variations of what misleads: how a person judged them before the judge did.

Folders `pub-*` carry the address of the thread whose shape they show; surrounding values are invented. Where the
field `completed` stands, the thread shows where the run broke and the exception line itself is ours.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.levels.judging import judged

FOLDER = Path(__file__).parents[1] / "fixtures" / "variations"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/case.json"))
PUBLIC = [name for name in NAMES if name.startswith("pub-")]


def label(name: str) -> dict[str, Any]:
    return dict(json.loads((FOLDER / name / "case.json").read_text()))


@pytest.mark.parametrize("name", NAMES)
def test_a_variation_reads_like_its_label(name: str) -> None:
    want = label(name)["expect"]
    ours = judged(name, folder=FOLDER)
    assert ours.verdict in {want["verdict"], *want.get("alt_verdicts", [])}
    assert ours.boundary in {want["boundary"], *want.get("alt_boundaries", [])}
    assert (want["first_error"] or "") in (ours.first_error or "")
    assert ours.attribution == want["attribution"]


@pytest.mark.parametrize("name", [name for name in NAMES if "-pass-" not in name])
def test_no_exit_code_makes_a_broken_run_pass(name: str) -> None:
    assert judged(name, folder=FOLDER, exit_code=0).verdict != "Pass"


@pytest.mark.parametrize("name", [name for name in NAMES if "-pass-" in name])
def test_a_green_variation_needs_its_whole_log(name: str) -> None:
    log = (FOLDER / name / "run.log").read_bytes()
    before_the_last_step = max(log.rfind(b" step:"), log.rfind(b"= Step "))
    for part in (0.3, 0.6, 1.0):
        assert judged(name, log[: int(before_the_last_step * part)], folder=FOLDER).verdict != "Pass"


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_shape_names_its_thread(name: str) -> None:
    assert label(name)["source"].startswith("https://github.com/")


def test_forty_and_more_shapes_are_public_to_the_exception_line() -> None:
    assert len([name for name in PUBLIC if "completed" not in label(name)]) >= 40


@pytest.mark.parametrize("name", [name for name in NAMES if "unknown" in name])
def test_an_unknown_failure_is_its_own_category_and_asks_for_a_signature(name: str) -> None:
    ours = judged(name, folder=FOLDER)
    assert ours.category.startswith("unknown")
    assert any("signatures.yaml" in item for item in ours.leg.follow_ups)
