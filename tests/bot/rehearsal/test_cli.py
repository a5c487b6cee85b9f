"""With which code a rehearsal ends, and what it says when the jobs gave nothing."""

import pytest
from rich.console import Console

from bot.rehearsal import act, cli


@pytest.mark.parametrize(
    ("line", "errors"),
    [
        pytest.param(b"no such image\n", ["no such image"], id="no-json"),
        pytest.param(b'{"level": "fatal", "msg": "no such label"}', ["no such label"], id="fatal"),
        pytest.param(b'{"level": "info", "msg": "Error: of a job"}', [], id="a-job-says-so"),
    ],
)
def test_what_act_complains_of_is_kept(line: bytes, errors: list[str]) -> None:
    ran = act.Ran()
    assert list(act._read(line, ran)) == []
    assert ran.errors == errors


@pytest.mark.parametrize(
    ("ran", "says"),
    [
        pytest.param(act.Ran(), "rehearse: reading the plan job's output: found no text at all", id="no-output"),
        pytest.param(act.Ran(errors=["Error: no such label"]), "act: Error: no such label\n", id="act-complains"),
        pytest.param(act.Ran(outputs={"plan": "{"}), "rehearse: reading the plan job's output", id="broken-plan"),
    ],
)
def test_jobs_without_a_plan_are_a_bug_of_ours(ran: act.Ran, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli._code(ran, Console()) == 70
    assert says in capsys.readouterr().err
