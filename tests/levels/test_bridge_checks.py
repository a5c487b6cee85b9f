"""Failing Bridge tests: the change's own, or an environment that cannot run them."""

import msgspec
import pytest

from levels.criteria_code import bridge_checks
from levels.evidence import CheckFailure, ChecksRun, Evidence, Roots
from levels.model import Suite
from levels.subject import Subject
from levels.verdict import Met

ROOTS = Roots(bridge_src="/ci/bridge/src", mcore="/ci/bridge/3rdparty/Megatron-LM")


def answered(run: ChecksRun) -> Met:
    evidence = Evidence(leg="verl-0-lora-ddp", plan="local", roots=ROOTS, bridge_checks=run)
    subject = Subject(suite=Suite.VERL, level=0, title="", criteria=(), phases=(), proof="full", evidence=evidence)
    return bridge_checks(subject).met


def failing(*failures: tuple[str | None, str], failed: int | None = None) -> ChecksRun:
    items = tuple(CheckFailure(test=f"t{n}", file=file, error=error) for n, (file, error) in enumerate(failures))
    return ChecksRun(command=("pytest",), exit_code=1, passed=90, failed=failed or len(items), failures=items)


DRIVER = ("/opt/venv/torch/cuda/__init__.py", "RuntimeError: Found no NVIDIA driver on your system.")
OWN = ("src/megatron/bridge/models/provider.py", "ValueError: no")


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        pytest.param(failing(OWN), Met.UNMET, id="raised-in-the-checkout"),
        pytest.param(failing(("/ci/bridge/src/megatron/bridge/a.py", "E")), Met.UNMET, id="absolute-in-the-checkout"),
        pytest.param(failing(("3rdparty/Megatron-LM/megatron/core/a.py", "E")), Met.UNMET, id="raised-in-mcore"),
        pytest.param(failing(DRIVER), Met.UNVERIFIED, id="no-driver"),
        pytest.param(failing(("../../opt/site/modelopt/dynamic.py", "TypeError: x")), Met.UNVERIFIED, id="leads-out"),
        pytest.param(failing(DRIVER, OWN), Met.UNMET, id="one-of-both"),
        pytest.param(failing(DRIVER, failed=2), Met.UNMET, id="one-failure-was-not-shown"),
        pytest.param(failing((None, "")), Met.UNMET, id="no-place-shown"),
        pytest.param(
            failing(("tests/a.py", "ModuleNotFoundError: No module named 'mamba_ssm'")), Met.UNVERIFIED, id="package"
        ),
        pytest.param(
            failing(("tests/a.py", "ModuleNotFoundError: No module named 'megatron.bridge.gone'")),
            Met.UNMET,
            id="own-module",
        ),
        pytest.param(ChecksRun(command=(), exit_code=3), Met.UNVERIFIED, id="pytest-crashed"),
        pytest.param(ChecksRun(command=(), exit_code=4), Met.UNVERIFIED, id="file-not-found"),
        pytest.param(ChecksRun(command=(), exit_code=5), Met.UNVERIFIED, id="no-test"),
        pytest.param(ChecksRun(command=(), exit_code=0, passed=3), Met.MET, id="passed"),
        pytest.param(ChecksRun(command=(), exit_code=0), Met.UNVERIFIED, id="exit-0-without-a-test"),
    ],
)
def test_what_the_checks_say(run: ChecksRun, expected: Met) -> None:
    assert answered(run) is expected


def test_without_roots_a_failure_is_the_changes() -> None:
    evidence = Evidence(leg="verl-0-lora-ddp", plan="local", bridge_checks=failing(DRIVER))
    subject = Subject(suite=Suite.VERL, level=0, title="", criteria=(), phases=(), proof="full", evidence=evidence)
    assert bridge_checks(subject).met is Met.UNMET


def test_the_cap_of_recorded_failures_is_no_hidden_failure() -> None:
    run = msgspec.structs.replace(failing(*[DRIVER] * 20), failed=35)
    assert answered(run) is Met.UNVERIFIED
