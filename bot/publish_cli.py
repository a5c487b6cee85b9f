"""`receipt` and `report`: a Plan, and a Verdict, to GitHub or to files. What is written is decided elsewhere."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TextIO

from bot import crash, receipt, reporting, settings, work
from bot.github import Pace
from bot.outputs import log_line
from bot.settings import Settings
from bot.view import Summarize
from levels import summary
from levels.errors import DocumentError, E2EError, ExitCode, UsageError
from levels.files import append, writing
from levels.model import Outcome
from levels.plan import Decision, Plan
from levels.verdict import Verdict

SUMMARIZE: Final[Summarize] = summary.render
CODES: Final = {Outcome.PASS: ExitCode.PASS, Outcome.FAIL: ExitCode.FAIL, Outcome.BLOCKED: ExitCode.BLOCKED}

RECEIPT_EPILOG: Final = """\
example:
  GITHUB_TOKEN=... GITHUB_REPOSITORY=owner/name python -I -m bot receipt --plan plan.json

exit codes: 0 published; 2 the Plan or an option makes no sense; 5 GitHub unavailable; 70 a bug of ours
"""
REPORT_EPILOG: Final = """\
examples:
  GITHUB_TOKEN=... GITHUB_REPOSITORY=owner/name bridge-e2e report --plan plan.json --verdict verdict.json
  bridge-e2e report --plan plan.json --verdict verdict.json --dry-run out

A verdict that is missing or broken is reported as such, and every check is closed.

exit codes: 0 published, whatever the verdict; with --exit-code 0 Pass, 1 Fail, 3 Blocked; 2 the Plan or an option makes
no sense; 5 GitHub unavailable; 70 a bug of ours
"""


def receive(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str] | None = None,
    pace: Pace | None = None,
    err: TextIO = sys.stderr,
) -> int:
    """The exit code of `receipt`."""
    parser = _parser("python -I -m bot receipt", "Answer at once what a plan decided.", RECEIPT_EPILOG)
    options = parser.parse_args(list(argv))
    return _guarded("receipt", err, lambda: _receive(options.plan, settings.read(environ), pace))


def report(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str] | None = None,
    pace: Pace | None = None,
    err: TextIO = sys.stderr,
) -> int:
    """The exit code of `report`."""
    parser = _parser(
        "bridge-e2e report", "Publish a verdict, or write what would be published to files.", REPORT_EPILOG
    )
    parser.add_argument(
        "--verdict", type=Path, metavar="FILE", help="the Verdict; without one the run counts as Blocked"
    )
    parser.add_argument(
        "--dry-run", type=Path, metavar="DIR", help="write comment.md, checks.json and summary.md there"
    )
    parser.add_argument("--exit-code", action="store_true", help="exit by the verdict")
    options = parser.parse_args(list(argv))
    return _guarded("report", err, lambda: _report(options, settings.read(environ), pace, err))


def _parser(name: str, description: str, epilog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=name, description=description, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--plan", type=Path, metavar="FILE", required=True, help="the Plan")
    return parser


def _guarded(name: str, err: TextIO, work_on: Callable[[], int]) -> int:
    try:
        return work_on()
    except E2EError as error:
        notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
        print(f"{name}: {log_line(f'{error}{notes}')}", file=err)
        return error.exit_code


def _receive(path: Path, env: Settings, pace: Pace | None) -> int:
    plan = _read_plan(path, env, pace)
    api = work.connect(env, pace)
    receipt.receive(
        plan,
        checks=api.checks,
        comments=api.comments,
        catalogue=work.levels(),
        bot_login=env.bot_login,
        order=work.order(plan, env),
    )
    return ExitCode.PASS


def _read_plan(path: Path, env: Settings, pace: Pace | None) -> Plan:
    """The Plan in `path`; without a usable one whoever asked is told so, and no check is left open."""
    try:
        return work.read_plan(path)
    except (DocumentError, UsageError) as error:
        try:
            _tell_crash(env, pace)
        except E2EError as other:
            error.add_note(f"and nobody was told: {other}")
        raise


def _report(options: argparse.Namespace, env: Settings, pace: Pace | None, err: TextIO) -> int:
    plan = work.read_plan(options.plan) if options.dry_run else _read_plan(options.plan, env, pace)
    if plan.decision is not Decision.RUN:
        print(f"report: {plan.decision.value}: nothing ran, and the receipt has said so", file=err)
        return ExitCode.PASS
    verdict, trouble = _verdict(options.verdict, plan)
    order = work.order(plan, env)
    composed = reporting.compose(
        plan,
        verdict,
        catalogue=work.levels(),
        summarize=SUMMARIZE,
        order=order,
        trouble=trouble,
    )
    if trouble is not None:
        print(f"report: {log_line(str(trouble))}", file=err)
    if options.dry_run is not None:
        with writing(options.dry_run, "what would be published"):
            reporting.write_files(composed, options.dry_run)
    else:
        _publish(composed, plan, verdict, env, order, pace)
    outcome = verdict.outcome if verdict else Outcome.BLOCKED
    return CODES[outcome] if options.exit_code else ExitCode.PASS


def _verdict(path: Path | None, plan: Plan) -> tuple[Verdict | None, E2EError | None]:
    """The verdict, or why there is none; both are reported."""
    try:
        data = work.read_file(path, "the Verdict") if path else b""
        return reporting.read_verdict(data, plan), None
    except (DocumentError, UsageError) as error:
        return None, error


def _publish(
    composed: reporting.Report,
    plan: Plan,
    verdict: Verdict | None,
    env: Settings,
    order: tuple[int, int],
    pace: Pace | None,
) -> None:
    """GitHub first: a page of the job that cannot be written leaves no check open."""
    api = work.connect(env, pace)
    try:
        reporting.publish(
            composed, plan, verdict, checks=api.checks, comments=api.comments, bot_login=env.bot_login, order=order
        )
    finally:
        if env.summary is not None:
            append(env.summary, composed.summary, "the job summary")


def _tell_crash(env: Settings, pace: Pace | None) -> None:
    event = work.read_event(None, None, env, work.rights(env))
    api = work.connect(env, pace)
    crash.tell(
        event,
        pulls=api.pulls,
        checks=api.checks,
        comments=api.comments,
        bot_login=env.bot_login,
        order=(env.run_id, env.run_attempt),
        run_url=env.run_url,
    )
