"""Each sentence of both procedures' Pass Criteria and Failure Triage: what holds it, a log it wins, a near miss."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from levels.deliverables import load as load_words
from levels.model import Suite
from levels.reruns import known as known_reruns
from levels.rows import NAMES
from levels.signatures import Knowledge
from levels.skips import load as load_skips
from levels.summary import render
from levels.verdict import LogVerdict
from tests.levels.judging import CATALOGUE, judged, knowledge, text

HERE = Path(__file__)
TABLE: dict[str, dict[str, list[dict[str, Any]]]] = yaml.safe_load(
    HERE.with_name("sentences.yaml").read_text(encoding="utf-8")
)
PROCEDURES = HERE.parents[1] / "fixtures" / "procedures"
ROWS = [
    pytest.param(suite, row, side, id=f"{suite}-{part}-{number}-{side}")
    for suite, parts in TABLE.items()
    for part, rows in parts.items()
    for number, row in enumerate(rows, start=1)
    for side in ("wins", "loses")
]


def plain(said: str) -> str:
    return re.sub(r"[^a-z0-9]", "", said.lower())


def sentences(suite: str) -> list[str]:
    """The sentences of the sections, code blocks left out; a bullet is one."""
    content = (PROCEDURES / f"{suite}.md").read_text(encoding="utf-8")
    content = re.sub(r"```.*?```|<!--.*?-->|^#.*$", "", content, flags=re.DOTALL | re.MULTILINE)
    lines = [line.strip().removeprefix("- ") for line in content.splitlines() if line.strip()]
    return [part for line in lines for part in re.split(r"(?<=\.) (?=[A-Z])", line) if plain(part)]


@pytest.mark.parametrize("suite", list(TABLE))
def test_no_sentence_of_the_procedure_is_left_out(suite: str) -> None:
    table = [plain(row["says"]) for rows in TABLE[suite].values() for row in rows]
    introduction = "ausefulpasshasallofthefollowing"
    missing = [
        said
        for said in sentences(suite)
        if plain(said) != introduction and not any(plain(said) in row for row in table)
    ]
    assert missing == []


def ids(suite: Suite) -> dict[str, set[str]]:
    levels = CATALOGUE.of(suite)
    words = load_words().of(suite).deliverables
    criteria = {item.id for level in levels for item in level.criteria}
    criteria |= {item.id for level in levels for variant in level.variants for item in variant.adds_criteria}
    criteria |= {item.id for word in words for item in word.criteria}
    sentences_ = {item.says for level in levels for item in level.limitations}
    sentences_ |= {item.says for level in levels for variant in level.variants for item in variant.limitations}
    found: Knowledge = knowledge(suite)
    return {
        "criterion": criteria,
        "signature": set(found.by_id),
        "skip": {skip.id for skip in load_skips().skips},
        "rerun": {rerun.id for rerun in known_reruns().reruns},
        "boundary": {item.value for item in found.rules} | {"provider-build"},
        "limitation": sentences_,
        "fallback": {phase.id for level in levels for phase in level.phases if phase.fallback},
        "claim": {"learned"},
        "summary": {"Requested coverage"},
    }


@pytest.mark.parametrize("suite", list(TABLE))
def test_everything_that_holds_a_sentence_exists(suite: str) -> None:
    known = ids(Suite(suite))
    assert set(NAMES) == set(Suite)
    for rows in TABLE[suite].values():
        for row in rows:
            for holder in row["holds"]:
                kind, _, name = holder.partition(" ")
                there = name in known[kind] or (kind == "limitation" and any(name in said for said in known[kind]))
                assert there, f"{holder} holds {row['says']!r}"


def answer(row: dict[str, Any]) -> LogVerdict:
    log = text(row["case"])
    edit = row.get("edit", {})
    if "old" in edit:
        assert edit["old"] in log
        log = log.replace(edit["old"], edit["new"])
    if "add" in edit:
        log = f"{log.rstrip()}\n{edit['add']}\n"
    named = {"steps": "expected_steps", "exit_code": "exit_code", "checks": "checks", "requested": "requested"}
    return judged(row["case"], log, **{field: row[name] for name, field in named.items() if name in row})


@pytest.mark.parametrize(("suite", "row", "side"), ROWS)
def test_a_sentence_wins_its_log_and_loses_the_near_miss(suite: str, row: dict[str, Any], side: str) -> None:
    wanted = row[side]
    if "test" in wanted:
        path, _, name = wanted["test"].partition("::")
        assert f"def {name.partition('[')[0]}(" in (HERE.parents[2] / path).read_text(encoding="utf-8")
        return
    if "phase" in wanted:
        phases = [
            phase for level in CATALOGUE.of(Suite(suite)) for phase in level.phases if phase.id == wanted["phase"]
        ]
        assert [phase.fallback.label for phase in phases if phase.fallback] == [wanted["label"]]
        return
    found = answer(wanted)
    assert (found.verdict, found.boundary) == (wanted["verdict"], wanted.get("boundary"))
    assert found.attribution == wanted.get("attribution", found.attribution)
    printed = render(found.leg)
    assert wanted.get("prints", "") in printed
    assert wanted.get("prints_not", "\0") not in printed
