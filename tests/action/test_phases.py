"""Phases in order: a fallback only after its own break, a helper after a good end, fixed paths that stay somebody's."""

from pathlib import Path

import pytest

from action.phases import run_phases
from action.runner import STEPS, run_leg
from levels.evidence import Evidence
from levels.model import Boundary, Fallback, Phase, Suite
from tests.action.miniature import World

GRAPH_CASE = Path(__file__).parents[1] / "fixtures" / "cases" / "n-mcore-cuda-graph-warmup" / "run.log"
STEPS_HERE = {name: step for name, step in STEPS.items() if name in ("checkout", "run", "collect")}


def phase(name: str, *command: str, fallback: Fallback | None = None, helper: bool = False, **more: object) -> Phase:
    return Phase(
        id=name,
        command=command,
        kind="helper" if helper else "train",
        steps=0 if helper else 1,
        minutes=1,
        fallback=fallback,
        **more,  # type: ignore[arg-type] # fields of Phase
    )


def ran(world: World, *phases: Phase) -> Evidence:
    # The suite says which signatures are known; the trees are the miniature's.
    suite = Suite.NEMO_RL if any(item.fallback for item in phases) else Suite.VERL
    evidence, _ = run_leg(world.job(world.leg(phases=phases, suite=suite)), write=print, steps=STEPS_HERE)
    return evidence


NO_GRAPH = Fallback(of="train", signature="graph-warmup", label="reduced-optimization pass")


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        pytest.param(("bash", "-c", f"cat {GRAPH_CASE}; exit 1"), [("train", 1), ("no-graph", 0)], id="its-break"),
        pytest.param(("bash", "-c", "echo ValueError: other; exit 1"), [("train", 1)], id="another-break"),
        pytest.param(("true",), [("train", 0)], id="no-break"),
    ],
)
def test_a_fallback_starts_only_after_the_break_that_it_is_for(
    world: World, first: tuple[str, ...], expected: list[tuple[str, int]]
) -> None:
    evidence = ran(world, phase("train", *first), phase("no-graph", "true", fallback=NO_GRAPH))
    assert [(run.id, run.exit_code) for run in evidence.phases] == expected


@pytest.mark.parametrize(
    ("first", "expected"),
    [pytest.param("true", ["train", "dump"], id="after-a-good-end"), pytest.param("false", ["train"], id="not-else")],
)
def test_a_helper_runs_after_a_phase_that_ended_well(world: World, first: str, expected: list[str]) -> None:
    evidence = ran(world, phase("train", first), phase("dump", "echo", "dumped", helper=True))
    assert [run.id for run in evidence.phases] == expected


def test_arguments_come_after_the_overrides(world: World) -> None:
    evidence = ran(world, phase("train", "echo", overrides=("a=1",), arguments=("max(x) < 1",)))
    assert evidence.phases[0].command == ("echo", "a=1", "max(x) < 1")


@pytest.mark.parametrize("kind", ["file", "folder", "dead-link"])
def test_a_fixed_path_of_somebody_else_blocks_and_survives(world: World, tmp_path: Path, kind: str) -> None:
    fixed = tmp_path / "grpo_checkpoints"
    if kind == "file":
        fixed.write_text("theirs")
    elif kind == "folder":
        fixed.mkdir()
    else:
        fixed.symlink_to(tmp_path / "nowhere")
    evidence = ran(world, phase("train", "true"), phase("again", "rm", "-rf", str(fixed), must_not_exist=(str(fixed),)))
    assert evidence.phases == (), "asked before the first phase, not after an hour of it"
    assert evidence.stop is not None
    assert evidence.stop.boundary is Boundary.ENVIRONMENT
    assert str(fixed) in evidence.stop.found
    assert fixed.exists() or fixed.is_symlink()


def test_run_phases_is_the_run_step() -> None:
    assert STEPS["run"] is run_phases
