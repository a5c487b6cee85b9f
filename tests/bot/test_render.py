import re

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.escape import units
from bot.phrases import together
from bot.render import (
    CHECK_UNITS,
    COMMENT_UNITS,
    SUMMARY_UNITS,
    Result,
    comment,
    crashed,
    leg_report,
    plain,
    reply,
    running,
    size_bytes,
)
from bot.view import views
from levels.catalogue import load
from levels.model import Attribution, Boundary, Deliverable, Outcome, Status, Suite
from levels.plan import Choice, Consent, Decision, Plan, Reason, Reply, Selection, build_legs
from levels.verdict import CriterionResult, DeliverableResult, FirstError, Frame, LegVerdict, Met, Verdict

CATALOGUE = load()
HEAD = "a" * 40
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
MENTION = re.compile(r"@\w|#\d")
HOSTILE = st.text(max_size=60) | st.sampled_from(
    [
        "@nvidia/all",
        "```",
        "````\n</details>",
        "|||",
        "<!-- bridge-e2e:sticky -->",
        "\u202e",
        "#12",
        "https://x.y",
        "x" * 900,
    ]
)


def selection(path: str = "src/megatron/bridge/a.py") -> Selection:
    reason = Reason(rule="any-model", path=path, sentence=f"{path} is loaded by every suite")
    chosen = [
        Choice(
            suite=level.suite,
            level=level.number,
            title=level.title,
            reasons=(reason,),
            gpus=level.gpus,
            minutes=level.minutes,
        )
        for suite in Suite
        for level in CATALOGUE.of(suite)[:1]
    ]
    return Selection(chosen=tuple(chosen), skipped=(), widened=(f"could not read {path}",))


def plan_of(chosen: Selection, actor: str = "alice") -> Plan:
    legs = build_legs(
        CATALOGUE, chosen, bridge_repository="https://github.com/o/r.git", bridge_commit=HEAD, mcore_commit=None
    )
    return Plan(
        decision=Decision.RUN,
        because="asked for",
        repository="o/r",
        pull_request=7,
        head=HEAD,
        base="b" * 40,
        consent=Consent(
            actor=actor, role="write", via="label verl-e2e", commit=HEAD, given_at="2026-08-30T12:00:00+00:00"
        ),
        selection=chosen,
        legs=legs,
        run_url="https://github.com/o/r/actions/runs/1",
    )


def judged(plan: Plan, outcome: Outcome, text: str, copies: int = 1) -> Verdict:
    passed = outcome is Outcome.PASS
    error = FirstError(
        text=text[:500],
        log="run-train.log",
        line=12,
        frame=Frame(file=text, line=3, function=text, owner="bridge"),
        context=(text,) * min(copies, 20),
    )
    criterion = CriterionResult(
        id="exit-zero",
        met=Met.MET if passed else Met.UNMET,
        says="exit code 0",
        found=text,
        source=text,
        deliverable=Deliverable.RUN,
        remedy=text,
    )
    row = DeliverableResult(id=Deliverable.RUN, name="run", status=Status(outcome.value), detail=text)
    legs = tuple(
        LegVerdict(
            leg=leg.id,
            suite=leg.suite,
            level=leg.level,
            variants=leg.variants,
            title=leg.title,
            outcome=outcome,
            sentence=text,
            boundary=None if passed else Boundary.HF_IMPORT,
            category="x",
            attribution=None if passed else Attribution.BRIDGE_SIDE,
            first_error=None if passed else error,
            proof="full",
            model="m",
            requested="Level 0",
            criteria=(criterion,) * copies,
            deliverables=(row,),
            bridge_state=text,
            suite_state=text,
            command=text,
            key_lines=(text,) * copies,
            limitations=(text,) * copies,
            follow_ups=(text,) * copies,
        )
        for leg in plan.legs
    )
    return Verdict(plan=plan.id, repository="o/r", pull_request=7, head=HEAD, outcome=outcome, legs=legs)


def result_of(plan: Plan, verdict: Verdict | None) -> Result:
    legs = views(plan, verdict, CATALOGUE, lambda leg: "\n".join(("Result: x", *leg.key_lines)))
    return Result(
        plan=plan,
        legs=legs,
        conclusion="failure",
        title="verl 0 Fail at hf-import",
        attempt=1,
        trouble=None if verdict else ("no text at all", "a verdict document", "look at the judge job"),
    )


def harmless(text: str) -> None:
    """Every fence is closed, tags are ours, and nobody is mentioned."""
    tokens = PARSER.parse(text)
    assert all(
        token.map is None or text.split("\n")[token.map[1] - 1].startswith("```")
        for token in tokens
        if token.type == "fence"
    )
    html = [token.content for token in tokens if token.type == "html_block"]
    html += [child.content for token in tokens for child in token.children or [] if child.type == "html_inline"]
    assert all(re.fullmatch(r"(</?details>|</?summary>|[\w :,'-]|\n)*", block) for block in html), html
    assert sum(block.count("<details>") - block.count("</details>") for block in html) == 0
    prose = "".join(
        child.content for token in tokens for child in token.children or [] if child.type in {"text", "text_special"}
    )
    assert not MENTION.search(prose)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(HOSTILE, HOSTILE, st.sampled_from(Outcome), st.integers(1, 3))
def test_a_result_is_harmless_and_fits(text: str, path: str, outcome: Outcome, copies: int) -> None:
    plan = plan_of(selection(path), actor=text)
    result = result_of(plan, judged(plan, outcome, text, copies))
    body = comment(result)
    harmless(body)
    assert units(body) <= COMMENT_UNITS
    for leg in result.legs:
        harmless(leg_report(leg))
    harmless(running(plan, attempt=1))
    harmless(plain(plan, attempt=1))


@pytest.mark.parametrize(
    ("legs", "copies"),
    [
        pytest.param(1, 1, id="small"),
        pytest.param(30, 5, id="many-legs"),
        pytest.param(1, 300, id="much-of-everything"),
    ],
)
@pytest.mark.parametrize("text", ["x" * 400, "@" * 400, "```` |" * 80, "😀" * 300], ids=["x", "at", "fences", "emoji"])
def test_any_amount_fits_and_stays_whole(legs: int, copies: int, text: str) -> None:
    plan = plan_of(selection())
    many = msgspec.structs.replace(plan, legs=plan.legs * legs)
    result = result_of(many, judged(plan, Outcome.FAIL, text, copies))
    for budget, measure in ((COMMENT_UNITS, units), (CHECK_UNITS, size_bytes)):
        body = comment(result, budget=budget, measure=measure)
        assert measure(body) <= budget
        harmless(body)
    assert size_bytes(comment(result, budget=SUMMARY_UNITS, measure=size_bytes)) <= SUMMARY_UNITS
    assert size_bytes(leg_report(result.legs[0])) <= CHECK_UNITS


def test_a_result_says_what_is_proven_and_what_not() -> None:
    plan = plan_of(selection())
    body = comment(result_of(plan, judged(plan, Outcome.PASS, "ok")))
    level = CATALOGUE.of(Suite.VERL)[0]
    assert "**Proves**" in body
    assert "one PPO step finishes" in body
    assert body.count("does no") == 0 or len(level.does_not_prove) > 0
    assert "any-model" in body
    assert "bridge-e2e run --suite verl --level 0 --bridge Megatron-Bridge" in body


def test_a_failure_proves_nothing() -> None:
    plan = plan_of(selection())
    body = comment(result_of(plan, judged(plan, Outcome.FAIL, "RuntimeError: x")))
    assert "**Proves**" not in body
    assert "anything that a Pass of this level would have proven" in body
    assert "RuntimeError: x" in body
    assert "hf-import" in body


def test_blocked_says_that_it_is_no_evidence() -> None:
    plan = plan_of(selection())
    body = comment(result_of(plan, judged(plan, Outcome.BLOCKED, "no GPU")))
    assert "This is no evidence against the Bridge provider of this change." in body


def test_without_a_verdict_every_level_is_blocked_and_the_reason_is_said() -> None:
    plan = plan_of(selection())
    body = comment(result_of(plan, None))
    assert "**No usable verdict.** Found: no text at all" in body
    assert body.count("There is no verdict for this level.") == len(plan.legs)


@settings(deadline=None, max_examples=30)
@given(HOSTILE, HOSTILE)
def test_replies_are_harmless(text: str, other: str) -> None:
    plan = plan_of(selection(other), actor=text)
    row = "\t".join([text.replace("\t", " ").replace("\n", " ")] * 5)
    parts = (
        Reply(template="refused", values={"actor": text, "found": other, "expected": text, "hint": other}),
        Reply(template="unusable", values={"line": text, "found": other, "expected": text, "hint": other}),
        Reply(template="misread", values={"line": text, "problem": other, "suggestion": text}),
        Reply(template="void", values={"actor": text, "commit": HEAD, "hint": other}),
        Reply(template="not-needed", values={"actor": text, "because": other}),
        Reply(template="queued", values={"actor": text, "proven": row, "remark": other}),
        Reply(template="cancelled", values={"actor": text, "line": text, "legs": other}),
        Reply(template="waived", values={"actor": text, "role": text, "level": text, "reason": other}),
        Reply(template="help"),
        Reply(template="explain", values={"chosen": row, "skipped": row, "widened": text}),
        Reply(template="dry-run", values={"line": text, "chosen": "", "skipped": "", "widened": ""}),
    )
    for part in parts:
        harmless(reply(plan, part, CATALOGUE))
    joined = together(parts)
    assert joined is not None
    whole = reply(plan, joined, CATALOGUE)
    harmless(whole)
    assert whole.count("\n---\n") >= len(parts) - 1


def test_answers_that_do_not_fit_are_counted() -> None:
    plan = plan_of(selection())
    row = "\t".join(["@" * 300] * 5)
    part = Reply(template="explain", values={"chosen": "\n".join([row] * 20), "skipped": "", "widened": ""})
    joined = together((part,) * 10)
    assert joined
    body = reply(plan, joined, CATALOGUE)
    harmless(body)
    assert units(body) <= COMMENT_UNITS
    assert "more answers do not fit into one comment" in body


def test_a_crash_is_a_link_and_no_wall_of_text() -> None:
    body = crashed("https://github.com/o/r/actions/runs/1")
    harmless(body)
    assert "(https://github.com/o/r/actions/runs/1)" in body
    assert len(body) < 500
