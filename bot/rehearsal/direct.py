"""Legs of a workspace by the runner alone, without workflow and GitHub, for breadth. Verdicts never belong here."""

import os
import subprocess
from pathlib import Path

from bot.rehearsal.workspace import BRIDGE, Workspace
from levels import documents
from levels.catalogue import Catalogue, load
from levels.model import Suite, Trait
from levels.plan import Choice, Decision, Plan, Selection, build_legs


def plan_of(
    workspace: Workspace,
    suites: tuple[Suite, ...] = tuple(Suite),
    *,
    level: int = 0,
    variants: tuple[str, ...] = (),
    traits: frozenset[Trait] | None = None,
    gpus: int | None = None,
) -> Plan:
    """A Plan of one level of each suite on the workspace's pull request.

    Args:
        workspace: the miniatures.
        suites: which suites.
        level: the level's number.
        variants: instead of the level's own legs.
        traits: of the pull request's family; null when nobody knows.
        gpus: instead of the level's number.

    """
    catalogue = load(workspace.product / "levels")
    selection = Selection(chosen=tuple(_choice(catalogue, suite, level) for suite in suites), skipped=())
    return Plan(
        decision=Decision.RUN,
        because="a rehearsal without a workflow",
        repository="NVIDIA-NeMo/Megatron-Bridge",
        pull_request=None,
        head=workspace.repos.head,
        base=workspace.repos.base,
        consent=None,
        selection=selection,
        legs=build_legs(
            catalogue,
            selection,
            bridge_repository=BRIDGE,
            bridge_commit=workspace.repos.head,
            mcore_commit=workspace.repos.mcore_commit,
            variants=dict.fromkeys(suites, variants),
            traits=traits,
            gpus=gpus,
        ),
    )


def _choice(catalogue: Catalogue, suite: Suite, number: int) -> Choice:
    level = catalogue.level(suite, number)
    return Choice(suite=suite, level=number, title=level.title, reasons=(), gpus=level.gpus, minutes=level.minutes)


def run_legs(workspace: Workspace, plan: Plan, out: Path) -> dict[str, int]:
    """Leg id to the runner's exit code, every leg at once; the evidence of each is in `out/<leg id>`."""
    out.mkdir(parents=True, exist_ok=True)
    path = out.parent / f"{out.name}-plan.json"
    path.write_bytes(documents.encode(plan))
    started = {leg.id: _start(workspace, path, leg.id, out) for leg in plan.legs}
    return {leg: process.wait() for leg, process in started.items()}


def _start(workspace: Workspace, plan: Path, leg: str, out: Path) -> subprocess.Popen[bytes]:
    python = workspace.product / ".venv" / "bin" / "python"
    argv = [python, "-I", "-m", "action", "run", "--plan", plan, "--leg", leg, "--out", out, "--site", workspace.site]
    with (out.parent / f"{out.name}-{leg}.log").open("wb") as log:
        return subprocess.Popen(
            [str(part) for part in argv],
            cwd=workspace.product,
            env={"PATH": os.environ["PATH"], "HOME": str(workspace.home)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
