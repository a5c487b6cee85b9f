"""Scores rules against labelled changes: `python tests/bench/score_selection.py DIR [--repo GIT_DIR] [-v]`.

DIR holds one JSON file a change (`files`, `required`, `acceptable`, `path_decidable`, `date`, `sha`). With `--repo` the
changed lines are read from that git directory and the content rules take part.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from bot.changes import changes_between, changes_from_diff
from levels import catalogue, rules
from levels.changes import STATUS_OF_API, Change
from levels.model import Suite

Case = dict[str, Any]
Reader = Callable[[Case], Iterable[Change]]


def by_path(case: Case) -> Iterable[Change]:
    for file in case["files"]:
        yield Change(path=file["path"], previous_path=file.get("previous_path"), status=STATUS_OF_API[file["status"]])


def by_plain_list(case: Case) -> Iterable[Change]:
    return [Change(path=file["path"]) for file in case["files"]]


def by_content(repo: Path) -> Reader:
    return lambda case: changes_between(repo, f"{case['sha']}^", case["sha"], merge_base=False).changes


def by_short_context(repo: Path) -> Reader:
    """What a diff with three lines of context shows."""
    return lambda case: changes_from_diff(repo_diff(repo, case["sha"])).changes


def repo_diff(repo: Path, sha: str) -> bytes:
    command = ["git", "-C", str(repo), "show", "--format=", "--find-renames", sha]
    return subprocess.run(command, check=True, capture_output=True).stdout


def score(name: str, cases: list[Case], read: Reader, *, verbose: bool) -> None:
    rule_set, levels = rules.load(), catalogue.load()
    needed = found = selected = wasted = complete = exact_family = 0
    for case in cases:
        selection = rules.select(read(case), levels, rule_set)
        missed: dict[str, list[int]] = {}
        extra: dict[str, list[int]] = {}
        for suite in Suite:
            got, required = set(selection.required(suite)), set(case["required"][suite.value])
            allowed = required | set(case["acceptable"][suite.value])
            needed, found = needed + len(required), found + len(required & got)
            selected, wasted = selected + len(got), wasted + len(got - allowed)
            if required - got:
                missed[suite.value] = sorted(required - got)
            if got - allowed:
                extra[suite.value] = sorted(got - allowed)
        complete += not missed
        exact_family += case["family"] == selection.family
        if verbose and (missed or extra):
            print(f"  {case['pr']} {case['date'][:10]} missed {missed} extra {extra} | {case['why'][:110]}")
    print(
        f"{name:44} cases {len(cases):3}  recall {found}/{needed} = {share(found, needed)}"
        f"  complete {complete}/{len(cases)}  over-selected {wasted}/{selected} = {share(wasted, selected)}"
        f"  family {exact_family}/{len(cases)}"
    )


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repo", type=Path)
    parser.add_argument("--half", choices=("earlier", "later"))
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    cases = sorted(
        (json.loads(path.read_text(encoding="utf-8")) for path in options.folder.glob("*.json")),
        key=lambda case: str(case["date"]),
    )
    middle = len(cases) // 2
    halves = {"earlier": cases[:middle], "later": cases[middle:], "all": cases}
    readers: dict[str, Reader] = {"list": by_plain_list, "paths": by_path}
    if options.repo:
        readers |= {"content": by_content(options.repo), "diff -U3": by_short_context(options.repo)}
    for half, chosen in halves.items():
        if options.half and half != options.half:
            continue
        for name, read in readers.items():
            if name in {"list", "paths"}:
                decidable = [case for case in chosen if case["path_decidable"]]
                score(f"{half}, {name}, path-decidable", decidable, read, verbose=options.verbose and name == "paths")
            score(f"{half}, {name}", chosen, read, verbose=options.verbose and name == "content")


if __name__ == "__main__":
    main()
