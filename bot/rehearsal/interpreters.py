"""Virtual environments without an installation: the suite's "image" and our own. What runs there never belongs here."""

import hashlib
import shutil
import sysconfig
import venv
from collections.abc import Iterable
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from bot.rehearsal.repos import apply
from bot.rehearsal.scenarios import Edit

MARKS: Final = {"action": "made-from", "bot": ".bot-lock"}
"""Zone to the file by which its composite action (action/step.sh, bot/install.sh) knows an environment as its own."""


def image(at: Path, edits: Iterable[Edit]) -> Path:
    """The suite's interpreter: this machine's packages, plus the miniature image's own, as the scenario edits them."""
    python = _environment(at)
    packages = _site_packages(at)
    with as_file(files("bot.rehearsal") / "miniatures" / "image") as source:
        shutil.copytree(source, packages, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    (packages / "machine.pth").write_text(f"{_machine_packages()}\n", encoding="utf-8")
    apply(packages, (edit for edit in edits if edit.tree == "image"))
    return python


def product(tree: Path) -> Path:
    """Our own interpreter in `tree`: the zones are imported from there, the libraries from this machine."""
    python = _environment(tree / ".venv")
    packages = _site_packages(tree / ".venv")
    # A relative line: jobs run in copies of the tree.
    root = "/".join(".." for _ in packages.relative_to(tree).parts)
    (packages / "product.pth").write_text(f"{root}\n{_machine_packages()}\n", encoding="utf-8")
    for zone, mark in MARKS.items():
        lock = tree / "requirements" / f"{zone}.lock"
        if lock.is_file():
            digest = hashlib.sha256(lock.read_bytes()).hexdigest()
            (tree / ".venv" / mark).write_text(f"{digest}\n", encoding="utf-8")
    return python


def _environment(at: Path) -> Path:
    venv.EnvBuilder(with_pip=False, symlinks=True).create(at)
    return at / "bin" / "python"


def _site_packages(environment: Path) -> Path:
    (found,) = (environment / "lib").glob("python*/site-packages")
    return found


def _machine_packages() -> str:
    return sysconfig.get_path("purelib")
