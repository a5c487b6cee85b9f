"""`plan --event`: a webhook payload to a Plan as job outputs. What is planned is decided elsewhere."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TextIO

from bot import settings, work
from bot.desk import NOTHING
from bot.events import Ignored
from bot.github import Pace
from bot.outputs import log_line, of_plan, text_of
from bot.planning import plan as plan_event
from bot.settings import Settings
from levels.documents import encode
from levels.errors import E2EError, ExitCode
from levels.files import append
from levels.plan import Decision, Plan

EPILOG: Final = """\
example:
  GITHUB_TOKEN=... GITHUB_REPOSITORY=owner/name bridge-e2e plan --event payload.json --event-name pull_request_target

Writes plan, decision, smoke and deep to the file in GITHUB_OUTPUT; without one the Plan is printed.

exit codes: 0 a plan was written, whatever it decides; 2 the options, the event or a file of ours make no sense;
4 refused, with --exit-code; 5 GitHub unavailable; 70 a bug of ours
"""


def main(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str] | None = None,
    pace: Pace | None = None,
    out: TextIO = sys.stdout,
    err: TextIO = sys.stderr,
) -> int:
    """The exit code of `plan --event`."""
    options = parser().parse_args(list(argv))
    try:
        env = settings.read(environ)
        planned = _planned(options, env, pace)
        _write(planned, env.output, out)
        print(f"plan: {planned.decision.value}: {log_line(planned.because)}", file=err)
    except E2EError as error:
        print(f"plan: {log_line(str(error))}", file=err)
        return error.exit_code
    refused = planned.decision in {Decision.REFUSED, Decision.VOID}
    return ExitCode.REFUSED if options.exit_code and refused else ExitCode.PASS


def parser() -> argparse.ArgumentParser:
    """The options of `plan --event`."""
    made = argparse.ArgumentParser(
        prog="bridge-e2e plan",
        description="What is to run for one event of a pull request, and why.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--event", type=Path, metavar="FILE", help="webhook payload; default: $GITHUB_EVENT_PATH")
    made.add_argument("--event-name", metavar="NAME", help="name of the event; default: $GITHUB_EVENT_NAME")
    made.add_argument("--exit-code", action="store_true", help="exit with 4 when the plan refuses")
    return made


def _planned(options: argparse.Namespace, env: Settings, pace: Pace | None) -> Plan:
    rights = work.rights(env)
    event = work.read_event(options.event, options.event_name, env, rights)
    if isinstance(event, Ignored):
        return _ignored(event, env)
    return plan_event(event, work.desk(env, work.connect(env, pace), rights))


def _ignored(event: Ignored, env: Settings) -> Plan:
    """Nothing of ours costs no API call, and needs no token."""
    return Plan(
        decision=Decision.IGNORED,
        because=event.reason,
        repository=env.repository or "unknown/unknown",
        pull_request=None,
        head=None,
        base=None,
        consent=None,
        selection=NOTHING,
        legs=(),
        run_url=env.run_url,
        attempt=env.run_attempt,
        product_commit=env.product_commit,
    )


def _write(planned: Plan, output: Path | None, out: TextIO) -> None:
    if output is None:
        out.write(encode(planned).decode())
        return
    append(output, text_of(of_plan(planned)), "the Plan")
