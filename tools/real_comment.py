"""The comment of a recorded real run, as the bot would have written it: a Plan of that one leg, judged and reported.

usage: python tools/real_comment.py tests/fixtures/real_runs/h200-verl-0-pass OUT

For docs/ only: a person's run is never published.
"""

import sys
from pathlib import Path

from bot.__main__ import main as bot
from levels import signatures
from levels.bundles import read_bundle
from levels.catalogue import load
from levels.documents import decode, encode
from levels.judge import judge_leg
from levels.plan import Choice, Decision, Leg, Plan, Selection
from levels.verdict import Verdict, overall


def main(bundle: Path, out: Path) -> int:
    """Write `comment.md`, `checks.json` and `summary.md` to `out`."""
    leg = decode((bundle / "leg.json").read_bytes(), Leg, what=str(bundle))
    level = load().level(leg.suite, leg.level)
    choice = Choice(
        suite=leg.suite, level=leg.level, title=level.title, reasons=(), gpus=leg.gpus, minutes=level.minutes
    )
    plan = Plan(
        decision=Decision.RUN,
        because="a person's run on one H200",
        repository="NVIDIA-NeMo/Megatron-Bridge",
        pull_request=None,
        head=leg.bridge_commit,
        base=None,
        consent=None,
        selection=Selection(chosen=(choice,), skipped=()),
        legs=(leg,),
    )
    known = signatures.load(leg.suite)
    read = read_bundle(bundle, known)
    judged = judge_leg(leg, read.evidence, read.logs, load(), known, problem=read.problem)
    verdict = Verdict(
        plan=plan.id,
        repository=plan.repository,
        pull_request=None,
        head=plan.head,
        outcome=overall((judged.outcome,)),
        legs=(judged,),
    )
    out.mkdir(parents=True, exist_ok=True)
    for name, document in (("plan", plan), ("verdict", verdict)):
        (out / f"{name}.json").write_bytes(encode(document))
    return bot(["report", "--plan", f"{out}/plan.json", "--verdict", f"{out}/verdict.json", "--dry-run", str(out)])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
