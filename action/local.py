"""A person's `run`: a level and some folders become a Job. How it is run never belongs here."""

from pathlib import Path
from typing import Final

import msgspec

from action import gitrepo
from action.context import MCORE_PATH, InPlace, Job
from action.gitrepo import GitError
from action.site import Site
from levels.catalogue import Catalogue
from levels.errors import UsageError
from levels.model import Suite
from levels.plan import Choice, Leg, LegModel, Selection, build_legs
from levels.shapes import shapes_for

LOCAL: Final = "local"
UNKNOWN_COMMIT: Final = "0" * 40
"""Stands in leg.json where the tree is no repository; the Evidence says null."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What the person asked for."""

    suite: Suite
    level: int
    variants: tuple[str, ...] = ()
    bridge: Path | None = None
    suite_repo: Path | None = None
    mcore: Path | None = None
    out: Path
    model: Path | None = None
    reward_model: Path | None = None
    gpus: int | None = None
    workarounds: bool = True
    """False runs the suite unpatched, to see whether a declared workaround is still needed."""
    dry_run: bool = False


def job_of(request: Request, site: Site, catalogue: Catalogue) -> Job:
    """The job of a person's run on trees where they are.

    Raises:
        UsageError: for a folder, level or variant that does not exist.

    """
    bundle = request.out.absolute()
    work = Path(site.scratch) / f"{LOCAL}-{bundle.name}" if site.scratch else bundle / "work"
    bridge = _folder(request.bridge, "--bridge", "Megatron-Bridge", request)
    suite = _folder(request.suite_repo, "--suite-repo", request.suite.label, request)
    mcore = _folder(request.mcore, "--mcore", "Megatron-LM", request) if request.mcore else None
    return Job(
        leg=_leg(request, catalogue, bridge, work / "git-home"),
        plan=LOCAL,
        site=site,
        bundle=bundle,
        work=work,
        in_place=InPlace(bridge=bridge, suite=suite, mcore=mcore),
        model=request.model.absolute() if request.model else None,
        reward_model=request.reward_model.absolute() if request.reward_model else None,
    )


def _folder(path: Path | None, option: str, default: str, request: Request) -> Path:
    if path is not None and (path.is_dir() or request.dry_run):
        return path.absolute()
    if path is None and request.dry_run:
        return Path("/path/to") / default
    raise UsageError(
        doing=f"reading {option}",
        found=str(path) if path else "nothing",
        expected=f"a {default} source tree",
        next_step=f"name the folder with {option} DIR, or use --dry-run to see the commands without any tree",
    )


def _leg(request: Request, catalogue: Catalogue, bridge: Path, home: Path) -> Leg:
    level = catalogue.level(request.suite, request.level)
    choice = Choice(
        suite=level.suite, level=level.number, title=level.title, reasons=(), gpus=level.gpus, minutes=level.minutes
    )
    commit, mcore = (UNKNOWN_COMMIT, None) if request.dry_run else _commits(bridge, home)
    # A person runs one leg at a time: the level's first, or the one whose variants they name.
    leg, *_ = build_legs(
        catalogue,
        Selection(chosen=(choice,), skipped=()),
        bridge_repository=catalogue.pins.bridge_repository,
        bridge_commit=commit,
        mcore_commit=mcore,
        variants={request.suite: request.variants},
        model=LegModel(name=str(request.model.absolute()), revision=None) if request.model else None,
        gpus=request.gpus,
    )
    if not request.workarounds:
        leg = msgspec.structs.replace(leg, workarounds=())
    return leg


def others(request: Request, catalogue: Catalogue) -> tuple[str, ...]:
    """The arguments of the level's further legs, which `run` without a variant leaves out."""
    if request.variants:
        return ()
    first, *rest = shapes_for(catalogue.level(request.suite, request.level), frozenset())
    del first
    return tuple(" ".join(f"--variant {name}" for name in shape.variants) for shape in rest)


def _commits(bridge: Path, home: Path) -> tuple[str, str | None]:
    commit = gitrepo.head(bridge, home)
    if commit is None:
        return UNKNOWN_COMMIT, None
    try:
        return commit, gitrepo.gitlink(bridge, home, MCORE_PATH)
    except GitError:
        return commit, None
