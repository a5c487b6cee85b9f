"""Every labelled case: verdict, boundary and first error as a person judged them."""

import pytest

from tests.levels.judging import CASES, case, judged

NAMES = sorted(path.parent.name for path in CASES.glob("*/case.json"))


@pytest.mark.parametrize("name", NAMES)
def test_a_labelled_case_reads_like_its_label(name: str) -> None:
    want = case(name)["expect"]
    ours = judged(name)
    assert ours.verdict == want["verdict"]
    assert ours.boundary == want["boundary"]
    assert (want["first_error"] or "") in (ours.first_error or "")
    assert ours.attribution == want["attribution"]
    assert ours.proof == "log-only"


@pytest.mark.parametrize("name", NAMES)
def test_without_exit_code_and_checks_nothing_passes(name: str) -> None:
    assert judged(name, exit_code=None).verdict != "Pass"
    assert judged(name, checks="skipped").verdict != "Pass"
    assert judged(name, exit_code=1).verdict != "Pass"


@pytest.mark.parametrize("name", [name for name in NAMES if "-pass-" in name])
def test_a_passing_log_cut_anywhere_is_no_pass(name: str) -> None:
    log = (CASES / name / "run.log").read_bytes()
    for part in (0.0, 0.2, 0.4, 0.6, 0.8, 0.9):
        assert judged(name, log[: int(len(log) * part)]).verdict != "Pass"
