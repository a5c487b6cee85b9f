"""`rehearse`: a pull-request event through the real workflow files, on this machine. No step of it stands here."""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from bot.rehearsal import act, event, scenarios, server, show, workspace
from bot.rehearsal.leftovers import end_leftovers
from bot.rehearsal.state import State
from levels.documents import decode
from levels.errors import DocumentError, E2EError, ExitCode, UsageError
from levels.model import Outcome, Suite
from levels.plan import Decision, Plan
from levels.verdict import Verdict

EPILOG: Final = """\
examples:
  bridge-e2e rehearse                           label verl-e2e on a small pull request: level 0 of both suites
  bridge-e2e rehearse --scenario fail-provider  the same, on a pull request that breaks the provider
  bridge-e2e rehearse --suite verl --level 0    the comment `/run-e2e suite=verl level=0 sha=...`
  bridge-e2e rehearse --event payload.json      a recorded event; its commits become the miniature's

exit codes: 0 Pass, or nothing to run; 1 Fail; 2 options; 3 Blocked; 4 refused; 70 a bug of ours; 130 interrupted
"""
CODES: Final = {Outcome.PASS: ExitCode.PASS, Outcome.FAIL: ExitCode.FAIL, Outcome.BLOCKED: ExitCode.BLOCKED}
SHOWN_ERRORS: Final = 10
"""Lines of act itself, which say why no job gave an output."""
REFUSALS: Final = frozenset({Decision.REFUSED, Decision.VOID})


def main(argv: Sequence[str]) -> int:
    """The exit code of `rehearse`."""
    options = parser().parse_args(list(argv))
    # Both end it like Ctrl-C, so that nothing is left behind; a shell's background jobs start with SIGINT ignored.
    earlier = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return _rehearse(options, show.console())
    except E2EError as error:
        _complain(error)
        return error.exit_code
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def parser() -> argparse.ArgumentParser:
    """The options of `rehearse`."""
    made = argparse.ArgumentParser(
        prog="bridge-e2e rehearse",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--event", type=Path, metavar="FILE", help="a recorded webhook payload")
    made.add_argument("--event-name", metavar="NAME", help="its event, where the payload does not show it")
    made.add_argument("--suite", choices=[suite.value for suite in Suite], help="ask for this suite by a comment")
    made.add_argument("--level", type=int, metavar="N", help="ask for this level by a comment")
    made.add_argument(
        "--scenario", default="pass", metavar="NAME", help="what is wrong in the trees: " + ", ".join(_names())
    )
    made.add_argument("--out", type=Path, metavar="DIR", help="where the files go; default: a new temporary folder")
    return made


def _names() -> list[str]:
    # argparse reads `%` in a help text as a format.
    return [scenario.id.replace("%", "%%") for scenario in scenarios.load()]


def _rehearse(options: argparse.Namespace, console: Console) -> int:
    scenario = scenarios.named(options.scenario)
    name, payload = event.recorded(options.event, options.event_name) if options.event else ("", {})
    full_name = str(payload["repository"]["full_name"]) if payload else event.REPOSITORY
    out = _out(options.out)
    root = Path(tempfile.mkdtemp(prefix="e2e-", dir=workspace.PARENT))
    started = time.monotonic()
    try:
        made = workspace.make(root, scenario, full_name)
        state, told = event.replay(name, payload, made.repos) if payload else _default(made, options)
        show.opening(console, f"{told.says}\nScenario {scenario.id}: {scenario.says}")
        if not act.listens(told):
            console.print(f"The caller has no trigger for {told.name}: GitHub would start nothing.")
            return ExitCode.PASS
        with server.serve(state) as embedded:
            ran = act.run(made, told, embedded.url, out / "act.jsonl", lambda step: show.progress(console, step))
        repo = state.repositories[told.repository]
        show.closing(console, repo, told.number, made.repos.head)
        show.write(out, repo, told.number, made.repos.head)
        _keep(made, ran, out)
        code = _code(ran, console)
        show.files(console, out, code, seconds=time.monotonic() - started)
        return code
    finally:
        end_leftovers(root)
        shutil.rmtree(root, ignore_errors=True)


def _default(made: workspace.Workspace, options: argparse.Namespace) -> tuple[State, event.Told]:
    state, repo, issue = event.github(made.repos)
    if options.suite is None and options.level is None:
        return state, event.label(state, repo, issue)
    suite = Suite(options.suite) if options.suite else None
    return state, event.command(state, repo, issue, suite, options.level or 0)


def _out(path: Path | None) -> Path:
    if path is None:
        return Path(tempfile.mkdtemp(prefix="bridge-e2e-rehearsal-"))
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(
            doing="preparing --out",
            found=f"{path} is not an empty folder",
            expected="a new or empty folder",
            next_step="name another one",
        )
    path.mkdir(parents=True, exist_ok=True)
    return path.absolute()


def _keep(made: workspace.Workspace, ran: act.Ran, out: Path) -> None:
    for name in ("plan", "verdict"):
        if ran.outputs.get(name):
            (out / f"{name}.json").write_text(ran.outputs[name] + "\n", encoding="utf-8")
    shutil.copytree(made.artifacts, out / "evidence")


def _code(ran: act.Ran, console: Console) -> ExitCode:
    """The documented code for what the workflow decided, which is said too."""
    try:
        plan = decode(ran.outputs.get("plan", ""), Plan, what="the plan job's output")
        console.print(f"decision {plan.decision.value}: {plan.because}", markup=False, soft_wrap=True)
        if plan.decision is not Decision.RUN:
            return ExitCode.REFUSED if plan.decision in REFUSALS else ExitCode.PASS
        return CODES[decode(ran.outputs.get("verdict", ""), Verdict, what="the judge job's output").outcome]
    except DocumentError as error:
        _complain(error)
        sys.stderr.writelines(f"act: {line}\n" for line in ran.errors[-SHOWN_ERRORS:])
        return ExitCode.BUG


def _complain(error: E2EError) -> None:
    sys.stderr.write(f"rehearse: {error}\n")
