"""The composite action: no expression reaches a shell, and its script runs one step in a venv of its own."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from action import runner

ZONE = Path(runner.__file__).parent
ACTION = yaml.safe_load((ZONE / "action.yml").read_text())


def test_no_expression_stands_in_a_script() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert "uses" not in step


def test_every_input_reaches_the_script_by_environment() -> None:
    (step,) = ACTION["runs"]["steps"]
    given = set(step["env"].values())
    assert given == {"${{ github.action_path }}", *(f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"])}
    script = (ZONE / "step.sh").read_text()
    assert all(name in script for name in step["env"] if name != "ACTION_PATH")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Our own checkout as the action finds it, its venv already made from the lock."""
    root = tmp_path / "ours"
    for zone in ("action", "levels"):
        shutil.copytree(ZONE.parent / zone, root / zone, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "requirements").mkdir()
    lock = root / "requirements/action.lock"
    lock.write_text("")
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/made-from").write_text(hashlib.sha256(lock.read_bytes()).hexdigest() + "\n")
    python = root / ".venv/bin/python"
    # -I of the real venv hides PYTHONPATH; this stand-in for it keeps the test free of an installation.
    python.write_text(f'#!/bin/sh\nshift\nPYTHONPATH={root} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return root


def step(checkout: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    env = {
        "PATH": os.environ["PATH"],
        "PYTHON": sys.executable,
        "STEP": "run",
        "PLAN": "none.json",
        "LEG": "l",
        "OUT": "o",
    }
    script = checkout / "action/step.sh"
    return subprocess.run(
        ["bash", str(script)], cwd=checkout.parent, env={**env, **inputs}, capture_output=True, text=True, check=False
    )


def test_the_script_starts_the_step_and_hands_on_its_code(checkout: Path) -> None:
    done = step(checkout)
    assert done.returncode == 2
    assert "none.json" in done.stderr


@pytest.mark.parametrize("hostile", ["$(touch owned)", "`touch owned`", "; touch owned", "--help\ntouch owned"])
def test_hostile_inputs_stay_arguments(checkout: Path, hostile: str) -> None:
    step(checkout, LEG=hostile, OUT=hostile, PLAN=hostile, SITE=hostile)
    assert not (checkout.parent / "owned").exists()


def test_an_old_python_is_refused_with_the_remedy(checkout: Path, tmp_path: Path) -> None:
    old = tmp_path / "python-old"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && { echo Python 3.8.1; exit 0; }\nexit 1\n')
    old.chmod(0o755)
    done = step(checkout, PYTHON=str(old))
    assert done.returncode == 2
    assert "Python 3.8.1" in done.stderr
    assert "Next:" in done.stderr
