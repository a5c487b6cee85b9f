"""Reports where this interpreter imports given modules from. Standard library only; run by the suite's Python.

usage: driver.py OUT MODULE...
"""

import importlib
import json
import os
import sys
import traceback
from pathlib import Path

MAX_TRACEBACK = 2900
HEAD = "Traceback (most recent call last):\n"


def told(error: BaseException) -> str:
    """The traceback in whole lines with its head, without the import system's frames, which crowd out the others."""
    report = traceback.TracebackException.from_exception(error)
    link = report
    while link is not None:
        frames = [frame for frame in link.stack if not frame.filename.startswith("<frozen ")]
        link.stack = traceback.StackSummary.from_list(frames)
        link = link.__cause__ or link.__context__
    text = "".join(report.format())
    if len(text) <= MAX_TRACEBACK:
        return text
    return HEAD + text[-MAX_TRACEBACK:].partition("\n")[2]


def look(name: str) -> dict:
    """What importing `name` gives. The import itself runs untrusted code, hence BaseException."""
    found = {"module": name, "file": None, "version": None, "error": None, "raised_in": None}
    try:
        module = importlib.import_module(name)
    except BaseException as error:  # noqa: BLE001 - SystemExit of a module is a fact about it, too
        frames = traceback.extract_tb(error.__traceback__)
        raised_in = getattr(error, "filename", None) if isinstance(error, SyntaxError) else None
        raised_in = raised_in or (frames[-1].filename if frames else None)
        last = [frame for frame in frames if not frame.filename.startswith("<frozen ")]
        if last and (raised_in is None or raised_in.startswith("<frozen ")):
            raised_in = last[-1].filename
        found["error"] = f"{type(error).__name__}: {error}"[:800] + "\n" + told(error)
        found["raised_in"] = os.path.realpath(raised_in) if raised_in and raised_in != __file__ else None
        return found
    path = getattr(module, "__file__", None)
    if path is None:
        found["error"] = f"ImportError: {name} is a namespace without a file, from {list(module.__path__)!r}"[:800]
        return found
    found["file"] = os.path.realpath(path)
    version = getattr(module, "__version__", None)
    found["version"] = version if isinstance(version, str) else None
    return found


def leave_own_folder() -> None:
    """Python puts the script's folder first on sys.path: nothing may be imported from it."""
    own = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != own]


def main() -> None:
    """Write one JSON document to OUT."""
    out, *modules = sys.argv[1:]
    leave_own_folder()
    result = {"interpreter": sys.executable, "imports": [look(name) for name in modules], "ray_error": None}
    Path(out).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
