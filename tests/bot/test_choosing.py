import msgspec
import pytest

from bot.choosing import Wish, choose, is_left_out
from bot.phrases import apart, together, why_nothing
from levels.catalogue import load
from levels.errors import UsageError
from levels.model import Level, Suite
from levels.plan import Choice, Reason, Reply, Selection

SHIPPED = load()


def deeper(suite: Suite, number: int, *, opt_in: bool = False) -> Level:
    """A deeper level, as later releases have them."""
    base = SHIPPED.of(suite)[0]
    return msgspec.structs.replace(base, number=number, id=f"level-{number}", title=f"title {number}", opt_in=opt_in)


CATALOGUE = msgspec.structs.replace(
    SHIPPED,
    levels=(
        SHIPPED.of(Suite.VERL)[0],
        deeper(Suite.VERL, 1),
        deeper(Suite.VERL, 3, opt_in=True),
        SHIPPED.of(Suite.NEMO_RL)[0],
        deeper(Suite.NEMO_RL, 2),
    ),
)


def choice(suite: Suite, number: int, rule: str = "a-rule") -> Choice:
    reason = Reason(rule=rule, path="a.py", sentence="because")
    return Choice(suite=suite, level=number, title="t", reasons=(reason,), gpus=2, minutes=10)


SELECTED = Selection(
    chosen=(choice(Suite.VERL, 0), choice(Suite.VERL, 1), choice(Suite.NEMO_RL, 0)),
    skipped=(choice(Suite.VERL, 3, "no-rule"), choice(Suite.NEMO_RL, 2, "no-rule")),
)
NOTHING = Selection(chosen=(), skipped=(choice(Suite.VERL, 0, "docs"), choice(Suite.NEMO_RL, 0, "docs")))
V0, V1, V3, N0, N2 = (Suite.VERL, 0), (Suite.VERL, 1), (Suite.VERL, 3), (Suite.NEMO_RL, 0), (Suite.NEMO_RL, 2)


@pytest.mark.parametrize(
    ("selection", "wish", "chosen"),
    [
        pytest.param(SELECTED, Wish(words="x"), [V0, V1, N0], id="what-the-rules-select"),
        pytest.param(SELECTED, Wish(words="x", suites=(Suite.NEMO_RL,)), [N0], id="one-suite"),
        pytest.param(SELECTED, Wish(words="x", levels=(0,)), [V0, N0], id="level-in-each-suite-that-has-it"),
        pytest.param(SELECTED, Wish(words="x", levels=(1,)), [V0, V1], id="deeper-brings-its-level-0"),
        pytest.param(SELECTED, Wish(words="x", levels=(2,)), [N0, N2], id="number-of-one-suite-only"),
        pytest.param(SELECTED, Wish(words="x", levels=(3,)), [V0, V3], id="opt-in-by-number"),
        pytest.param(SELECTED, Wish(words="x", all_levels=True), [V0, V1, N0, N2], id="all-without-opt-in"),
        pytest.param(NOTHING, Wish(words="x"), [], id="nothing"),
        pytest.param(NOTHING, Wish(words="x", force=True), [V0, N0], id="force"),
        pytest.param(SELECTED, Wish(words="x", force=True), [V0, V1, N0], id="force-where-something-is-needed"),
    ],
)
def test_what_a_wish_runs(selection: Selection, wish: Wish, chosen: list[tuple[Suite, int]]) -> None:
    answer = choose(selection, wish, CATALOGUE)
    assert [(one.suite, one.level) for one in answer.chosen] == chosen
    listed = {(one.suite, one.level) for one in (*answer.chosen, *answer.skipped)}
    assert listed >= {(one.suite, one.level) for one in (*selection.chosen, *selection.skipped)}


def test_what_is_needed_and_left_out_is_remembered() -> None:
    answer = choose(SELECTED, Wish(words="label nemo-rl-e2e", suites=(Suite.NEMO_RL,)), CATALOGUE)
    assert [(one.suite, one.level) for one in answer.skipped if is_left_out(one)] == [V0, V1]
    answer = choose(SELECTED, Wish(words="/run-e2e level=0", levels=(0,)), CATALOGUE)
    assert [(one.suite, one.level) for one in answer.skipped if is_left_out(one)] == [V1]
    assert not any(is_left_out(one) for one in choose(SELECTED, Wish(words="x"), CATALOGUE).skipped)


@pytest.mark.parametrize(
    "wish",
    [
        pytest.param(Wish(words="x", levels=(9,)), id="no-suite-has-it"),
        pytest.param(Wish(words="x", levels=(0, 9)), id="one-of-two"),
        pytest.param(Wish(words="x", suites=(Suite.VERL,), levels=(2,)), id="another-suite-has-it"),
    ],
)
def test_a_level_that_does_not_exist(wish: Wish) -> None:
    with pytest.raises(UsageError, match="does not have in this release"):
        choose(SELECTED, wish, CATALOGUE)


def test_an_empty_selection_names_each_rule_once() -> None:
    assert why_nothing(NOTHING) == "rule docs: because"


REPLIES = tuple(Reply(template=name, values={"line": name, "a.b": "c"}) for name in ("help", "misread", "explain"))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_replies_joined_and_parted(count: int) -> None:
    joined = together(REPLIES[:count])
    assert joined
    assert apart(joined) == REPLIES[:count]


def test_no_reply_stays_none() -> None:
    assert together(()) is None
