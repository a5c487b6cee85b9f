"""Starts a command of this zone by its name. What a command does never stands here."""

import importlib
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Final

from levels.errors import ExitCode

USAGE: Final = """\
usage: python -I -m bot COMMAND [ARGUMENTS]

  plan      what would run for a repository (--repo DIR), a list of paths (--paths-from FILE), an event (--event FILE);
            `plan --help` and `plan --event --help` show the options
  receipt   answer at once what a plan decided
  report    publish a verdict, or write it to files with --dry-run
  reconcile make the checks say what became of runs, and close what died
  rehearse  a pull-request event through the real workflow files, on this machine
  catalogue-check  whether the levels still fit the suites' trees

Each command has --help with examples and exit codes.
"""
_OF_AN_EVENT: Final = ("--event", "--event-name", "--exit-code")
_COMMANDS: Final = {
    "receipt": ("bot.publish_cli", "receive"),
    "report": ("bot.publish_cli", "report"),
    "reconcile": ("bot.reconcile_cli", "main"),
    "rehearse": ("bot.rehearsal.cli", "main"),
    "catalogue-check": ("bot.drift.cli", "main"),
}
"""Command to module and function. Modules are loaded when named: `plan` needs no templates, `report` no rules."""


def main(argv: Sequence[str]) -> int:
    """The exit code of the command named first."""
    name, *rest = argv or [""]
    if name in {"-h", "--help"}:
        print(USAGE, end="")
        return ExitCode.PASS
    if name == "plan":
        module, function = ("bot.event_cli" if _of_an_event(rest) else "bot.plan_cli"), "main"
    elif name in _COMMANDS:
        module, function = _COMMANDS[name]
    else:
        print(USAGE, end="", file=sys.stderr)
        return ExitCode.USAGE
    return int(getattr(importlib.import_module(module), function)(rest))


def _of_an_event(arguments: Sequence[str]) -> bool:
    """Whether this is `plan` for an event; without any option the event is that of the workflow run."""
    return not arguments or any(argument.partition("=")[0] in _OF_AN_EVENT for argument in arguments)


def guarded(argv: Sequence[str], run: Callable[[Sequence[str]], int] = main) -> int:
    """The exit code of `run`; Python's own code for a crash, 1, would read as a Fail."""
    try:
        return run(argv)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except Exception:  # noqa: BLE001 - the one place where a bug of ours becomes exit code 70
        traceback.print_exc()
        return ExitCode.BUG


if __name__ == "__main__":
    sys.exit(guarded(sys.argv[1:]))
