"""Which bytes ran, and on what machine. What that means never belongs here."""

import contextlib
import hashlib
import os
import platform
import socket
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Final, Literal

import psutil

from action import gitrepo
from action.store import MAX_DIRTY, clean
from levels.evidence import FileRef, Gpu, HostFacts, TreeState

SHORT: Final = 8
_QUERY: Final = "index,name,memory.total,memory.used,driver_version"
_SECRET_WORDS: Final = ("TOKEN", "KEY", "SECRET", "PASSW", "CREDENTIAL")
Name = Literal["bridge", "mcore", "suite"]


def tree_state(
    name: Name,
    path: Path,
    home: Path,
    *,
    expected: str | None,
    applied: tuple[str, ...] = (),
    applied_files: frozenset[str] = frozenset(),
    diff: FileRef | None = None,
) -> TreeState:
    """The commit and the dirty files of the tree at `path`; files of applied workarounds are not listed."""
    commit = gitrepo.head(path, home)
    lines = gitrepo.status(path, home) if commit else ()
    dirty = tuple(line for line in lines if line[3:].strip('"') not in applied_files)
    return TreeState(
        name=name,
        path=clean(str(path)),
        commit=commit,
        short=commit[:SHORT] if commit else None,
        expected=expected,
        dirty=tuple(clean(line, 500) for line in dirty[:MAX_DIRTY]),
        dirty_count=len(dirty),
        applied=applied,
        diff=diff,
    )


def host_facts(env: dict[str, str], packages: dict[str, str], python: str) -> HostFacts:
    """The machine. The host's name is hashed: two runs can be compared, and nobody learns the name."""
    driver, gpus = gpus_of(env)
    return HostFacts(
        host=hashlib.sha256(socket.gethostname().encode()).hexdigest()[:12],
        cpus=os.cpu_count() or 0,
        memory_gib=round(psutil.virtual_memory().total / 1024**3, 1),
        python=clean(python or platform.python_version(), 200),
        driver=driver,
        gpus=gpus,
        packages={clean(name, 100): clean(version, 100) for name, version in sorted(packages.items())[:200]},
        env=shown_env(env),
    )


def shown_env(env: dict[str, str], *, public: Collection[str] = ()) -> dict[str, str]:
    """`env` as it may be published: values of names that look like a secret are hidden.

    Args:
        env: what a program gets.
        public: names that the catalogue sets; their values stand in it (`PPO_MAX_TOKEN_LEN` is no secret).

    """

    def hidden(name: str) -> bool:
        return name not in public and any(word in name.upper() for word in _SECRET_WORDS)

    return {clean(name, 200): "(hidden)" if hidden(name) else clean(value) for name, value in sorted(env.items())}


def gpus_of(env: dict[str, str]) -> tuple[str | None, tuple[Gpu, ...]]:
    """Driver version and GPUs as nvidia-smi reports them; nothing where it is missing or fails.

    Source: nvidia-smi --help-query-gpu.
    """
    argv = ["nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None, ()  # a machine without an NVIDIA driver: a fact, not an error
    return parse_gpus(done.stdout) if done.returncode == 0 else (None, ())


def parse_gpus(text: str) -> tuple[str | None, tuple[Gpu, ...]]:
    """The driver version and the GPUs in nvidia-smi's CSV."""
    driver: str | None = None
    gpus: list[Gpu] = []
    for line in text.splitlines()[:64]:
        parts = [part.strip() for part in line.split(",")]
        with contextlib.suppress(ValueError):  # "[N/A]" where a card answers nothing
            index, name, total, used, driver = parts
            gpus.append(Gpu(index=int(index), name=clean(name, 100), memory_mib=int(total), used_mib=int(used)))
    return driver, tuple(gpus)
