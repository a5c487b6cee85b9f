"""`bridge-e2e` starts the right zone and explains itself."""

import subprocess
import sys

import pytest

from levels.cli import COMMANDS, main, usage
from levels.errors import ExitCode


@pytest.mark.parametrize(
    ("argv", "code", "stream", "says"),
    [
        pytest.param([], ExitCode.USAGE, "out", "usage:", id="nothing"),
        pytest.param(["--help"], ExitCode.PASS, "out", "exit codes: 0 pass", id="help"),
        pytest.param(["plann"], ExitCode.USAGE, "err", "found 'plann'", id="typo"),
    ],
)
def test_what_it_prints(
    argv: list[str], code: ExitCode, stream: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == code
    assert says in getattr(capsys.readouterr(), stream)


def test_usage_lists_every_command() -> None:
    assert all(f"  {name} " in usage() for name in COMMANDS)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "levels.cli", command, "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "usage:" in done.stdout
    assert "exit codes" in done.stdout.lower()
