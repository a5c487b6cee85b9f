"""What pytest prints about failing tests becomes facts: test, place of the last frame, error."""

import pytest

from action.failures import failures_of

DRIVER = """\
=================================== FAILURES ===================================
_________________ TestReplicatedMapping.test_hf_to_megatron ____________________

    def test_hf_to_megatron(self):
>       weight.to("cuda")

tests/unit_tests/models/test_param_mapping.py:120:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
/opt/venv/lib/python3.12/site-packages/torch/cuda/__init__.py:424: in _lazy_init
E           RuntimeError: Found no NVIDIA driver on your system.
/opt/venv/lib/python3.12/site-packages/torch/cuda/__init__.py:424: RuntimeError
=========================== short test summary info ============================
FAILED tests/unit_tests/models/test_param_mapping.py::TestReplicatedMapping::test_hf_to_megatron
"""

OWN = """\
______________________________ test_head_size __________________________________
src/megatron/bridge/models/provider.py:12: in finalize
    raise ValueError(text)
E   ValueError: hidden_size (6) must be divisible
src/megatron/bridge/models/provider.py:12: ValueError
"""

COLLECTION = """\
==================================== ERRORS ====================================
____________ ERROR collecting tests/unit_tests/training/test_setup.py ____________
tests/unit_tests/training/test_setup.py:20: in <module>
    import nvidia_resiliency_ext
E   ModuleNotFoundError: No module named 'nvidia_resiliency_ext'
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            DRIVER,
            [
                (
                    "TestReplicatedMapping.test_hf_to_megatron",
                    "/opt/venv/lib/python3.12/site-packages/torch/cuda/__init__.py",
                    "RuntimeError: Found no NVIDIA driver on your system.",
                )
            ],
            id="raised-in-a-package",
        ),
        pytest.param(
            OWN,
            [
                (
                    "test_head_size",
                    "src/megatron/bridge/models/provider.py",
                    "ValueError: hidden_size (6) must be divisible",
                )
            ],
            id="raised-in-the-checkout",
        ),
        pytest.param(
            COLLECTION,
            [
                (
                    "ERROR collecting tests/unit_tests/training/test_setup.py",
                    "tests/unit_tests/training/test_setup.py",
                    "ModuleNotFoundError: No module named 'nvidia_resiliency_ext'",
                )
            ],
            id="collection",
        ),
        pytest.param("12 passed in 0.10s\n", [], id="none"),
    ],
)
def test_failures_are_read(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert [(item.test, item.file, item.error) for item in failures_of(text.splitlines())] == expected


def test_only_the_first_failures_are_kept() -> None:
    assert len(failures_of((OWN * 50).splitlines())) == 20
