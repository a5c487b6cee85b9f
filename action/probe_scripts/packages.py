"""Reports versions of installed packages without importing them. Standard library only; run by the suite's Python.

usage: packages.py OUT NAME...
"""

import importlib.metadata
import json
import sys
from pathlib import Path


def main() -> None:
    """Write one JSON object to OUT."""
    out, *names = sys.argv[1:]
    found = {}
    for name in names:
        try:
            found[name] = str(importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            continue
    text = json.dumps({"python": sys.version.split()[0], "packages": found})
    Path(out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
