"""Job: everything that a step of one leg needs to know, and where its files lie. No step's work belongs here."""

import hashlib
from pathlib import Path
from typing import Final

from action.site import Site
from levels.evidence import Evidence
from levels.model import Record
from levels.plan import Leg

MCORE_PATH: Final = "3rdparty/Megatron-LM"
"""Source: NVIDIA-NeMo/Megatron-Bridge: .gitmodules@067f987df03b8355b03192d88d70f1709fedf51a."""


class InPlace(Record, frozen=True, kw_only=True):
    """Trees of a person, used where they are."""

    bridge: Path
    suite: Path
    mcore: Path | None = None
    """Replaces the submodule of `bridge`."""


class Trees(Record, frozen=True, kw_only=True):
    """Roots of the three source trees."""

    bridge: Path
    mcore: Path
    suite: Path

    @property
    def bridge_src(self) -> Path:
        """Where `megatron.bridge` must be imported from."""
        return self.bridge / "src"


class Job(Record, frozen=True, kw_only=True):
    """One leg on this machine."""

    leg: Leg
    plan: str
    attempt: int = 1
    site: Site
    bundle: Path
    """The evidence folder."""
    work: Path
    """Checkouts, home, caches, scratch; never part of the evidence."""
    in_place: InPlace | None = None
    model: Path | None = None
    reward_model: Path | None = None

    @property
    def token(self) -> str:
        """Names this leg's processes; the same in every step of one leg in one folder."""
        text = "\0".join((self.plan, self.leg.id, str(self.attempt), str(self.bundle)))
        return f"{self.leg.id}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    @property
    def tmp(self) -> Path:
        """The leg's own TMPDIR: short, because Ray puts sockets below it."""
        return Path(self.site.tmp) / f"e2e-{hashlib.sha256(self.token.encode()).hexdigest()[:8]}"

    @property
    def planned_trees(self) -> Trees:
        """Where the trees will be; after the checkout step `trees_of` is the truth."""
        if self.in_place is None:
            bridge = self.work / "bridge"
            return Trees(bridge=bridge, mcore=bridge / MCORE_PATH, suite=self.work / "suite")
        mcore = self.in_place.mcore or self.in_place.bridge / MCORE_PATH
        return Trees(bridge=self.in_place.bridge, mcore=mcore, suite=self.in_place.suite)


def trees_of(job: Job, evidence: Evidence) -> Trees:
    """The trees that the checkout step recorded."""
    found = {tree.name: Path(tree.path) for tree in evidence.trees}
    planned = job.planned_trees
    return Trees(
        bridge=found.get("bridge", planned.bridge),
        mcore=found.get("mcore", planned.mcore),
        suite=found.get("suite", planned.suite),
    )
