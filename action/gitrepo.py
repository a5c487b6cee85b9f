"""Git, hardened: no hooks, filters, prompts, credentials or system settings. What to take is decided elsewhere."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Final

from levels.errors import EnvironmentBlocked
from levels.model import Boundary

_OPTIONS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "credential.helper=",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "filter.lfs.smudge=",
    "filter.lfs.clean=",
    "filter.lfs.process=",
    "filter.lfs.required=false",
    "advice.detachedHead=false",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=60",
    "protocol.allow=never",
    "protocol.https.allow=always",
)
_CONFIG: Final = "[safe]\n\tdirectory = *\n"
"""A tree may belong to another user; its configuration cannot harm us with the options above."""


class GitError(Exception):
    """Git refused; `str()` is what it said."""


def git(*args: str, cwd: Path, home: Path, local: bool = False, seconds: float = 60) -> str:
    """What git printed, without the last newline.

    Args:
        *args: subcommand and arguments.
        cwd: working directory.
        home: a folder of ours, for git's own settings.
        local: allow the `file` protocol too (mirrors and clones of a person's tree).
        seconds: time limit.

    Raises:
        GitError: with git's own words.
        EnvironmentBlocked: when git is not installed.

    """
    home.mkdir(parents=True, exist_ok=True)
    config = home / "gitconfig"
    config.write_text(_CONFIG)
    options = (*_OPTIONS, "protocol.file.allow=always") if local else _OPTIONS
    argv = ["git", "--no-optional-locks", *(part for option in options for part in ("-c", option)), *args]
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_NO_LAZY_FETCH": "1",
        **{name: os.environ[name] for name in ("SSL_CERT_FILE", "GIT_SSL_CAINFO") if name in os.environ},
    }
    code, out, err = _communicate(argv, cwd, env, seconds)
    if code != 0:
        said = err.strip() or out.strip() or f"no words, exit code {code}"
        raise GitError(f"git {args[0]}: {said[-1500:]}")
    return out.rstrip("\n")


def _communicate(argv: list[str], cwd: Path, env: dict[str, str], seconds: float) -> tuple[int, str, str]:
    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise EnvironmentBlocked(
            Boundary.ENVIRONMENT,
            doing=f"starting git in {cwd}",
            found=str(error),
            expected="git on PATH, and the folder",
            next_step="install git 2.31 or newer",
        ) from error
    with process:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return 124, "", f"no end within {seconds:.0f} s"
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, out, err


def head(directory: Path, home: Path) -> str | None:
    """The commit that `directory` is at; null when it is not the root of a repository of its own."""
    try:
        top = git("rev-parse", "--show-toplevel", cwd=directory, home=home)
        if Path(top).resolve() != directory.resolve():
            return None  # an unpacked archive inside somebody's repository
        return git("rev-parse", "--verify", "HEAD^{commit}", cwd=directory, home=home)
    except GitError:
        return None


def gitlink(directory: Path, home: Path, path: str) -> str | None:
    """The commit that HEAD of `directory` names for the submodule at `path`; null when there is none.

    Read from the tree itself, so `.gitmodules` of a pull request has no say.
    """
    listed = git("ls-tree", "HEAD", "--", path, cwd=directory, home=home)
    mode, _, rest = listed.partition(" ")
    kind, _, rest = rest.partition(" ")
    return rest.partition("\t")[0] if (mode, kind) == ("160000", "commit") else None


def status(directory: Path, home: Path) -> tuple[str, ...]:
    """`git status --short` lines, submodules included whatever the tree's settings say."""
    text = git("status", "--short", "--ignore-submodules=none", cwd=directory, home=home, seconds=300)
    return tuple(line for line in text.split("\n") if line)


def fetch_commit(directory: Path, home: Path, sources: tuple[tuple[str, bool], ...], commit: str, seconds: int) -> None:
    """`directory` is a repository of its own with exactly `commit` checked out; no remote is configured.

    Args:
        directory: may not exist, or be an empty folder.
        home: see `git`.
        sources: address and whether it is a local mirror, tried in order.
        commit: 40 hex digits.
        seconds: time limit of one fetch.

    Raises:
        GitError: when no source has the commit; all their words.

    """
    directory.mkdir(parents=True, exist_ok=True)
    git("init", "--quiet", "--template=", "--initial-branch=checkout", cwd=directory, home=home)
    problems: list[str] = []
    for address, local in sources:
        try:
            git(
                *("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"),
                *("--", address, commit),
                cwd=directory,
                home=home,
                local=local,
                seconds=seconds,
            )
            break
        except GitError as error:
            problems.append(f"{address}: {error}")
    else:
        raise GitError("; ".join(problems))
    git("checkout", "--quiet", "--detach", commit, cwd=directory, home=home, seconds=seconds)
