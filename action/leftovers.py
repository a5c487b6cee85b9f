"""Finds and ends the processes of one leg. Never by name: by the leg's token, process group, session or descent."""

import contextlib
import ctypes
import os
import sys
import time
from typing import Final

import psutil

TOKEN_VARIABLE: Final = "BRIDGE_E2E_LEG"
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_GET_CHILD_SUBREAPER: Final = 37
_CLOCK_SLACK_SECONDS: Final = 2.0
_PASSES: Final = 3


def adopt_orphans() -> None:
    """Become the parent of every orphaned descendant, so that a process cannot leave the leg by forking twice.

    Only a program that runs nothing but one leg may call this. Source: prctl(2), PR_SET_CHILD_SUBREAPER.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _adopting() -> bool:
    if sys.platform != "linux":
        return False
    value = ctypes.c_int(0)
    ctypes.CDLL(None, use_errno=True).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(value), 0, 0, 0)
    return value.value == 1


def find(token: str, since: float, group: int | None) -> list[psutil.Process]:
    """Live processes started after `since` (seconds since the epoch) that belong to the leg.

    Args:
        token: value of `TOKEN_VARIABLE` in the leg's environment.
        since: when the leg began; an older process is never ours, whatever it carries.
        group: process group and session of the wrapper, if one was started.

    """
    me = psutil.Process()
    spared = {me.pid, *(parent.pid for parent in me.parents())}
    adopted = {child.pid for child in me.children(recursive=True)} if _adopting() else set()
    return [
        process
        for process in psutil.process_iter()
        if process.pid not in spared and _belongs(process, token, since, group, adopted)
    ]


def _belongs(process: psutil.Process, token: str, since: float, group: int | None, adopted: set[int]) -> bool:
    try:
        if process.create_time() < since - _CLOCK_SLACK_SECONDS or process.status() == psutil.STATUS_ZOMBIE:
            return False
        if process.pid in adopted or _in_group(process.pid, group):
            return True
        return process.environ().get(TOKEN_VARIABLE) == token
    except (psutil.Error, OSError):
        return False  # gone, or somebody else's: not readable means not ours


def _in_group(pid: int, group: int | None) -> bool:
    if group is None:
        return False
    try:
        return group in (os.getpgid(pid), os.getsid(pid))
    except OSError:
        return False


def end(token: str, since: float, group: int | None, *, settle: float, terminate: float) -> int:
    """How many processes had to be ended. Waits `settle` seconds first for those that end by themselves.

    Order: SIGTERM, `terminate` seconds, SIGKILL; repeated for what appeared meanwhile.
    """
    deadline = time.monotonic() + settle
    while (left := find(token, since, group)) and time.monotonic() < deadline:
        psutil.wait_procs(left, timeout=0.2)
    ended: set[int] = set()
    for _ in range(_PASSES):
        if not left:
            break
        ended |= {process.pid for process in left}
        _signal_and_wait(left, terminate)
        left = find(token, since, group)
    reap()
    return len(ended)


def _signal_and_wait(processes: list[psutil.Process], terminate: float) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):  # it may end between looking and signalling
            process.terminate()
    _, alive = psutil.wait_procs(processes, timeout=terminate)
    for process in alive:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=terminate)


def reap() -> None:
    """Collect the exit codes of adopted orphans, so that no zombie stays while the leg runs."""
    if not _adopting():
        return
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error, OSError):
            if child.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(child.pid, os.WNOHANG)
