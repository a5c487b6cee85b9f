"""`bridge-e2e`: one command that starts the zone a subcommand belongs to. Decides nothing, imports no other zone.

Each zone runs as `python -I -m <zone>`: `-I` keeps PYTHONPATH, which a suite may have set, out of our process.
"""

import subprocess
import sys
from typing import Final

from levels.errors import ExitCode

COMMANDS: Final = {
    "plan": ("bot", "what would run for an event or a change, and why"),
    "run": ("action", "run one level on this machine; always leaves evidence"),
    "judge": ("levels", "say Pass, Fail or Blocked about evidence or a log"),
    "report": ("bot", "publish a verdict, or write it to files with --dry-run"),
    "catalogue": (
        "levels",
        "the levels: GPUs, minutes, what a Pass proves; `catalogue check` compares them with real trees",
    ),
    "rehearse": ("bot", "a pull-request event through the real workflow files, on this machine"),
    "schema": ("levels", "write the JSON Schemas of the documents"),
    "validate": ("levels", "check every YAML file of levels/"),
}
"""Subcommand to zone and help text."""


def usage() -> str:
    """The text of `bridge-e2e --help`."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {text}" for name, (_, text) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: bridge-e2e COMMAND [ARGUMENTS]",
            "",
            *lines,
            "",
            "Each command has --help with examples and exit codes.",
            "",
            "examples:",
            "  bridge-e2e rehearse",
            "  bridge-e2e plan --repo ../Megatron-Bridge --base HEAD~1 --head HEAD --explain",
            "  bridge-e2e judge --log run.log --suite verl --level 0 --exit-code 0",
            "",
            "exit codes: " + ", ".join(f"{code.value} {code.name.lower()}" for code in ExitCode),
        ]
    )


def main(argv: list[str] | None = None) -> int:
    """Start the zone of `argv[0]` and return its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        print(usage())
        return ExitCode.PASS if arguments else ExitCode.USAGE
    if arguments[0] not in COMMANDS:
        print(
            f"reading the command line: found {arguments[0]!r}; expected one of {', '.join(COMMANDS)}. "
            "Next: bridge-e2e --help",
            file=sys.stderr,
        )
        return ExitCode.USAGE
    zone, _ = COMMANDS[arguments[0]]
    if arguments[:2] == ["catalogue", "check"]:
        zone, arguments = "bot", ["catalogue-check", *arguments[2:]]
    child = subprocess.Popen([sys.executable, "-I", "-m", zone, *arguments])
    try:
        return child.wait()
    except KeyboardInterrupt:
        # The terminal sent SIGINT to the child too; it closes its evidence and says how it ended.
        return child.wait()


if __name__ == "__main__":
    sys.exit(main())
