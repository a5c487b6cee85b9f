"""`reconcile`: looks after every open run of the repository. What is done about one is decided elsewhere."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, TextIO

from bot import settings, work
from bot.github import Pace
from bot.outputs import log_line
from bot.reconciling import Office, reconcile
from levels.errors import E2EError, ExitCode

EPILOG: Final = """\
example:
  GITHUB_TOKEN=... GITHUB_REPOSITORY=owner/name python -I -m bot reconcile

The token needs actions: write (to end runs that nobody waits for), checks: write and pull-requests: write.

exit codes: 0 every open run was looked after; 2 an option makes no sense; 5 GitHub unavailable; 70 a bug of ours
"""


def main(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str] | None = None,
    pace: Pace | None = None,
    err: TextIO = sys.stderr,
) -> int:
    """The exit code of `reconcile`."""
    parser = argparse.ArgumentParser(
        prog="python -I -m bot reconcile",
        description="Make the checks say what became of runs, and close what died.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args(list(argv))
    try:
        env = settings.read(environ)
        api = work.connect(env, pace)
        office = Office(
            pulls=api.pulls,
            checks=api.checks,
            comments=api.comments,
            runs=api.runs,
            policy=work.rights(env),
            bot_login=env.bot_login,
            now=api.now,
            run_id=env.run_id,
            workflow=env.workflow,
            page=partial(_page, env.server_url, env.repository),
        )
        cases = reconcile(office)
    except E2EError as error:
        notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
        print(f"reconcile: {log_line(f'{error}{notes}')}", file=err)
        return error.exit_code
    for case in cases:
        print(f"reconcile: run {case.order[0]} on {case.head[:12]}", file=err)
    return ExitCode.PASS


def _page(server: str, repository: str, run: int) -> str:
    return f"{server}/{repository}/actions/runs/{run}"
