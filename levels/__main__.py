"""`judge`, `validate`, `schema`, `catalogue`: parse arguments, call, return a code. Decisions never belong here."""

import argparse
import sys
import traceback
from pathlib import Path
from typing import Final

import msgspec

from levels import catalogue, deliverables, reruns, rules, signatures, skips
from levels.bundles import opener, read_bundle
from levels.documents import decode, encode
from levels.errors import DocumentError, E2EError, ExitCode, UsageError
from levels.evidence import MAX_METRICS_BYTES
from levels.excerpts import with_excerpt
from levels.files import append, writing
from levels.fitting import line_of
from levels.judge import Bundle, judge_leg, judge_log, judge_plan
from levels.listing import levels_table
from levels.logs import read_log
from levels.matrix import matrix, startable
from levels.metrics import MetricsFile, read_metrics
from levels.model import Outcome, Suite
from levels.plan import Leg, Plan
from levels.schema import schemas
from levels.summary import render
from levels.verdict import LegVerdict, Verdict, flat

SCHEMAS: Final = Path(__file__).parent / "schemas"
CODES: Final = {Outcome.PASS: ExitCode.PASS, Outcome.FAIL: ExitCode.FAIL, Outcome.BLOCKED: ExitCode.BLOCKED}
MAX_DOCUMENT_BYTES: Final = 4_000_000
_OTHER_CODES: Final = "2 usage or configuration, 70 a bug of ours, 130 interrupted"
EXAMPLES: Final = {
    "judge": f"""examples:
  bridge-e2e judge --log run.log --suite verl --level 0 --exit-code 0 --bridge-checks assumed
  bridge-e2e judge --evidence out/verl-0-lora-ddp --json -
  bridge-e2e judge --plan plan.json --evidence-dir bundles --json verdict.json

exit codes: 0 Pass, 1 Fail, 3 Blocked, {_OTHER_CODES}
""",
    "validate": f"""example:
  bridge-e2e validate

exit codes: 0 every file is right, {_OTHER_CODES}
""",
    "schema": f"""example:
  bridge-e2e schema --check

exit codes: 0 written or up to date, {_OTHER_CODES}; 2 also for a stale file with --check
""",
    "catalogue": f"""example:
  bridge-e2e catalogue

exit codes: 0 printed, {_OTHER_CODES}
""",
}
"""By subcommand: what `--help` prints last."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="bridge-e2e", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)

    def command(name: str, says: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            help=says,
            description=says,
            epilog=EXAMPLES[name],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    judge = command("judge", "the verdict of a plan, a bundle or a log")
    source = judge.add_mutually_exclusive_group(required=True)
    source.add_argument("--plan", type=Path, help="the Plan; needs --evidence-dir")
    source.add_argument("--evidence", type=Path, help="one bundle with leg.json in it")
    source.add_argument("--log", type=Path, help="a wrapper's log by itself; needs --suite and --level")
    judge.add_argument("--evidence-dir", type=Path, help="folder that holds one bundle for each leg")
    judge.add_argument("--suite", choices=[suite.value for suite in Suite])
    judge.add_argument("--level", type=int)
    judge.add_argument("--exit-code", type=int, help="of the wrapper; without it no Pass is possible")
    judge.add_argument("--timed-out", action="store_true", help="the run was stopped because of a time limit")
    judge.add_argument("--steps", type=int, help="training steps that the run had to reach")
    judge.add_argument("--requested", default="", help="deliverables beyond the plain run: lora,save-resume,…")
    judge.add_argument("--bridge-root", help="folder below which megatron.bridge must have been imported")
    judge.add_argument("--metrics", type=Path, help="the run's metrics.json")
    judge.add_argument("--bridge-checks", choices=["pass", "fail", "skipped", "assumed"], default="skipped")
    judge.add_argument(
        "--json", nargs="?", const="-", help="write the verdict as JSON to this file; - or nothing: print it"
    )
    judge.add_argument(
        "--github-output",
        type=Path,
        metavar="FILE",
        help="with --plan: append `verdict` and `deep` (the deeper legs that may start) to this file, and exit with 0",
    )
    command("validate", "check every YAML file of this package")
    schema = command("schema", "write levels/schemas/*.json from the Structs")
    schema.add_argument("--check", action="store_true", help="only compare; 2 when a file is stale")
    command("catalogue", "the levels: GPUs, minutes, proves, does not prove")
    return top


def main(arguments: list[str] | None = None) -> int:
    """The exit code of one command."""
    options = parser().parse_args(arguments)
    try:
        return int(_run(options))
    except E2EError as error:
        print(error, file=sys.stderr)
        return int(error.exit_code)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    except Exception:  # noqa: BLE001 - the one place where a bug of ours becomes exit code 70
        traceback.print_exc()
        return int(ExitCode.BUG)


def _run(options: argparse.Namespace) -> ExitCode:
    if options.command == "validate":
        return _validate()
    if options.command == "schema":
        return _schema(check=options.check)
    if options.command == "catalogue":
        print(levels_table(catalogue.load()))
        return ExitCode.PASS
    if options.plan:
        return _judge_plan(options)
    leg = _judge_evidence(options.evidence) if options.evidence else _judge_log(options)
    _write(encode(flat(leg)), render(leg), options.json)
    return CODES[leg.outcome]


def _judge_plan(options: argparse.Namespace) -> ExitCode:
    if options.evidence_dir is None:
        raise _usage("judge --plan", "no --evidence-dir", "the folder that holds one bundle for each leg")
    plan = decode(_bytes(options.plan), Plan, what=str(options.plan))
    known = {suite.value: signatures.load(suite) for suite in Suite}
    bundles: dict[str, Bundle | None] = {}
    for leg in plan.legs:
        folder = options.evidence_dir / leg.id
        bundles[leg.id] = read_bundle(folder, known[leg.suite.value]) if folder.is_dir() else None
    verdict: Verdict = judge_plan(plan, bundles, catalogue.load(), known)
    legs = tuple(with_excerpt(leg, opener(options.evidence_dir / leg.leg)) for leg in verdict.legs)
    verdict = msgspec.structs.replace(verdict, legs=legs)
    _write(encode(verdict), "\n".join(render(leg) for leg in verdict.legs), options.json)
    if options.github_output is None:
        return CODES[verdict.outcome]
    lines = f"verdict={line_of(verdict)}\ndeep={matrix(startable(plan, verdict))}\n"
    append(options.github_output, lines, "the Verdict")
    return ExitCode.PASS


def _judge_evidence(folder: Path) -> LegVerdict:
    leg = decode(_bytes(folder / "leg.json"), Leg, what=str(folder / "leg.json"))
    known = signatures.load(leg.suite)
    bundle = read_bundle(folder, known)
    verdict = judge_leg(leg, bundle.evidence, bundle.logs, catalogue.load(), known, problem=bundle.problem)
    return with_excerpt(verdict, opener(folder))


def _judge_log(options: argparse.Namespace) -> LegVerdict:
    if options.suite is None or options.level is None:
        raise _usage("judge --log", "no --suite or no --level", "both")
    suite = Suite(options.suite)
    known = signatures.load(suite)
    requested = tuple(part for part in options.requested.split(",") if part)
    asked = deliverables.ask(catalogue.load(), deliverables.load(), suite, options.level, requested)
    try:
        with options.log.open("rb") as stream:
            facts = read_log(stream, known)
    except OSError as error:
        raise _usage(f"reading {options.log}", str(error.strerror), "a log file") from error
    verdict = judge_log(
        asked,
        facts,
        known,
        log_name=options.log.name,
        exit_code=options.exit_code,
        timed_out=options.timed_out,
        steps=options.steps,
        bridge_root=options.bridge_root,
        metrics=_metrics(options.metrics),
        checks=options.bridge_checks,
    )
    return with_excerpt(verdict, lambda _: options.log.open("rb"))


def _metrics(path: Path | None) -> MetricsFile | None:
    if path is None:
        return None
    try:
        with path.open("rb") as stream:
            return read_metrics(stream.read(MAX_METRICS_BYTES + 1))
    except OSError as error:
        return MetricsFile(problem=f"{path.name} could not be read: {error.strerror}")


def _validate() -> ExitCode:
    known = catalogue.load()
    deliverables.load()
    rules.load()
    reruns.load()
    skips.load()
    for suite in Suite:
        signatures.load(suite)
    print(f"{len(known.levels)} levels, pins, rules, signatures, stages, deliverables, skips and reruns are right")
    return ExitCode.PASS


def _schema(*, check: bool) -> ExitCode:
    stale = []
    for name, content in schemas().items():
        path = SCHEMAS / name
        if not path.is_file() or path.read_bytes() != content:
            stale.append(name)
            if not check:
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(content)
    print(("stale: " if check else "written: ") + (", ".join(stale) or "none"))
    return ExitCode.USAGE if check and stale else ExitCode.PASS


def _write(document: bytes, summary: str, where: str | None) -> None:
    if where == "-":
        sys.stdout.write(document.decode())
        return
    if where is not None:
        with writing(Path(where), "the Verdict"):
            Path(where).write_bytes(document)
    sys.stdout.write(summary)


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_DOCUMENT_BYTES + 1)
    except OSError as error:
        raise DocumentError(
            doing=f"reading {path}", found=str(error.strerror), expected="a readable file", next_step="correct the path"
        ) from error


def _usage(doing: str, found: str, expected: str) -> UsageError:
    return UsageError(doing=doing, found=found, expected=expected, next_step="see `python -m levels judge --help`")


if __name__ == "__main__":
    sys.exit(main())
