"""All levels: the judge answers whatever it is given, a Pass has every criterion met, and a lost fact ends it."""

import random
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from levels.errors import UsageError
from levels.evidence import Evidence
from levels.judge import LegLogs, judge_leg
from levels.model import Outcome, Suite
from levels.plan import Choice, Leg, Selection, build_legs
from levels.verdict import LegVerdict, Met
from tests.levels import learning_leg
from tests.levels.judging import CATALOGUE, COMMIT, changed, evidence, facts, good_log, knowledge, read

EMPTY: dict[str, object] = {
    "imports": (),
    "trees": (),
    "roots": None,
    "bridge_checks": None,
    "phases": (),
    "complete": False,
}

Whole = tuple[Leg, Evidence, Callable[[str], LegLogs], str]


def legs(suite: Suite, number: int) -> tuple[Leg, ...]:
    level = CATALOGUE.level(suite, number)
    choice = Choice(suite=suite, level=number, title=level.title, reasons=(), gpus=level.gpus, minutes=level.minutes)
    found: list[Leg] = []
    for variant in (None, *level.variants):
        try:
            found += build_legs(
                CATALOGUE,
                Selection(chosen=(choice,), skipped=()),
                bridge_repository="https://example.org/bridge.git",
                bridge_commit=COMMIT,
                mcore_commit=COMMIT[::-1],
                variants={suite: (variant.id,)} if variant else None,
            )
        except UsageError:
            continue  # a variant that must not stand alone is refused
    return tuple(found)


EVERY = [
    pytest.param(leg, id=leg.id)
    for level in CATALOGUE.levels
    for leg in {x.id: x for x in legs(level.suite, level.number)}.values()
]
ANY = st.sampled_from([item.values[0] for item in EVERY])


def judged(leg: Leg, found: Evidence | None, logs: LegLogs) -> LegVerdict:
    return judge_leg(leg, found, logs, CATALOGUE, knowledge(leg.suite))


def sound(verdict: LegVerdict) -> bool:
    """A Pass has every criterion met; anything else names a boundary and a reason."""
    if verdict.outcome is Outcome.PASS:
        return verdict.proof == "full" and {item.met for item in verdict.criteria} <= {Met.MET, Met.NOT_APPLICABLE}
    return verdict.boundary is not None and bool(verdict.sentence) and bool(verdict.first_error)


@pytest.mark.parametrize("leg", EVERY)
def test_a_good_log_of_level_0_is_no_proof_of_another_level(leg: Leg) -> None:
    logs = LegLogs(logs={run.id: facts(good_log(leg.suite), leg.suite) for run in leg.phases})
    verdict = judged(leg, evidence(leg), logs)
    assert sound(verdict)
    # Where no maintained run turns more on, a level's leg is level 0's own run, and says so.
    own = [item.phases for item in legs(leg.suite, 0)]
    assert verdict.outcome is not Outcome.PASS or leg.level == 0 or leg.phases in own


@pytest.mark.parametrize("leg", EVERY)
def test_without_anything_a_leg_is_blocked(leg: Leg) -> None:
    for found in (None, Evidence(leg=leg.id, plan="local")):
        verdict = judged(leg, found, LegLogs())
        assert verdict.outcome is Outcome.BLOCKED
        assert sound(verdict)


MUTATIONS = st.lists(
    st.tuples(st.sampled_from(["drop", "cut", "noise", "twice", "shuffle"]), st.integers(0, 10_000)), max_size=4
)


def mutated(log: str, changes: list[tuple[str, int]]) -> str:
    lines = log.splitlines()
    for kind, seed in changes:
        chance = random.Random(seed)  # noqa: S311 - text, not keys
        at = chance.randrange(len(lines) or 1)
        match kind:
            case "drop":
                lines = [line for line in lines if chance.random() > 0.3]
            case "cut":
                lines = lines[:at]
            case "noise":
                lines[at:at] = ["".join(chr(chance.randrange(1, 0x2500)) for _ in range(80)) for _ in range(5)]
            case "twice":
                lines += lines
            case _:
                chance.shuffle(lines)
    return "\n".join(lines)


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    leg=ANY,
    changes=MUTATIONS,
    without=st.sets(st.sampled_from(list(EMPTY))),
)
def test_the_judge_answers_on_every_level(leg: Leg, changes: list[tuple[str, int]], without: set[str]) -> None:
    found = changed(evidence(leg), **{name: EMPTY[name] for name in without})
    log = mutated(good_log(leg.suite), changes)
    logs = LegLogs(logs={run.id: facts(log, leg.suite) for run in leg.phases})
    verdict = judged(leg, found, logs)
    assert sound(verdict)
    assert not without or verdict.outcome is not Outcome.PASS


def passing(name: str) -> Whole:
    if name == "verl-5":
        leg, found, _ = learning_leg.learning_leg()
        return leg, found, lambda log: LegLogs(logs={"train": facts(log, Suite.VERL)}), learning_leg.log()
    suite = Suite(name.removesuffix("-0"))
    leg = next(item for item in legs(suite, 0) if not item.variants)
    return leg, evidence(leg), lambda log: read(suite, log), good_log(suite)


PASSING = pytest.mark.parametrize("name", ["verl-0", "nemo-rl-0", "verl-5"])


@PASSING
def test_the_whole_of_it_passes(name: str) -> None:
    leg, found, logs, log = passing(name)
    verdict = judged(leg, found, logs(log))
    assert verdict.outcome is Outcome.PASS, verdict.sentence
    assert sound(verdict)


@PASSING
@pytest.mark.parametrize("field", list(EMPTY))
def test_each_part_of_the_evidence_is_required(name: str, field: str) -> None:
    leg, found, logs, log = passing(name)
    assert judged(leg, changed(found, **{field: EMPTY[field]}), logs(log)).outcome is not Outcome.PASS


@PASSING
def test_each_import_and_each_tree_is_required(name: str) -> None:
    leg, found, logs, log = passing(name)
    for index in range(len(found.imports)):
        less = changed(found, imports=found.imports[:index] + found.imports[index + 1 :])
        assert judged(leg, less, logs(log)).outcome is not Outcome.PASS
    for index in range(len(found.trees)):
        less = changed(found, trees=found.trees[:index] + found.trees[index + 1 :])
        assert judged(leg, less, logs(log)).outcome is not Outcome.PASS


NEEDED = [
    *(
        pytest.param(name, words, id=f"{name}-{words[0]}")
        for name in ("verl-0", "verl-5")
        for words in (
            ("Training Progress", "step:"),
            ("VANILLA_MBRIDGE",),
            ("global_step:",),
            ("Loading from ",),
            ("Adapter parameters", "dding lora"),
            ("rollout_probs_diff_valid",),
        )
    ),
    pytest.param("verl-5", ("actor/entropy",), id="verl-5-entropy"),
    *(
        pytest.param("nemo-rl-0", words, id=f"nemo-rl-0-{words[0]}")
        for words in (("Step 2/2",), ("megatron_cfg",), ("Loading from ",), ("PASS",))
    ),
]


@pytest.mark.parametrize(("name", "words"), NEEDED)
def test_no_pass_without_the_lines_that_show_a_fact(name: str, words: tuple[str, ...]) -> None:
    leg, found, logs, log = passing(name)
    less = "\n".join(line for line in log.splitlines() if not any(word in line for word in words))
    assert less != log
    assert judged(leg, found, logs(less)).outcome is not Outcome.PASS
