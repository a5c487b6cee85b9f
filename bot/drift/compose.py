"""Asks the suite's own loader, in a child process, what a call's configuration is. Who reads it is not asked here."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import msgspec

from bot.drift.entries import Entry
from levels.errors import E2EError, UsageError

SECONDS: Final = 120
_CHILD: Final = Path(__file__).with_name("compose_child.py")


class Composed(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration of one call."""

    keys: dict[str, str] = {}
    """Dotted key to the value's text, after the overrides."""
    base: frozenset[str] = frozenset()
    """Keys that were there before the overrides."""
    error: str | None = None
    """Why the loader refused."""


def compose(entry: Entry) -> Composed:
    """What the loader makes of `entry`.

    Raises:
        UsageError: when the loader's own packages are not installed here.

    """
    asked = msgspec.to_builtins(entry)
    done = subprocess.run(
        [sys.executable, "-I", str(_CHILD)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return Composed(error=f"the loader ended with code {done.returncode}: {done.stderr.strip()[-500:]}")
    error = answer.get("error")
    if error is not None and error.startswith("ModuleNotFoundError: No module named 'hydra"):
        raise _no_hydra()
    return Composed(keys=answer.get("keys", {}), base=frozenset(answer.get("base", ())), error=error)


def _no_hydra() -> E2EError:
    return UsageError(
        doing="composing a suite's configuration",
        found="no package hydra-core",
        expected="the loader that both suites use",
        next_step="pip install --require-hashes -r requirements/catalogue.lock",
    )
