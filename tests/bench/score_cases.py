"""Scores `judge --log` on a folder of labelled cases: `python tests/bench/score_cases.py DIR`.

Each case is a folder with `case.json`, `run.log` and sometimes `metrics.json`.
Exit code 1 on any wrong verdict or false Pass.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from levels import catalogue, deliverables, signatures
from levels.judge import judge_log
from levels.logs import read_log
from levels.metrics import read_metrics
from levels.model import Suite
from levels.verdict import LogVerdict, flat


def judge_case(folder: Path) -> tuple[dict[str, Any], LogVerdict]:
    """The label and our answer."""
    case = json.loads((folder / "case.json").read_text())
    suite = Suite(case["suite"])
    known = signatures.load(suite)
    metrics = folder / "metrics.json"
    asked = deliverables.ask(CATALOGUE, WORDS, suite, case["level"], tuple(case["requested"]))
    with (folder / "run.log").open("rb") as stream:
        facts = read_log(stream, known)
    verdict = judge_log(
        asked,
        facts,
        known,
        log_name="run.log",
        exit_code=case["exit_code"],
        timed_out=case["timed_out"],
        steps=case["expected_steps"],
        bridge_root=case.get("expected_bridge_root"),
        metrics=read_metrics(metrics.read_bytes()) if metrics.exists() else None,
        checks="assumed",
    )
    return case, flat(verdict)


MARKS = ("verdict", "verdict-alt", "boundary", "boundary-alt", "first-error", "attribution", "no-false-pass")
CATALOGUE = catalogue.load()
WORDS = deliverables.load()


def score(case: dict[str, Any], ours: LogVerdict) -> dict[str, bool]:
    """Right or wrong: `strict` by the preferred label, `alt` with the defensible ones."""
    want = case["expect"]
    verdict, boundary = ours.verdict.value, ours.boundary.value if ours.boundary else None
    first = want["first_error"]
    return {
        "verdict": verdict == want["verdict"],
        "verdict-alt": verdict in {want["verdict"], *(want.get("alt_verdicts") or [])},
        "boundary": boundary == want["boundary"],
        "boundary-alt": boundary in {want["boundary"], *(want.get("alt_boundaries") or [])},
        "first-error": not first or first in (ours.first_error or ""),
        "attribution": (ours.attribution.value if ours.attribution else None) == want["attribution"],
        "no-false-pass": verdict != "Pass" or want["verdict"] == "Pass",
    }


def main() -> int:
    """Print one line a case and the totals."""
    totals: Counter[str] = Counter()
    folders = sorted(path.parent for path in Path(sys.argv[1]).glob("*/case.json"))
    for folder in folders:
        case, ours = judge_case(folder)
        marks = score(case, ours)
        totals.update(name for name, right in marks.items() if right)
        wrong = [name for name, right in marks.items() if not right]
        want = case["expect"]
        mark = "WRONG" if wrong else "right"
        print(f"{mark} {folder.name}: {ours.verdict.value} {ours.boundary} {ours.attribution}")
        if wrong:
            print(f"      {', '.join(wrong)}; want {want['verdict']} {want['boundary']} {want['attribution']}")
            if "first-error" in wrong:
                print(f"      first error: {(ours.first_error or 'none')[:300]!r}")
                print(f"      want:        {want['first_error'][:200]!r}")
    for name in MARKS:
        print(f"{name:<14} {totals[name]}/{len(folders)}")
    good = totals["verdict-alt"] == totals["no-false-pass"] == len(folders)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
