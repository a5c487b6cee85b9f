"""`bridge-e2e catalogue check`: the levels against real trees, as a table. No looking here."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import msgspec
from rich.console import Console
from rich.table import Table

from bot.drift.check import check, trees_of
from bot.drift.findings import Finding
from levels import catalogue
from levels.errors import E2EError, ExitCode

_EPILOG = """\
example:
  bridge-e2e catalogue check --verl ../verl --nemo-rl ../RL --bridge ../Megatron-Bridge

Wrappers are run with stand-ins for every program, in a shadow of the tree; nothing of the tree is changed.

exit codes: 0 every fact holds, 2 some do not (they are listed) or usage, 70 a bug of ours, 130 interrupted
"""


def main(argv: Sequence[str], out: TextIO = sys.stdout, err: TextIO = sys.stderr) -> int:
    """The exit code of `catalogue check`."""
    parser = argparse.ArgumentParser(
        prog="bridge-e2e catalogue check",
        description="Is every env var, override, script and metric of the levels really read by these trees?",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--verl", type=Path, metavar="DIR", help="checkout of verl")
    parser.add_argument("--nemo-rl", type=Path, metavar="DIR", help="checkout of NeMo-RL")
    parser.add_argument("--bridge", type=Path, metavar="DIR", help="checkout of Megatron-Bridge, for its tests")
    parser.add_argument("--mcore", type=Path, metavar="DIR", help="checkout of Megatron-LM, for fields handed on to it")
    parser.add_argument("--levels", type=Path, metavar="DIR", help="folder with the YAML files (default: ours)")
    parser.add_argument("--all", action="store_true", help="list what holds too")
    parser.add_argument("--json", action="store_true", help="findings as JSON")
    asked = parser.parse_args(argv)
    try:
        found = check(catalogue.load(asked.levels), trees_of(asked.verl, asked.nemo_rl, asked.bridge, asked.mcore))
    except E2EError as error:
        print(error, file=err)
        return error.exit_code
    broken = [item for item in found if not item.holds]
    if asked.json:
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode(), file=out)
    else:
        _print(found if asked.all else broken, out)
        print(f"{len(found)} facts looked up, {len(broken)} do not hold", file=out)
    return ExitCode.USAGE if broken else ExitCode.PASS


def _print(found: Sequence[Finding], out: TextIO) -> None:
    if not found:
        return
    table = Table("suite", "what", "name", "stated by", "proof")
    for item in found:
        table.add_row(item.suite, item.kind, item.name, item.where, item.proof, style=None if item.holds else "red")
    console = Console(file=out)
    if console.is_terminal:
        console.print(table)
        return
    for item in found:
        print(
            f"{'ok ' if item.holds else 'BAD'} {item.suite} {item.kind} {item.name} ({item.where}): {item.proof}",
            file=out,
        )
