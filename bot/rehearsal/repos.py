"""Real git repositories out of the miniature trees and a scenario's edits. What runs in them never belongs here."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from bot.rehearsal.scenarios import Edit, Tree
from levels.errors import UsageError
from levels.model import Record

MINIATURES: Final = {"bridge": "bridge", "mcore": "mcore", "verl": "verl", "nemo-rl": "nemo_rl"}
BRANCH: Final = "topic"
SUBMODULE: Final = "3rdparty/Megatron-LM"
_CHANGE: Final = Edit(
    tree="pull-request",
    file="src/megatron/bridge/models/qwen/qwen_provider.py",
    old='    """Qwen2: RMSNorm, gated linear unit, QKV bias."""\n',
    new='    """Qwen2: RMSNorm, gated linear unit, QKV bias."""\n\n    seq_length: int = 4096\n',
)
"""What every pull request of a rehearsal changes: a small, right edit of a provider."""
_PERSON: Final = {
    "GIT_AUTHOR_NAME": "Wim",
    "GIT_AUTHOR_EMAIL": "wim@example.invalid",
    "GIT_COMMITTER_NAME": "Wim",
    "GIT_COMMITTER_EMAIL": "wim@example.invalid",
    "GIT_AUTHOR_DATE": "2026-09-01T12:00:00+00:00",
    "GIT_COMMITTER_DATE": "2026-09-01T12:00:00+00:00",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Repos(Record, frozen=True, kw_only=True):
    """Where the repositories are and which commits matter."""

    bridge: Path
    mcore: Path
    verl: Path
    nemo_rl: Path
    base: str
    head: str
    mcore_commit: str
    verl_commit: str
    nemo_rl_commit: str


def build(root: Path, edits: Iterable[Edit], caller: str) -> Repos:
    """The four repositories below `root`; `caller` becomes the workflow on the Bridge's default branch.

    Raises:
        UsageError: for an edit that does not fit its file.

    """
    wanted = tuple(edits)
    paths = {name: root / name for name in MINIATURES}
    for name, path in paths.items():
        copy_miniature(MINIATURES[name], path)
        _git(path, "init", "--quiet", "--initial-branch=main")
        # A leg fetches one commit by its id, as GitHub allows.
        _git(path, "config", "uploadpack.allowAnySHA1InWant", "true")
    tips = {name: _suite(paths[name], wanted, name) for name in ("mcore", "verl", "nemo-rl")}
    base, head = _bridge(paths["bridge"], wanted, caller, tips["mcore"])
    return Repos(
        bridge=paths["bridge"],
        mcore=paths["mcore"],
        verl=paths["verl"],
        nemo_rl=paths["nemo-rl"],
        base=base,
        head=head,
        mcore_commit=tips["mcore"],
        verl_commit=tips["verl"],
        nemo_rl_commit=tips["nemo-rl"],
    )


def _suite(path: Path, edits: tuple[Edit, ...], tree: Tree) -> str:
    apply(path, (edit for edit in edits if edit.tree == tree))
    return _commit(path, "A release")


def _bridge(path: Path, edits: tuple[Edit, ...], caller: str, mcore: str) -> tuple[str, str]:
    workflow = path / ".github" / "workflows" / "bridge-e2e.yml"
    workflow.parent.mkdir(parents=True)
    workflow.write_text(caller, encoding="utf-8")
    (path / ".gitmodules").write_text(
        f'[submodule "{SUBMODULE}"]\n\tpath = {SUBMODULE}\n\turl = https://github.com/NVIDIA/Megatron-LM.git\n',
        encoding="utf-8",
    )
    apply(path, (edit for edit in edits if edit.tree == "base"))
    _git(path, "add", "--all")
    # What stands in the index for the submodule has no folder: a later `add --all` would take it away.
    _git(path, "update-index", "--add", "--cacheinfo", f"160000,{mcore},{SUBMODULE}")
    base = _commit(path, "The default branch", ())
    _git(path, "switch", "--quiet", "--create", BRANCH)
    changes = (_CHANGE, *(edit for edit in edits if edit.tree == "pull-request"))
    apply(path, changes)
    head = _commit(path, "A small change of the Qwen2 provider", tuple(edit.file for edit in changes))
    _git(path, "switch", "--quiet", "main")
    return base, head


def copy_miniature(name: str, to: Path) -> None:
    """The miniature tree `name`, or a folder `name/...` of one, writable, at `to`."""
    with as_file(files("bot.rehearsal").joinpath("miniatures", *name.split("/"))) as source:
        shutil.copytree(source, to, ignore=shutil.ignore_patterns("__pycache__"))


def apply(root: Path, edits: Iterable[Edit]) -> None:
    """Change files below `root`.

    Raises:
        UsageError: when the old text is not there exactly once.

    """
    for edit in edits:
        path = root / edit.file
        if edit.delete and path.is_dir():
            shutil.rmtree(path)
        elif edit.delete:
            path.unlink()
        elif edit.copy is not None:
            copy_miniature(edit.copy, path)
        elif edit.text is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(edit.text.encode())
        else:
            _replace(path, edit)


def _replace(path: Path, edit: Edit) -> None:
    text = path.read_text(encoding="utf-8")
    count = text.count(edit.old or "")
    if count == 0 or not edit.old:
        raise UsageError(
            doing=f"changing {edit.file} of the miniature {edit.tree}",
            found=f"the old text {count} times: {edit.old!r}",
            expected="at least once",
            next_step="bring bot/rehearsal/scenarios.yaml up to date with the miniature",
        )
    path.write_text(text.replace(edit.old, edit.new), encoding="utf-8")


def _commit(path: Path, message: str, changed: tuple[str, ...] = (".",)) -> str:
    """The new commit of these files and of what the index holds already. Other files are not read again."""
    if changed:
        _git(path, "add", "--all", "--", *changed)
    _git(path, "commit", "--quiet", "--allow-empty", "--message", message)
    return _git(path, "rev-parse", "HEAD").strip()


def _git(path: Path, *arguments: str) -> str:
    command: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run
    done = command(
        ["git", "-C", str(path), *arguments],
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], **_PERSON},
    )
    return done.stdout
