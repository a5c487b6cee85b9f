"""Real wrappers that fork, ignore signals, flood, die and leave children: nothing is left, and the log is kept."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from action import leftovers
from action.echo import Echo
from action.logsink import TAIL_BYTES
from action.process import Ended, Grace, Interrupted, Limits, run
from levels.errors import EnvironmentBlocked
from levels.model import Boundary

QUICK = Grace(interrupt=0.5, terminate=0.5, settle=0.3)
TOKEN = "test-leg-0123"


def env_of(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], leftovers.TOKEN_VARIABLE: TOKEN, **more}


def start(
    tmp_path: Path,
    code: str,
    *,
    seconds: float = 20,
    log_bytes: int = 10_000_000,
    echo: Echo | None = None,
    grace: Grace = QUICK,
) -> Ended:
    return run(
        (sys.executable, "-c", textwrap.dedent(code)),
        cwd=tmp_path,
        env=env_of(),
        log=tmp_path / "run.log",
        limits=Limits(seconds=seconds, log_bytes=log_bytes, grace=grace),
        echo=echo,
    )


def alive(pid_file: Path) -> bool:
    pid = int(pid_file.read_text())
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """An unrelated process of the same program."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize(
    ("code", "exit_code", "signum"),
    [
        pytest.param("print('done')", 0, None, id="zero"),
        pytest.param("raise SystemExit(7)", 7, None, id="seven"),
        pytest.param("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", None, 9, id="killed"),
        pytest.param("import os; os.abort()", None, 6, id="aborted"),
    ],
)
def test_how_it_ended(tmp_path: Path, code: str, exit_code: int | None, signum: int | None) -> None:
    ended = start(tmp_path, code)
    assert (ended.exit_code, ended.signal, ended.timed_out, ended.leftovers) == (exit_code, signum, False, 0)


def test_both_streams_are_merged_in_order(tmp_path: Path) -> None:
    start(tmp_path, "import sys; print('one', flush=True); print('two', file=sys.stderr, flush=True); print('three')")
    assert (tmp_path / "run.log").read_text() == "one\ntwo\nthree\n"


def test_a_wrapper_and_child_that_ignore_every_polite_signal_are_ended(
    tmp_path: Path, bystander: subprocess.Popen[bytes]
) -> None:
    began = time.monotonic()
    ended = start(
        tmp_path,
        f"""
        import os, signal, time
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(name, signal.SIG_IGN)
        if os.fork() == 0:
            open({str(tmp_path / "child")!r}, "w").write(str(os.getpid()))
        time.sleep(600)
        """,
        seconds=1,
    )
    assert ended.timed_out
    assert ended.signal == signal.SIGKILL
    assert not alive(tmp_path / "child")
    assert bystander.poll() is None
    assert time.monotonic() - began < 7.5


def test_last_words_after_the_first_signal_reach_the_log(tmp_path: Path) -> None:
    code = """
    import time
    try:
        time.sleep(600)
    except KeyboardInterrupt:
        print("x" * 200_000, "saved", flush=True)
    """
    # Long enough for Python to start, and to write, on a busy machine.
    ended = start(tmp_path, code, seconds=5, grace=Grace())
    assert (ended.timed_out, ended.exit_code) == (True, 0)
    assert (tmp_path / "run.log").read_text().endswith(" saved\n")


@pytest.mark.parametrize(
    "leave",
    [
        pytest.param("", id="same-group"),
        pytest.param("os.setpgid(0, 0)", id="own-group"),
        pytest.param("os.setsid()", id="own-session"),
        pytest.param("os.setsid()\n    if os.fork(): os._exit(0)", id="daemon"),
    ],
)
def test_a_wrapper_that_exits_while_children_live(
    tmp_path: Path, bystander: subprocess.Popen[bytes], leave: str
) -> None:
    ended = start(
        tmp_path,
        f"""
import os, sys, time
if os.fork() == 0:
    {leave or "pass"}
    open({str(tmp_path / "child")!r}, "w").write(str(os.getpid()))
    time.sleep(600)
while not os.path.exists({str(tmp_path / "child")!r}) or not open({str(tmp_path / "child")!r}).read():
    time.sleep(0.01)
print("wrapper done")
""",
    )
    assert ended.exit_code == 0
    assert ended.leftovers == 1
    assert not alive(tmp_path / "child")
    assert bystander.poll() is None
    assert (tmp_path / "run.log").read_text() == "wrapper done\n"


def test_children_that_end_by_themselves_are_no_leftovers(tmp_path: Path) -> None:
    ended = start(tmp_path, "import os, time\nif os.fork() == 0: time.sleep(0.1)")
    assert (ended.exit_code, ended.leftovers) == (0, 0)


def test_a_flood_keeps_its_start_and_its_end(tmp_path: Path) -> None:
    cap = 2 * TAIL_BYTES
    code = f"""
    import sys
    print("first line")
    for _ in range({4 * cap} // 64): sys.stdout.write("x" * 63 + chr(10))
    print("Traceback: last line")
    """
    ended = start(tmp_path, code, log_bytes=cap)
    data = (tmp_path / "run.log").read_bytes()
    assert ended.log_cut
    assert ended.exit_code == 0
    assert data.startswith(b"first line\n")
    assert data.endswith(b"Traceback: last line\n")
    assert b"bytes left out here" in data
    assert len(data) < cap + 100_000


def test_a_wrapper_that_closes_its_output_is_still_waited_for(tmp_path: Path) -> None:
    ended = start(tmp_path, "import os, time\nos.close(1); os.close(2); time.sleep(0.3); os._exit(4)")
    assert ended.exit_code == 4
    ended = start(tmp_path, "import os, time\nos.close(1); os.close(2); time.sleep(600)", seconds=1)
    assert ended.timed_out


def test_a_missing_program_is_blocked(tmp_path: Path) -> None:
    limits = Limits(seconds=5, log_bytes=1000)
    with pytest.raises(EnvironmentBlocked) as caught:
        run(("no-such-program",), cwd=tmp_path, env=env_of(), log=tmp_path / "run.log", limits=limits)
    assert caught.value.boundary is Boundary.ENVIRONMENT
    assert "no-such-program" in str(caught.value)


def test_a_log_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "run.log").symlink_to(victim)
    with pytest.raises(OSError, match=r"run\.log"):
        start(tmp_path, "print('x')")
    assert victim.read_text() == "precious"


def test_an_interruption_ends_everything_and_goes_on_upwards(tmp_path: Path) -> None:
    def raise_it(signum: int, frame: object) -> None:
        del frame
        raise Interrupted(signum)

    before = signal.signal(signal.SIGUSR1, raise_it)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    code = f"""
    import os, time
    open({str(tmp_path / "child")!r}, "w").write(str(os.getpid()))
    print("working", flush=True)
    time.sleep(600)
    """
    try:
        with pytest.raises(Interrupted, match="SIGUSR1"):
            start(tmp_path, code)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not alive(tmp_path / "child")
    assert "working" in (tmp_path / "run.log").read_text()


def test_a_process_older_than_the_leg_is_never_ours(bystander: subprocess.Popen[bytes]) -> None:
    carrier = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=env_of())
    try:
        _wait_for(lambda: [found.pid for found in leftovers.find(TOKEN, 0.0, None)] == [carrier.pid])
        assert leftovers.find(TOKEN, time.time() + 60, None) == []
        assert leftovers.find("another-leg", 0.0, None) == []
        assert leftovers.end(TOKEN, 0.0, None, settle=0, terminate=2) == 1
        carrier.wait(timeout=5)
        assert bystander.poll() is None
    finally:
        carrier.kill()
        carrier.wait()


def _wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)


ADOPTING = """
import os, sys, time
from pathlib import Path
from action import leftovers
from action.process import Grace, Limits, run
leftovers.adopt_orphans()
code = '''
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    open("child", "w").write(str(os.getpid()))
    os.execve("/bin/sleep", ["sleep", "600"], {})
while not os.path.exists("child"): time.sleep(0.01)
'''
env = {"PATH": os.environ["PATH"], leftovers.TOKEN_VARIABLE: "t"}
limits = Limits(seconds=20, log_bytes=1000, grace=Grace(settle=0.2))
ended = run((sys.executable, "-c", code), cwd=Path("."), env=env, log=Path("run.log"), limits=limits)
print(ended.leftovers, len(__import__("psutil").Process().children()))
"""


def test_a_daemon_that_dropped_its_environment_is_found_by_descent(tmp_path: Path) -> None:
    """In a program of its own, as the product runs: there every orphan comes back to the runner."""
    root = Path(leftovers.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", ADOPTING],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["1", "0"]
    assert not alive(tmp_path / "child")
