"""`tools/run test` is what CI calls: whatever fails in it must fail it."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ("python", "ruff", "mypy", "codespell", "shellcheck", "actionlint", "zizmor", "pytest")


def checkout(root: Path, failing: str | None) -> Path:
    """A checkout with an up-to-date venv, every tool of which succeeds, but for one."""
    for name in ("tools/run", "pyproject.toml", "requirements/dev.lock"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    programs = root / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in TOOLS:
        code = 3 if name == failing else 0
        (programs / name).write_text(f'#!/bin/sh\necho {name} >> "{root}/called"; echo tests/x.py::y\nexit {code}\n')
        (programs / name).chmod(0o755)
    sums = subprocess.run(
        ["sha256sum", "requirements/dev.lock", "pyproject.toml"], cwd=root, check=True, capture_output=True
    ).stdout
    (root / ".venv" / ".lock-digest").write_text(hashlib.sha256(sums).hexdigest() + "\n")
    return root


@pytest.mark.parametrize(
    ("failing", "code"),
    [pytest.param(None, 0, id="nothing"), *(pytest.param(name, 3, id=name) for name in TOOLS)],
)
def test_what_fails_in_a_stage_fails_the_command(tmp_path: Path, failing: str | None, code: int) -> None:
    root = checkout(tmp_path, failing)
    done = subprocess.run(["tools/run", "test"], cwd=root, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (code, "")
    called = (root / "called").read_text().split()
    assert called[-1] == (failing or "pytest")
    assert done.stdout.splitlines()[-1].endswith(f"s, exit {code}")


def test_an_install_that_failed_is_not_taken_for_current(tmp_path: Path) -> None:
    root = checkout(tmp_path, None)
    (root / ".venv" / ".lock-digest").unlink()
    python = tmp_path / "elsewhere" / "python3"
    python.parent.mkdir()
    # A venv whose pip fails.
    python.write_text(
        "#!/bin/sh\n"
        '[ "$2" = venv ] || exit 0\n'
        "mkdir -p .venv/bin\n"
        "printf '#!/bin/sh\\nexit 7\\n' > .venv/bin/pip\n"
        "chmod +x .venv/bin/pip\n"
    )
    python.chmod(0o755)
    path = {"PATH": f"{python.parent}:/usr/local/bin:/usr/bin:/bin"}
    done = subprocess.run(["tools/run", "test"], cwd=root, check=False, capture_output=True, text=True, env=path)
    assert done.returncode == 7
    assert not (root / ".venv" / ".lock-digest").exists()
