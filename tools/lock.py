"""Write the hashed locks in requirements/ from pyproject.toml, or say which are stale.

usage: python tools/lock.py [--check]

Needs `uv` (in the development dependencies). A lock records the digest of the pyproject sections it came from, so that
`--check` needs no network.
"""

import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKS = {
    "action": ["action"],
    "levels": [],
    "bot": ["bot"],
    "rehearsal": ["action", "bot", "rehearsal"],
    "catalogue": ["bot", "catalogue"],
    "dev": ["action", "bot", "rehearsal", "catalogue", "dev"],
}
"""Lock name to the extras that it holds beside the base dependencies."""


def wanted(extras: list[str]) -> list[str]:
    """The requirements of `pyproject.toml` for `extras`, sorted."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    return sorted({*project["dependencies"], *(item for extra in extras for item in optional[extra])})


def stamp(requirements: list[str]) -> str:
    """Comment that ties a lock to its requirements."""
    return f"# requirements: sha256 {hashlib.sha256(json.dumps(requirements).encode()).hexdigest()}"


def write(name: str, extras: list[str]) -> None:
    """Resolve and write one lock."""
    requirements = wanted(extras)
    done = subprocess.run(
        [
            "uv",
            "pip",
            "compile",
            "-",
            "--generate-hashes",
            "--universal",
            "--python-version",
            "3.11",
            "--quiet",
            "--no-header",
            "--no-annotate",
            "--no-emit-index-url",
        ],
        input="\n".join(requirements),
        text=True,
        capture_output=True,
        check=True,
    )
    (ROOT / "requirements" / f"{name}.lock").write_text(f"{stamp(requirements)}\n{done.stdout}", encoding="utf-8")


def main() -> int:
    """Write all locks, or check them."""
    if "--check" not in sys.argv[1:]:
        for name, extras in LOCKS.items():
            write(name, extras)
        return 0
    stale = [
        name
        for name, extras in LOCKS.items()
        if not (path := ROOT / "requirements" / f"{name}.lock").exists()
        or not path.read_text(encoding="utf-8").startswith(stamp(wanted(extras)))
    ]
    if stale:
        sys.stderr.write(f"checking locks: found stale {', '.join(stale)}. Next: python tools/lock.py\n")
    return 2 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
