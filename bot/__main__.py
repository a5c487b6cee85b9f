"""Starts a command of this zone by its name. What a command does never stands here."""

import sys

from bot import plan_cli


def main() -> int:
    """The exit code of the command named first."""
    if sys.argv[1:2] == ["plan"]:
        return plan_cli.main(sys.argv[2:])
    print("usage: python -I -m bot plan ...", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
