"""Ends what a rehearsal left running, and nothing else. What the runner ends itself never belongs here."""

import contextlib
from pathlib import Path
from typing import Final

import psutil

PATIENCE_SECONDS: Final = 5.0


def of(root: Path) -> list[psutil.Process]:
    """Processes whose HOME lies below `root`: only a rehearsal in that folder starts such."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("HOME", "").startswith(f"{root}/"):
                found.append(process)
    return found


def end_leftovers(root: Path) -> int:
    """How many processes had to be ended."""
    left = of(root)
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _, stubborn = psutil.wait_procs(left, timeout=PATIENCE_SECONDS)
    for process in stubborn:
        with contextlib.suppress(psutil.Error):
            process.kill()
    return len(left)
