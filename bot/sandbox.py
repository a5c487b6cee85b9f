"""Runs the reading of hostile patches in a child process with CPU, memory and time limits.

How a patch is read never stands here. A child that crashes, stalls or answers nonsense is no error of ours: the answer
then holds the paths alone and says why, and the rules select more.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from bot.parse_changes import Analysis, Request
from levels.changes import Change, Source

TIMEOUT_SECONDS: Final = 40
MAX_ANSWER_BYTES: Final = 160_000_000
_ROOT: Final = str(Path(__file__).parents[1])
# -I hides the current folder and PYTHONPATH; the root is this very file's, so the child is the same code as the parent.
_START: Final = "import sys; sys.path.insert(0, sys.argv[1]); from bot.parse_changes import main; main()"
COMMAND: Final = (sys.executable, "-I", "-c", _START, _ROOT)


def analyse(request: Request, *, command: Sequence[str] = COMMAND, timeout: float = TIMEOUT_SECONDS) -> Analysis:
    """The Changes of `request`; when the child fails, those of its paths, with the reason as a doubt."""
    try:
        done = subprocess.run(
            command,
            input=msgspec.json.encode(request),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=timeout,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _paths_alone(request, f"reading the patches took more than {timeout} s")
    if done.returncode:
        return _paths_alone(request, f"the process that reads the patches ended with {_ending(done.returncode)}")
    if len(done.stdout) > MAX_ANSWER_BYTES:
        return _paths_alone(request, f"reading the patches gave {len(done.stdout)} bytes")
    try:
        return msgspec.json.decode(done.stdout, type=Analysis)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _paths_alone(request, "the process that reads the patches gave no answer")


def _ending(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _paths_alone(request: Request, doubt: str) -> Analysis:
    changes = tuple(_path_alone(source, doubt) for source in request.sources)
    # Without a list the diff was the only source of the paths: nothing is known of what changed.
    return Analysis(changes=changes, doubts=() if changes else (doubt,))


def _path_alone(source: Source, doubt: str) -> Change:
    return Change(
        path=source.path,
        previous_path=source.previous_path,
        status=source.status,
        gitlink=source.gitlink,
        doubt=doubt,
    )
