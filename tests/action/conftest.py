"""The miniature trees as fixtures."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from action.context import InPlace
from tests.action.miniature import SHORT, WRAPPER, World, commit, git, repository

GITMODULES = """[submodule "x"]
\tpath = 3rdparty/Megatron-LM
\turl = https://evil.example.test/x.git
\tignore = all
"""
Git = Callable[..., str]


@pytest.fixture
def world(tmp_path: Path) -> World:
    mcore = repository(tmp_path / "up" / "mcore", {"megatron/core/__init__.py": '__version__ = "0.18"\n'})
    bridge = repository(
        tmp_path / "up" / "bridge",
        {
            "src/megatron/bridge/__init__.py": "import megatron.core\n",
            "tests/test_ok.py": "def test_ok():\n    assert True\n",
            ".gitmodules": GITMODULES,
        },
        links={"3rdparty/Megatron-LM": mcore},
    )
    suite = repository(tmp_path / "up" / "suite", {"run.sh": WRAPPER, "pkg/adapter.py": "OLD = 1\nOLD = 1\n"})
    up = tmp_path / "up"
    return World(tmp_path, up / "bridge", up / "mcore", up / "suite", bridge, mcore, suite)


@pytest.fixture
def short_tmp() -> Iterator[str]:
    """A parent for TMPDIR whose path is short enough for Ray's sockets."""
    with tempfile.TemporaryDirectory(prefix="t", dir=SHORT) as path:
        yield path


@pytest.fixture
def in_place(world: World) -> InPlace:
    """A person's trees: Bridge with the submodule checked out, and the suite."""
    bridge, suite = world.root / "mine" / "bridge", world.root / "mine" / "suite"
    bridge.parent.mkdir()
    git(world.root, "clone", "--quiet", str(world.bridge), str(bridge))
    git(world.root, "clone", "--quiet", str(world.mcore), str(bridge / "3rdparty" / "Megatron-LM"))
    git(world.root, "clone", "--quiet", str(world.suite), str(suite))
    return InPlace(bridge=bridge, suite=suite)


@pytest.fixture
def commit_to() -> Git:
    return commit


@pytest.fixture
def run_git() -> Git:
    return git


@pytest.fixture
def ray_python() -> str:
    """An interpreter that has ray."""
    try:
        import ray  # noqa: F401, PLC0415 - only asked for
    except ImportError:
        named = os.environ.get("BRIDGE_E2E_TEST_RAY_PYTHON")
        if not named:
            pytest.fail(
                "no ray here: install ray into this environment, or name an interpreter that has it in "
                "BRIDGE_E2E_TEST_RAY_PYTHON; or leave these tests out with -m 'not ray'"
            )
        return named
    return sys.executable
