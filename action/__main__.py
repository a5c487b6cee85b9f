"""`run` (a person, or CI in one go) and `step` (one workflow step): parse, call, return a code."""

import argparse
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import msgspec

from action import dryrun, local, runner
from action.context import Job
from action.echo import say
from action.leftovers import adopt_orphans
from action.process import Interrupted
from action.site import Site, load_site
from levels.catalogue import load
from levels.documents import decode
from levels.errors import E2EError, ExitCode, UsageError
from levels.model import Suite
from levels.plan import Plan

_EXAMPLES = """examples:
  bridge-e2e run --suite verl --level 0 --dry-run
  bridge-e2e run --suite verl --level 0 --variant rule-reward --bridge ~/Megatron-Bridge \\
      --suite-repo ~/verl --out run-out --model /models/Qwen2.5-0.5B --python /opt/venv/bin/python
  python -I -m action step checkout --plan plan.json --leg verl-0-lora-ddp --out evidence

exit codes of `step`, and of `run` with --plan:
  0 every phase was run   2 usage or configuration   3 stopped: Blocked   70 our bug   130 interrupted
`run` on your own trees ends with the code of the verdict: 0 Pass, 1 Fail, 3 Blocked; 2, 70 and 130 as above.
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="bridge-e2e", description=__doc__, epilog=_EXAMPLES, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = made.add_subparsers(dest="command", required=True)
    run = commands.add_parser(
        "run", help="all steps of one leg", epilog=_EXAMPLES, formatter_class=made.formatter_class
    )
    step = commands.add_parser("step", help="one step of one leg, for the workflow")
    step.add_argument("name", choices=tuple(runner.STEPS))
    for command in (run, step):
        command.add_argument("--plan", type=Path, metavar="FILE", help="Plan document")
        command.add_argument("--leg", metavar="ID", help="leg of that plan")
        command.add_argument("--out", type=Path, metavar="DIR", help="where the evidence goes")
        command.add_argument(
            "--site", metavar="FILE", help="site settings ($BRIDGE_E2E_SITE, /etc/bridge-e2e/site.yaml)"
        )
        command.add_argument("--dry-run", action="store_true", help="print commands and environment, start nothing")
    _person(run)
    return made


def _person(run: argparse.ArgumentParser) -> None:
    run.add_argument("--suite", choices=[suite.value for suite in Suite])
    run.add_argument("--level", type=int, metavar="N")
    run.add_argument("--variant", action="append", default=[], metavar="V", help="may be repeated")
    run.add_argument("--bridge", type=Path, metavar="DIR", help="Megatron-Bridge tree, used as it is")
    run.add_argument("--suite-repo", type=Path, metavar="DIR", help="verl or NeMo-RL tree")
    run.add_argument("--mcore", type=Path, metavar="DIR", help="Megatron-LM tree instead of Bridge's submodule")
    run.add_argument("--model", type=Path, metavar="DIR")
    run.add_argument("--reward-model", type=Path, metavar="DIR")
    run.add_argument("--data", type=Path, metavar="DIR", help="folder that holds gsm8k/train.parquet and so on")
    run.add_argument("--python", metavar="PY", help="interpreter of the suite's environment")
    run.add_argument("--gpus", type=int, metavar="N")
    run.add_argument(
        "--no-workarounds", action="store_true", help="run the suite unpatched: is a declared workaround still needed?"
    )
    run.add_argument("--no-judge", action="store_true", help="leave the evidence, print no summary")


def _site(args: argparse.Namespace) -> Site:
    site = load_site(args.site)
    changes = {
        "python": getattr(args, "python", None) and str(Path(args.python).absolute()),
        "data": getattr(args, "data", None) and str(args.data.absolute()),
    }
    return msgspec.structs.replace(site, **{name: value for name, value in changes.items() if value})


def _planned_job(args: argparse.Namespace, site: Site) -> Job:
    if args.plan is None or args.leg is None or args.out is None:
        raise UsageError(
            doing="reading the command line",
            found="no --plan FILE with --leg ID and --out DIR",
            expected="all three, or --suite, --level, --bridge, --suite-repo and --out",
            next_step="see --help",
        )
    try:
        plan = decode(args.plan.read_bytes(), Plan, what=str(args.plan))
    except OSError as error:
        raise UsageError(
            doing="reading --plan", found=str(error), expected="a Plan document", next_step="name the file"
        ) from error
    leg = next((leg for leg in plan.legs if leg.id == args.leg), None)
    if leg is None:
        raise UsageError(
            doing=f"looking up the leg in {args.plan}",
            found=args.leg,
            expected="one of " + (", ".join(leg.id for leg in plan.legs) or "no leg at all"),
            next_step="correct --leg",
        )
    out = args.out.absolute()
    work = Path(site.scratch) / f"{plan.id}-{leg.id}-{plan.attempt}" if site.scratch else out / "work" / leg.id
    return Job(leg=leg, plan=plan.id, attempt=plan.attempt, site=site, bundle=out / leg.id, work=work)


def _own_job(args: argparse.Namespace, site: Site) -> Job:
    if args.level is None or (args.out is None and not args.dry_run):
        raise UsageError(
            doing="reading the command line",
            found="--suite without --level and --out",
            expected="--suite S --level N --bridge DIR --suite-repo DIR --out DIR",
            next_step="see --help",
        )
    request = local.Request(
        suite=Suite(args.suite),
        level=args.level,
        variants=tuple(args.variant),
        bridge=args.bridge,
        suite_repo=args.suite_repo,
        mcore=args.mcore,
        out=args.out or Path("run-out"),
        model=args.model,
        reward_model=args.reward_model,
        gpus=args.gpus,
        workarounds=not args.no_workarounds,
        dry_run=args.dry_run,
    )
    catalogue = load()
    for more in local.others(request, catalogue):
        sys.stderr.write(f"bridge-e2e: this level has another leg: run it with {more}\n")
    return local.job_of(request, site, catalogue)


def _judge(job: Job) -> int:
    """Start the judge as a program of its own: it reads hostile evidence, and prints the summary."""
    argv = [sys.executable, "-I", "-m", "levels", "judge", "--evidence", str(job.bundle)]
    return subprocess.run(argv, check=False).returncode


def _main(args: argparse.Namespace) -> int:
    site = _site(args)
    own = args.command == "run" and args.suite is not None
    job = _own_job(args, site) if own else _planned_job(args, site)
    if args.dry_run:
        sys.stdout.write(dryrun.describe(job))
        return ExitCode.PASS
    adopt_orphans()
    runner.catch_signals()
    if args.command == "step":
        return runner.run_one(args.name, job, write=say)[1]
    _, code = runner.run_leg(job, write=say)
    if own and not args.no_judge and code in {ExitCode.PASS, ExitCode.BLOCKED}:
        return _judge(job)
    return code


def main(argv: list[str] | None = None) -> int:
    """The exit code; an error that a person can act on is printed, our own bug comes with its traceback."""
    return guarded(parser().parse_args(argv))


def guarded(args: argparse.Namespace, run: Callable[[argparse.Namespace], int] = _main) -> int:
    """The exit code of `run`; Python's own code for a crash, 1, would read as a Fail."""
    try:
        return run(args)
    except E2EError as error:
        sys.stderr.write(f"bridge-e2e: {error}\n")
        return error.exit_code
    except (KeyboardInterrupt, Interrupted):
        return ExitCode.INTERRUPTED
    except Exception:  # noqa: BLE001 - the one place where a bug of ours becomes exit code 70
        traceback.print_exc()
        return ExitCode.BUG


if __name__ == "__main__":
    sys.exit(main())
