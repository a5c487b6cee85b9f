"""Runs a suite's wrapper with stand-ins instead of programs, to learn the exact calls that it would make.

The tree is the operator's own checkout of a pinned commit. The wrapper works in a shadow of it (real folders, links to
the files), with a home of its own, so that nothing is written into the tree. No program of the suite is started.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

SECONDS: Final = 60
PROGRAMS: Final = (
    "uv",
    "python",
    "python3",
    "coverage",
    "ray",
    "nsys",
    "nvidia-smi",
    "pip",
    "git",
    "hf",
    "apt-get",
    "torchrun",
    "curl",
)
_STAND_IN: Final = """#!{python}
import json, os, sys
with open({record!r}, "a", encoding="utf-8") as out:
    out.write(json.dumps({{"argv": sys.argv, "cwd": os.getcwd()}}) + "\\n")
if "-" in sys.argv[1:]:
    # The wrapper asks its interpreter which device there is.
    sys.stdin.read()
    print("cuda")
"""

MAX_ANSWERS: Final = 16
"""`grep -q` of a wrapper in its own log, which stand-ins leave empty, that are answered so that it goes on."""
_GREP: Final = """#!{python}
import os, sys
if not any(part.startswith("-") and "q" in part for part in sys.argv[1:]):
    os.execv("/usr/bin/grep", ["grep", *sys.argv[1:]])
asked = {asked!r}
with open(asked, "a", encoding="utf-8") as out:
    out.write("x")
yes = [int(part) for part in open({answers!r}, encoding="utf-8").read().split()]
sys.exit(0 if os.path.getsize(asked) in yes else 1)
"""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One program that the wrapper would start."""

    argv: tuple[str, ...]
    cwd: Path
    """Inside the shadow."""

    def after(self, name: str) -> tuple[str, ...] | None:
        """What follows the first argument that ends with `name`; null when none does."""
        for index, part in enumerate(self.argv):
            if part == name or part.endswith(f"/{name}"):
                return self.argv[index + 1 :]
        return None


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """What one call of a wrapper did."""

    calls: tuple[Call, ...]
    exit_code: int
    output: str
    """Its last lines."""


def make(tree: Path, folder: Path) -> Path:
    """A shadow of `tree` in `folder`: folders are real, files are links. Version control and caches are left out."""
    root = folder / tree.name
    for here, names, files in os.walk(tree):
        names[:] = [name for name in names if name not in {".git", "__pycache__", "node_modules"}]
        below = root / Path(here).relative_to(tree)
        below.mkdir(parents=True, exist_ok=True)
        for name in files:
            (below / name).symlink_to(Path(here) / name)
    return root


def record(argv: tuple[str, ...], env: Mapping[str, str], *, shadow: Path, folder: Path) -> Recording:
    """The calls that `argv` makes in `shadow`, with stand-ins for every program that could do something.

    What a wrapper looks for in its log is not there: the answer at which it gives up is turned round until it goes on.
    """
    yes: list[int] = []
    while True:
        recording, asked = _once(argv, env, tuple(yes), shadow=shadow, folder=folder)
        if recording.exit_code == 0 or not asked or asked in yes or len(yes) == MAX_ANSWERS:
            return recording
        yes.append(asked)


def _once(
    argv: tuple[str, ...], env: Mapping[str, str], yes: tuple[int, ...], *, shadow: Path, folder: Path
) -> tuple[Recording, int]:
    """One call, and how often it asked `grep -q`; `yes` are the questions that are answered with yes."""
    programs, calls = folder / "programs", folder / "calls.jsonl"
    asked, answers = folder / "asked", folder / "answers"
    programs.mkdir(exist_ok=True)
    calls.write_text("")
    asked.write_text("")
    answers.write_text(" ".join(map(str, yes)))
    grep = programs / "grep"
    grep.write_text(_GREP.format(python=sys.executable, asked=str(asked), answers=str(answers)))
    grep.chmod(0o755)
    for name in PROGRAMS:
        path = programs / name
        path.write_text(_STAND_IN.format(python=sys.executable, record=str(calls)))
        path.chmod(0o755)
    home = folder / "home"
    home.mkdir(exist_ok=True)
    done = subprocess.run(
        _without_uv(argv),
        cwd=shadow,
        env={**env, "PATH": f"{programs}:/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(folder), "LANG": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
        check=False,
    )
    found = [json.loads(line) for line in calls.read_text(encoding="utf-8").splitlines()]
    recording = Recording(
        calls=tuple(Call(argv=tuple(item["argv"]), cwd=Path(item["cwd"])) for item in found),
        exit_code=done.returncode,
        output="\n".join(done.stdout.decode("utf-8", "replace").splitlines()[-12:]),
    )
    return recording, asked.stat().st_size


def _without_uv(argv: tuple[str, ...]) -> tuple[str, ...]:
    """`uv run bash x.sh` starts `bash x.sh`; every other call of uv is a stand-in's."""
    return argv[2:] if argv[:3] == ("uv", "run", "bash") else argv
