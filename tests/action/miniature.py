"""Miniature Bridge, Megatron-LM and suite as real git repositories, and a leg on them. No tests here."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

from action.context import InPlace, Job
from action.site import Site
from levels.model import Phase, Suite
from levels.pins import Image, SuitePin
from levels.plan import Leg, LegModel

BRIDGE_URL = "https://example.test/nvidia/Bridge.git"
MCORE_URL = "https://example.test/nvidia/Megatron-LM.git"
SUITE_URL = "https://example.test/verl/verl.git"
SHORT = "/tmp"  # noqa: S108 - Ray's socket paths must stay below 107 bytes; each leg makes its own folder in it
WRAPPER = """#!/usr/bin/env bash
echo "PYTHONPATH=$PYTHONPATH"
echo "args: $*"
exit "${WRAPPER_EXIT:-0}"
"""


def git(cwd: Path, *args: str) -> str:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(cwd),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{
            f"GIT_{who}_{what}": f"{who.lower()}@example.test"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    }
    done = subprocess.run(["git", *args], cwd=cwd, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def repository(path: Path, files: dict[str, str], *, links: dict[str, str] | None = None) -> str:
    """A repository with one commit of `files` and gitlinks `links`; its commit."""
    path.mkdir(parents=True)
    git(path, "init", "--quiet", "--initial-branch=main")
    return commit(path, files, links=links)


def commit(path: Path, files: dict[str, str], *, links: dict[str, str] | None = None) -> str:
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    git(path, "add", "--all")
    for name, target in (links or {}).items():
        git(path, "update-index", "--add", "--cacheinfo", f"160000,{target},{name}")
    git(path, "commit", "--quiet", "--message", "change", "--no-verify")
    return git(path, "rev-parse", "HEAD")


@dataclass(frozen=True)
class World:
    """Three upstream repositories and their commits."""

    root: Path
    bridge: Path
    mcore: Path
    suite: Path
    bridge_commit: str
    mcore_commit: str
    suite_commit: str

    @property
    def mirrors(self) -> dict[str, str]:
        return {BRIDGE_URL: str(self.bridge), MCORE_URL: str(self.mcore), SUITE_URL: str(self.suite)}

    def leg(self, **changes: object) -> Leg:
        leg = Leg(
            id="verl-0-mini",
            suite=Suite.VERL,
            level=0,
            level_id="mini",
            variants=(),
            title="verl 0 miniature",
            stage="smoke",
            bridge_repository=BRIDGE_URL,
            bridge_commit=self.bridge_commit,
            mcore_repository=MCORE_URL,
            mcore_commit=self.mcore_commit,
            suite_pin=SuitePin(
                suite=Suite.VERL,
                repository=SUITE_URL,
                commit=self.suite_commit,
                committed="2026-08-22",
                image=Image(repository="r", tag="t", digest=None, engine="vllm", source="test"),
            ),
            workarounds=(),
            model=LegModel(name="org/model", revision=None),
            gpus=1,
            minutes=1,
            bridge_tests=("tests/test_ok.py",),
            phases=(Phase(id="train", command=("bash", "run.sh"), steps=1, minutes=1),),
        )
        return msgspec.structs.replace(leg, **changes)

    def job(self, leg: Leg | None = None, *, in_place: InPlace | None = None, **site: object) -> Job:
        settings = {
            "mirrors": self.mirrors,
            "python": sys.executable,
            "tmp": str(self.root),
            "probe_seconds": 60,
            **site,
        }
        out = self.root / "out"
        chosen = leg or self.leg()
        return Job(
            leg=chosen,
            plan="0123456789ab",
            site=msgspec.convert(settings, Site),
            bundle=out / chosen.id,
            work=out / "work" / chosen.id,
            in_place=in_place,
        )
