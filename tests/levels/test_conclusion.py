"""The gate table, row by row."""

import msgspec
import pytest

from levels.conclusion import GateState, conclude, conclude_leg, conclude_plan, conclude_verdict
from levels.model import Attribution, Boundary, Outcome, Suite
from levels.plan import Decision, Plan, Selection
from levels.verdict import LegVerdict, Verdict
from tests.levels.judging import COMMIT, judge


@pytest.mark.parametrize(
    ("state", "detail", "conclusion", "title"),
    [
        pytest.param(GateState.PASSED, "verl L0 passed", "success", "verl L0 passed", id="pass"),
        pytest.param(GateState.NOT_NEEDED, "rule docs", "success", "not needed: rule docs", id="not-needed"),
        pytest.param(GateState.FAILED, "verl L2 Fail at hf-import", "failure", "verl L2 Fail at hf-import", id="fail"),
        pytest.param(GateState.FAILED_ELSEWHERE, "", "action_required", "Fail, not this change's", id="fail-elsewhere"),
        pytest.param(
            GateState.BLOCKED,
            "Blocked at ray",
            "action_required",
            "Blocked at ray: not evidence against this change",
            id="blocked",
        ),
        pytest.param(GateState.NOT_ASKED, "", "action_required", "add label or `/run-e2e`", id="not-asked"),
        pytest.param(GateState.CONSENT_VOID, "", "action_required", "new commits since consent", id="void"),
        pytest.param(GateState.QUEUED, "12 min", None, "waiting for a runner, 12 min", id="queued"),
        pytest.param(GateState.RUNNING, "", None, "running", id="running"),
        pytest.param(GateState.QUEUE_LIMIT, "6 h", "action_required", "no runner came: 6 h", id="queue-limit"),
        pytest.param(GateState.WAIVED, "by ann: verl L2 Fail", "success", "Waived by ann: verl L2 Fail", id="waived"),
        pytest.param(GateState.SUPERSEDED, "", "cancelled", "superseded by a newer run", id="superseded"),
        pytest.param(GateState.CANCELLED, "cancelled by wim", "cancelled", "cancelled by wim", id="cancelled"),
        pytest.param(
            GateState.CARRIED, "#1", "success", "proved on PR heads, not on the combination: #1", id="carried"
        ),
        pytest.param(GateState.UNPROVEN, "#1: no check", "failure", "not proven: #1: no check", id="unproven"),
        pytest.param(GateState.PLAN_CRASHED, "", "failure", "the plan could not be made", id="plan-crashed"),
        pytest.param(
            GateState.REFUSED, "no write access", "action_required", "not started: no write access", id="refused"
        ),
    ],
)
def test_the_table(state: GateState, detail: str, conclusion: str | None, title: str) -> None:
    found = conclude(state, detail)
    assert (found.conclusion, found.title) == (conclusion, title)
    assert (found.status == "in_progress") == (conclusion is None)


def test_the_table_knows_every_state_and_never_says_neutral() -> None:
    words = {conclude(state, "x" * 500).conclusion for state in GateState}
    assert words == {"success", "failure", "action_required", "cancelled", None}
    assert all(len(conclude(state, "x" * 500).title) <= 140 for state in GateState)


def test_the_caller_may_let_unasked_levels_pass() -> None:
    assert conclude(GateState.NOT_ASKED, when_not_asked="success").conclusion == "success"


def leg(outcome: Outcome, name: str = "verl-0", **fields: object) -> LegVerdict:
    boundary = None if outcome is Outcome.PASS else Boundary.HF_IMPORT
    base = {"outcome": outcome, "leg": name, "boundary": boundary, "attribution": Attribution.BRIDGE_SIDE}
    return msgspec.structs.replace(judge(Suite.VERL), **{**base, **fields})


def verdict(*legs: LegVerdict) -> Verdict:
    return Verdict(plan="p", repository="a/b", pull_request=1, head=COMMIT, outcome=Outcome.PASS, legs=legs)


PASS, FAIL, BLOCKED = Outcome.PASS, Outcome.FAIL, Outcome.BLOCKED


@pytest.mark.parametrize(
    ("legs", "waived", "conclusion", "says"),
    [
        pytest.param((leg(PASS),), {}, "success", "verl L0 passed", id="all-pass"),
        pytest.param((leg(PASS), leg(FAIL, "b")), {}, "failure", "verl L0 Fail at hf-import", id="new-fail"),
        pytest.param((leg(BLOCKED), leg(FAIL, "b")), {}, "failure", "(+1 more)", id="worst-first"),
        pytest.param(
            (leg(FAIL, attribution=Attribution.DOWNSTREAM),),
            {},
            "action_required",
            "not this change's",
            id="downstream",
        ),
        pytest.param(
            (leg(FAIL, comparison="shared-with-base"),), {}, "action_required", "not this change's", id="shared"
        ),
        pytest.param((leg(FAIL, attribution=Attribution.UNDETERMINED),), {}, "failure", "Fail", id="undetermined"),
        pytest.param((leg(BLOCKED),), {}, "action_required", "not evidence", id="blocked"),
        pytest.param((leg(FAIL),), {"verl-0": "by ann"}, "success", "Waived by ann: verl L0 Fail", id="waived"),
        pytest.param((leg(FAIL),), {"verl-1": "by ann"}, "failure", "Fail", id="other-leg-waived"),
        pytest.param(
            (leg(BLOCKED, boundary=Boundary.BRIDGE_IMPORT),),
            {"verl-0": "by ann"},
            "action_required",
            "bridge-import",
            id="wrong-tree",
        ),
        pytest.param(
            (leg(BLOCKED, proof="none"),), {"verl-0": "by ann"}, "action_required", "Blocked", id="no-evidence"
        ),
        pytest.param((), {}, "action_required", "nothing was judged", id="no-legs"),
    ],
)
def test_a_finished_run(legs: tuple[LegVerdict, ...], waived: dict[str, str], conclusion: str, says: str) -> None:
    found = conclude_verdict(verdict(*legs), waived)
    assert found.conclusion == conclusion
    assert says in found.title


def test_the_check_of_a_waived_leg_stays_red() -> None:
    assert conclude_leg(leg(FAIL)).conclusion == "failure"
    assert conclude_leg(leg(PASS)).conclusion == "success"


@pytest.mark.parametrize(
    ("decision", "conclusion"),
    [
        pytest.param(Decision.RUN, None, id="run"),
        pytest.param(Decision.NOT_NEEDED, "success", id="not-needed"),
        pytest.param(Decision.NOT_ASKED, "action_required", id="not-asked"),
        pytest.param(Decision.VOID, "action_required", id="void"),
        pytest.param(Decision.REFUSED, "action_required", id="refused"),
        pytest.param(Decision.ANSWER, "none", id="answer"),
        pytest.param(Decision.IGNORED, "none", id="ignored"),
    ],
)
def test_right_after_planning(decision: Decision, conclusion: str | None) -> None:
    plan = Plan(
        decision=decision,
        because="rule docs",
        repository="a/b",
        pull_request=1,
        head=COMMIT,
        base=None,
        consent=None,
        selection=Selection(chosen=(), skipped=()),
        legs=(),
    )
    found = conclude_plan(plan)
    assert (found.conclusion if found else "none") == conclusion
