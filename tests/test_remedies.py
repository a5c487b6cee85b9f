"""Every remedy that is a rerun is a command that our own parsers take, for a level and variants that exist."""

import re
import shlex
from pathlib import Path

import pytest

from action import __main__ as runner
from action.local import Request, job_of
from action.site import load_site
from bot.commands import RunE2E
from bot.commands import parse as parse_comment
from levels.catalogue import load as load_catalogue
from levels.model import Boundary, Suite
from levels.reruns import Broke, Rerun, commands, follow_ups, known
from tests.levels.judging import judged, text

CATALOGUE = load_catalogue()
ALL = [
    pytest.param(rerun, suite, level, id=f"{rerun.id}-{suite}-{level}")
    for rerun in known().reruns
    for suite in rerun.suites
    for level in rerun.levels
    if any(item.suite is suite and item.number == level for item in CATALOGUE.levels)
]


def parses(command: str) -> bool:
    """Whether `command` is taken, with the very level and variants that it names."""
    words = shlex.split(command)
    if words[0] == "/run-e2e":
        (found,) = parse_comment(command)
        assert isinstance(found, RunE2E), found
        assert found.suite is not None
        return all(CATALOGUE.level(found.suite, number) for number in found.levels)
    assert words[:1] == ["bridge-e2e"]
    args = runner.parser().parse_args(words[1:])
    request = Request(
        suite=Suite(args.suite),
        level=args.level,
        variants=tuple(args.variant),
        bridge=args.bridge,
        suite_repo=args.suite_repo,
        out=args.out,
        model=args.model,
        dry_run=True,
    )
    job = job_of(request, load_site(None), CATALOGUE)
    # A level without a smoke of its own takes the variants of its first leg.
    return job.leg.level == args.level and set(args.variant) <= set(job.leg.variants)


@pytest.mark.parametrize(("rerun", "suite", "level"), ALL)
def test_every_rerun_parses(rerun: Rerun, suite: Suite, level: int) -> None:
    broke = Broke(suite=suite, level=level, boundary=None, category="")
    assert all(parses(command) for command in commands(rerun, broke))


@pytest.mark.parametrize(
    ("suite", "level", "variants", "boundary", "category", "expected"),
    [
        pytest.param("verl", 1, (), "checkpoint-load", "", ["--level 0", "suite=verl level=0"], id="SAVE_FREQ=-1"),
        pytest.param("nemo-rl", 1, (), "checkpoint-save", "", ["--level 0", "--variant sft-resume"], id="checkpoints"),
        pytest.param("nemo-rl", 3, (), "rollout-engine-start", "cuda-graph", ["no-cuda-graphs"], id="cuda-graphs"),
        pytest.param("verl", 0, (), "rollout-engine-start", "", ["--variant eager"], id="eager"),
        pytest.param("verl", 0, (), "reward", "", ["--variant rule-reward"], id="rule-reward"),
        pytest.param("verl", 0, (), "model-download", "", ["--model DIR"], id="local-snapshot"),
        pytest.param("nemo-rl", 4, (), "metrics", "rollout-agrees", ["--level 0"], id="simpler-parallelism"),
        pytest.param("nemo-rl", 0, (), "metrics", "rollout-agrees", ["simple-kernels"], id="simpler-kernels"),
        pytest.param("nemo-rl", 5, (), "peft-wrap", "", ["--variant lora"], id="lora-functional"),
        pytest.param("verl", 0, ("eager",), "rollout-engine-start", "", [], id="was-eager-already"),
        pytest.param("verl", 0, (), "data", "", [], id="no-rerun-helps"),
    ],
)
def test_what_broke_names_its_reruns(
    suite: str, level: int, variants: tuple[str, ...], boundary: str, category: str, expected: list[str]
) -> None:
    broke = Broke(suite=Suite(suite), level=level, variants=variants, boundary=Boundary(boundary), category=category)
    said = follow_ups(broke)
    assert bool(said) is bool(expected)
    assert all(any(part in line for line in said) for part in expected)


NAMES = sorted(path.name for path in (Path(__file__).parent / "fixtures" / "cases").iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_every_command_that_a_verdict_prints_parses(name: str) -> None:
    said = "\n".join(judged(name).leg.follow_ups)
    printed = re.findall(r"`((?:bridge-e2e|/run-e2e) [^`]*)`", said)
    assert all(parses(command) for command in printed)


def test_a_failed_resume_prints_the_rerun_without_checkpoints() -> None:
    said = judged("v-resume-optimizer-entries", text("v-resume-optimizer-entries")).leg.follow_ups
    assert any("`bridge-e2e run --suite verl --level 0 " in line for line in said)
