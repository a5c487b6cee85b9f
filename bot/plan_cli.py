"""`plan` for a person or a script: a repository or a list of paths to the levels that the rules select, with reasons.

No event, no permission, no GitHub: nothing here admits a run.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TextIO

import msgspec

from bot.changes import MAX_LIST_BYTES, changes_between, changes_from_diff, changes_from_list
from bot.explain import explain, explain_on_terminal
from bot.parse_changes import Analysis
from levels import catalogue, rules
from levels.changes import MAX_DIFF_CHARACTERS
from levels.errors import E2EError, ExitCode, UsageError
from levels.model import Suite
from levels.plan import Selection
from levels.rulebook import RuleSet

EPILOG: Final = """\
examples:
  bridge-e2e plan --repo . --base main --head HEAD --explain
  git diff --name-only main | bridge-e2e plan --paths-from - --select-only
  bridge-e2e plan --paths-from files.txt --diff change.patch --json

exit codes: 0 selected, or nothing to do; 2 the options or the repository make no sense; 70 a bug of ours
"""


def main(argv: Sequence[str], *, out: TextIO = sys.stdout, err: TextIO = sys.stderr, stdin: TextIO = sys.stdin) -> int:
    """The exit code of `plan`; prints the answer on `out` and errors on `err`."""
    options = parser().parse_args(list(argv))
    try:
        book, levels = rules.load(), catalogue.load()
        analysis = _analysis(options, book, stdin)
        selection = rules.select(analysis.changes, levels, book, doubts=analysis.doubts)
    except E2EError as error:
        print(f"plan: {error}", file=err)
        return error.exit_code
    _print(options, selection, book, out)
    return ExitCode.PASS


def parser() -> argparse.ArgumentParser:
    """The options of `plan` for a repository or a list."""
    made = argparse.ArgumentParser(
        prog="bridge-e2e plan",
        description="Which levels of verl and NeMo-RL a change needs, and why.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--repo", type=Path, metavar="DIR", help="git repository, bare or not")
    made.add_argument("--base", metavar="REV", help="what the change goes into; its merge base with --head counts")
    made.add_argument("--head", metavar="REV", help="the change")
    made.add_argument("--paths-from", metavar="FILE", help="one path a line, or a JSON list; - is standard input")
    made.add_argument("--diff", type=Path, metavar="FILE", help="a unified diff that shows the changed lines")
    shape = made.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="the whole Selection as JSON")
    shape.add_argument("--select-only", action="store_true", help='only {"verl": [..], "nemo-rl": [..]}')
    shape.add_argument("--explain", action="store_true", help="every level with rule, file and GPU-minutes (default)")
    return made


def _analysis(options: argparse.Namespace, book: RuleSet, stdin: TextIO) -> Analysis:
    from_repo = [options.repo, options.base, options.head]
    if any(from_repo) == bool(options.paths_from or options.diff) or (any(from_repo) and not all(from_repo)):
        raise UsageError(
            doing="reading the options of plan",
            found=", ".join(_given(options)) or "none of them",
            expected="--repo, --base and --head together, or --paths-from and/or --diff",
            next_step="see `bridge-e2e plan --help`",
        )
    if options.repo:
        return changes_between(options.repo, options.base, options.head, wants=book.wants_content)
    diff = _read(options.diff, MAX_DIFF_CHARACTERS) if options.diff else None
    if not options.paths_from:
        return changes_from_diff(diff or b"")
    if options.paths_from == "-":
        text = stdin.read(MAX_LIST_BYTES + 1)
        _check_size("standard input", len(text), MAX_LIST_BYTES)
    else:
        text = _read(Path(options.paths_from), MAX_LIST_BYTES).decode("utf-8", "replace")
    return changes_from_list(text, diff)


def _given(options: argparse.Namespace) -> list[str]:
    return [
        f"--{name.replace('_', '-')}"
        for name in ("repo", "base", "head", "paths_from", "diff")
        if getattr(options, name)
    ]


def _read(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise UsageError(
            doing=f"reading {path}",
            found=error.strerror or str(error),
            expected="a readable file",
            next_step="correct its name",
        ) from error
    _check_size(str(path), len(data), limit)
    return data


def _check_size(what: str, size: int, limit: int) -> None:
    if size > limit:
        raise UsageError(
            doing=f"reading {what}",
            found=f"more than {limit} bytes",
            expected="a shorter text",
            next_step="split the change",
        )


def _print(options: argparse.Namespace, selection: Selection, book: RuleSet, out: TextIO) -> None:
    if options.select_only:
        levels = {suite.value: selection.required(suite) for suite in Suite}
        print(msgspec.json.encode(levels).decode(), file=out)
    elif options.json:
        print(msgspec.json.format(msgspec.json.encode(selection), indent=2).decode(), file=out)
    else:
        show: Callable[[Selection, RuleSet, TextIO], None] = explain_on_terminal if out.isatty() else explain
        show(selection, book, out)
