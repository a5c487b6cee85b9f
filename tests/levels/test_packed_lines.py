"""Long documents travel packed: a variable of the next job's shell holds 131,072 bytes."""

import base64
import zlib

import pytest

from levels import documents
from levels.errors import DocumentError
from levels.model import Suite
from levels.plan import Choice, Decision, Plan, Reason, Selection

MAX_ARG_STRLEN = 131_072


def plan_of(sentences: int) -> Plan:
    reasons = tuple(
        Reason(rule=f"rule-{n}", path=f"src/file{n}.py", sentence=f"sentence {n * n}") for n in range(sentences)
    )
    choice = Choice(suite=Suite.VERL, level=0, title="t", reasons=reasons, gpus=1, minutes=1)
    return Plan(
        decision=Decision.NOT_ASKED,
        because="a test",
        repository="owner/name",
        pull_request=1,
        head=None,
        base=None,
        consent=None,
        selection=Selection(chosen=(choice,), skipped=()),
        legs=(),
    )


@pytest.mark.parametrize(
    ("sentences", "packed"), [pytest.param(1, False, id="short"), pytest.param(5_000, True, id="long")]
)
def test_a_line_fits_into_a_variable_and_comes_back(sentences: int, *, packed: bool) -> None:
    plan = plan_of(sentences)
    line = documents.encode_line(plan)
    assert line.startswith("zlib:") == packed
    assert len(line) < MAX_ARG_STRLEN
    assert "\n" not in line
    assert documents.decode(line, Plan, what="it") == plan


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("zlib:", id="nothing packed"),
        pytest.param("zlib:!!!!", id="no base64"),
        pytest.param("zlib:aGFsbG8=", id="no zlib"),
        pytest.param("zlib:" + base64.b64encode(zlib.compress(b" " * 50_000_000)).decode(), id="bomb"),
        pytest.param("zlib:" + base64.b64encode(zlib.compress(b"[]"))[:-6].decode(), id="cut"),
    ],
)
def test_a_broken_packed_line_is_refused(line: str) -> None:
    with pytest.raises(DocumentError):
        documents.decode(line, Plan, what="it")
