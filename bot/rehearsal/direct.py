"""Legs of a workspace by the runner alone, without workflow and GitHub, for breadth. Verdicts never belong here."""

import os
import subprocess
from pathlib import Path

from bot.rehearsal.workspace import BRIDGE, Workspace
from levels import documents
from levels.catalogue import Catalogue, load
from levels.model import Suite
from levels.plan import Choice, Decision, Plan, Selection, build_legs


def plan_of(workspace: Workspace, suites: tuple[Suite, ...] = tuple(Suite)) -> Plan:
    """A Plan of each suite's level 0 on the workspace's pull request."""
    catalogue = load(workspace.product / "levels")
    selection = Selection(chosen=tuple(_choice(catalogue, suite) for suite in suites), skipped=())
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
        ),
    )


def _choice(catalogue: Catalogue, suite: Suite) -> Choice:
    level = catalogue.level(suite, 0)
    return Choice(suite=suite, level=0, title=level.title, reasons=(), gpus=level.gpus, minutes=level.minutes)


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
