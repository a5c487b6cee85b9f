"""One program in a process group of its own: log to a file, time limit, kill ladder. No opinion on its exit."""

import contextlib
import datetime as dt
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from action import leftovers
from action.echo import Echo
from action.logsink import LogSink
from levels.errors import EnvironmentBlocked
from levels.model import Boundary, Record

CHUNK: Final = 65_536
POLL_SECONDS: Final = 0.2
DRAIN_SECONDS: Final = 1.0


class Interrupted(BaseException):
    """This program was told to stop. Not an `Exception`: nothing between the signal and `run_leg` may hold it."""

    def __init__(self, signum: int) -> None:
        """`signum` is the signal that came."""
        super().__init__(signal.Signals(signum).name)
        self.signum = signum


class Grace(Record, frozen=True, kw_only=True):
    """Seconds between the rungs of the kill ladder.

    Together they stay below the 7.5 s + 2.5 s that the Actions runner leaves between SIGINT, SIGTERM and the end.
    Source: actions/runner: src/Runner.Sdk/ProcessInvoker.cs.
    """

    interrupt: float = 3.0
    terminate: float = 1.0
    settle: float = 2.0
    """How long processes may outlive the wrapper before they count as leftovers."""


class Limits(Record, frozen=True, kw_only=True):
    """What one program may use."""

    seconds: float
    log_bytes: int
    grace: Grace = Grace()


class Ended(Record, frozen=True, kw_only=True):
    """How one program ended."""

    exit_code: int | None
    signal: int | None
    timed_out: bool
    started_at: str
    seconds: float
    leftovers: int
    log_cut: bool


def now() -> str:
    """UTC in ISO 8601, to the second."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")


def run(
    argv: tuple[str, ...], *, cwd: Path, env: Mapping[str, str], log: Path, limits: Limits, echo: Echo | None = None
) -> Ended:
    """How `argv` ended; by then no process of the leg is left, whatever happens in between.

    Args:
        argv: program and arguments; found on the PATH of `env`.
        cwd: working directory.
        env: the whole environment of the program; must hold `leftovers.TOKEN_VARIABLE`.
        log: gets stdout and stderr, merged, as they come.
        limits: time, log size, patience.
        echo: prints some of the lines.

    Raises:
        EnvironmentBlocked: when the program cannot be started.
        Interrupted: after the whole ladder, when this program was told to stop.

    """
    started_at, began, epoch = now(), time.monotonic(), time.time()
    token = env[leftovers.TOKEN_VARIABLE]
    with LogSink(log, limits.log_bytes) as sink:
        process = _start(argv, cwd, env)
        group, timed_out, settle, left = process.pid, False, 0.0, 0
        try:
            timed_out = _follow(process, sink, echo, began + limits.seconds, limits.seconds)
            settle = 0.0 if timed_out else limits.grace.settle
        finally:
            _ladder(process, sink, echo, limits.grace)
            left = leftovers.end(token, epoch, group, settle=settle, terminate=limits.grace.terminate)
            _drain(process, sink, echo)
    code = process.returncode
    return Ended(
        exit_code=code if code is not None and code >= 0 else None,
        signal=-code if code is not None and code < 0 else None,
        timed_out=timed_out,
        started_at=started_at,
        seconds=round(time.monotonic() - began, 3),
        leftovers=left,
        log_cut=sink.cut,
    )


def _start(argv: tuple[str, ...], cwd: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise EnvironmentBlocked(
            Boundary.ENVIRONMENT,
            doing=f"starting {argv[0]} in {cwd}",
            found=str(error),
            expected=f"the program {argv[0]} on the leg's PATH",
            next_step="install it, or name its folder under `path` in the site file",
        ) from error


def _follow(process: subprocess.Popen[bytes], sink: LogSink, echo: Echo | None, deadline: float, limit: float) -> bool:
    """True when `deadline` came first. Returns when the wrapper has ended, even while children hold the pipe."""
    stream = process.stdout
    if stream is None:  # never with PIPE; keeps the type checker honest
        return False
    os.set_blocking(stream.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while process.poll() is None:
            if time.monotonic() >= deadline:
                return True
            if selector.select(POLL_SECONDS) and not _read(stream.fileno(), sink, echo):
                selector.unregister(stream)  # it closed its output and runs on
                return _wait_silently(process, echo, deadline, limit)
            if echo:
                echo.tick(limit)
    return False


def _wait_silently(process: subprocess.Popen[bytes], echo: Echo | None, deadline: float, limit: float) -> bool:
    while time.monotonic() < deadline:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=POLL_SECONDS)
            return False
        if echo:
            echo.tick(limit)
    return True


def _read(fd: int, sink: LogSink, echo: Echo | None) -> bool:
    """False at the end of the stream."""
    try:
        chunk = os.read(fd, CHUNK)
    except BlockingIOError:
        return True
    sink.write(chunk)
    if echo:
        echo.feed(chunk)
    return bool(chunk)


def _drain(process: subprocess.Popen[bytes], sink: LogSink, echo: Echo | None) -> None:
    """Take what is left in the pipe; a process that escaped and still holds it cannot keep us."""
    stream = process.stdout
    if stream is None:
        return
    deadline = time.monotonic() + DRAIN_SECONDS
    with selectors.DefaultSelector() as selector, stream:
        os.set_blocking(stream.fileno(), False)
        selector.register(stream, selectors.EVENT_READ)
        while time.monotonic() < deadline and selector.select(0.05) and _read(stream.fileno(), sink, echo):
            pass
    if echo:
        echo.close()


def _ladder(process: subprocess.Popen[bytes], sink: LogSink, echo: Echo | None, grace: Grace) -> None:
    """End the process group: SIGINT, SIGTERM, SIGKILL, with patience between. Its last words still reach the log."""
    rungs = ((signal.SIGINT, grace.interrupt), (signal.SIGTERM, grace.terminate), (signal.SIGKILL, grace.terminate))
    for signum, seconds in rungs:
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):  # it may end between looking and signalling
            os.killpg(process.pid, signum)
        _follow(process, sink, echo, time.monotonic() + seconds, seconds)
