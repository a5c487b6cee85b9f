"""Everything that one rehearsal needs on disk, in one folder. Starting processes never belongs here."""

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from bot.rehearsal import interpreters, models, repos
from bot.rehearsal.scenarios import Scenario
from levels.catalogue import load
from levels.errors import UsageError
from levels.model import Record, Suite, Trait
from levels.pins import Pins

OURS: Final = Path(__file__).parents[2]
ZONES: Final = ("action", "bot", "levels")
CALLER: Final = Path("examples/bridge-e2e.yml")
WORKFLOW: Final = Path(".github/workflows/e2e.yml")
TEMPORARY: Final = "t"
"""Parent of the legs' TMPDIRs. Short: below it Ray makes socket paths of about 80 bytes, and 107 are allowed."""
PARENT: Final = "/tmp"  # noqa: S108 - only the parent of folders that mkdtemp makes
BRIDGE: Final = "https://github.com/NVIDIA-NeMo/Megatron-Bridge.git"
EXPERTS: Final = 4
_IGNORED: Final = shutil.ignore_patterns("__pycache__", "rehearsal", "*.pyc")
"""No job needs the rehearsal itself, and no job shall be able to read which scenario it is in."""


class Workspace(Record, frozen=True, kw_only=True):
    """Paths of one rehearsal."""

    root: Path
    repos: repos.Repos
    product: Path
    """Our own tree with the miniatures' pins; jobs get copies of it."""
    product_commit: str
    """Stands for the commit of that tree, which nobody committed: 40 digits of its digest."""
    site: Path
    artifacts: Path
    actions: Path
    """Where act keeps the jobs' working folders."""
    home: Path


def make(root: Path, scenario: Scenario, full_name: str = "NVIDIA-NeMo/Megatron-Bridge") -> Workspace:
    """A workspace below the empty folder `root` for a repository called `full_name`.

    Raises:
        UsageError: when this installation is not a checkout of bridge-e2e, or Ray or pytest is missing.

    """
    caller = _ours(CALLER).read_text(encoding="utf-8")
    made = repos.build(root / "repositories", scenario.edits, caller)
    python = interpreters.image(root / "image", scenario.edits)
    store = root / "models"
    _models(store)
    reward = models.make(store, "reward/tiny")
    product = _product(root / "product", made)
    folders = {name: root / name for name in ("artifacts", "actions", "home", "scratch", TEMPORARY)}
    for folder in folders.values():
        folder.mkdir()
    site = root / "site.yaml"
    bridge = f"https://github.com/{full_name}.git"
    site.write_text(yaml.safe_dump(_site(made, bridge, python, store, reward, folders["scratch"], scenario)), "utf-8")
    return Workspace(
        root=root,
        repos=made,
        product=product,
        product_commit=_digest(product),
        site=site,
        artifacts=folders["artifacts"],
        actions=folders["actions"],
        home=folders["home"],
    )


def _models(store: Path) -> None:
    """A checkpoint under the name of every model that a level or a variant takes when nobody names another."""
    known = load()
    variants = [variant for level in known.levels for variant in level.variants if variant.default_model is not None]
    experts = {variant.default_model for variant in variants if Trait.MOE in variant.needs_traits}
    for name in sorted({level.default_model for level in known.levels} | {str(v.default_model) for v in variants}):
        models.make(store, name, experts=EXPERTS if name in experts else None)


def _ours(path: Path) -> Path:
    found = OURS / path
    if not found.is_file():
        raise UsageError(
            doing="preparing a rehearsal",
            found=f"no {path} beside the installed packages ({OURS})",
            expected="a checkout of bridge-e2e, installed with `pip install -e '.[bot,action,rehearsal]'`",
            next_step="clone the repository and install from there",
        )
    return found


def _product(at: Path, made: repos.Repos) -> Path:
    for zone in ZONES:
        shutil.copytree(OURS / zone, at / zone, ignore=_IGNORED)
    (at / WORKFLOW).parent.mkdir(parents=True)
    shutil.copyfile(_ours(WORKFLOW), at / WORKFLOW)
    if (OURS / "requirements").is_dir():
        shutil.copytree(OURS / "requirements", at / "requirements")
    (at / "levels" / "pins.yaml").write_text(yaml.safe_dump(_pins(load().pins, made), sort_keys=False), "utf-8")
    interpreters.product(at)
    return at


def _digest(tree: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(tree.rglob("*")):
        if path.is_file() and ".venv" not in path.parts:
            digest.update(str(path.relative_to(tree)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:40]


def _pins(pins: Pins, made: repos.Repos) -> dict[str, Any]:
    """The real pins with the miniatures' commits, and without workarounds: the miniatures need none."""
    commits: Mapping[Suite, str] = {Suite.VERL: made.verl_commit, Suite.NEMO_RL: made.nemo_rl_commit}
    return {
        "version": pins.version,
        "bridge_repository": pins.bridge_repository,
        "mcore_repository": pins.mcore_repository,
        "suites": [
            {
                "suite": pin.suite.value,
                "repository": pin.repository,
                "commit": commits[pin.suite],
                "committed": "2026-09-01",
                "image": {
                    "repository": "miniature",
                    "tag": "none",
                    "digest": None,
                    "engine": pin.image.engine,
                    "source": "bot/rehearsal/miniatures",
                },
            }
            for pin in pins.suites
        ],
        "models": [
            {"name": m.name, "revision": m.revision, "families": list(m.families), "gated": m.gated, "source": m.source}
            for m in pins.models
        ],
    }


def _site(
    made: repos.Repos, bridge: str, python: Path, store: Path, reward: Path, scratch: Path, scenario: Scenario
) -> dict[str, Any]:
    pins = load().pins
    mirrors = {
        bridge: made.bridge,
        pins.mcore_repository: made.mcore,
        pins.suite(Suite.VERL).repository: made.verl,
        pins.suite(Suite.NEMO_RL).repository: made.nemo_rl,
    }
    site: dict[str, Any] = {
        "version": 1,
        "python": str(python),
        "uv": "direct",
        "model_stores": [str(store)],
        "reward_model": str(reward),
        "scratch": str(scratch),
        "tmp": str(scratch.parent / TEMPORARY),
        "mirrors": {url: str(path) for url, path in mirrors.items()},
        "path": [str(python.parent), *_git_folder()],
    }
    if scenario.phase_seconds is not None:
        site["phase_seconds"] = scenario.phase_seconds
    return site


def _git_folder() -> list[str]:
    found = shutil.which("git", path=os.environ.get("PATH"))
    return [] if found is None else [str(Path(found).parent)]
