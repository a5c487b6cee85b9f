"""What a signature must win and the near miss that it must lose; what a reader of errors takes for an exception."""

import pytest

from levels.log_errors import ErrorReader
from levels.log_lines import Line
from levels.model import Suite
from tests.levels.judging import knowledge

KNOWN = knowledge(Suite.VERL)


def wins(name: str, text: str) -> bool:
    found = [item.id for item in KNOWN.on_exception(text)] + [item.id for item in KNOWN.on_line(text)[2]]
    return name in found


@pytest.mark.parametrize(
    ("name", "hit", "miss"),
    [
        pytest.param(
            "loader-summary",
            "NotImplementedError: Caught NotImplementedError in DataLoader worker process 0.",
            "RuntimeError: DataLoader worker could not open the file",
            id="loader-summary",
        ),
        pytest.param(
            "damaged-weights",
            "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge",
            "safetensors_rust.SafetensorError: File does not contain tensor lm_head.weight",
            id="damaged-weights",
        ),
        pytest.param(
            "native-abort",
            "*** An error occurred in MPI_Init_thread",
            "Health check failed: retrying",
            id="native-abort-mpi",
        ),
        pytest.param(
            "native-abort",
            "[2025-07-06 07:14:27,052 C 29 29] task_receiver.cc:219:  Check failed: objects_valid",
            "Check failed: the answer is not 4",
            id="native-abort-ray",
        ),
        pytest.param(
            "native-signal",
            "*** SIGSEGV received at time=1768374119 on cpu 41 ***",
            "SIGTERM received, shutting down",
            id="native-signal",
        ),
        pytest.param(
            "package-required",
            "ImportError: transformer-engine version 2.9 is required but found 2.3",
            "RuntimeError: Expected all tensors to be on the same device, but found at least two devices",
            id="package-required",
        ),
        pytest.param(
            "save-no-space",
            "Failed to save checkpoint to /ckpt/step_3: [Errno 122] Disk quota exceeded",
            "Failed to save checkpoint to /ckpt/step_3: KeyError 'rng_state'",
            id="save-no-space",
        ),
    ],
)
def test_a_signature_wins_its_line_and_loses_the_near_miss(name: str, hit: str, miss: str) -> None:
    assert wins(name, hit)
    assert not wins(name, miss)


def read(lines: list[str]) -> list[tuple[str, tuple[str, ...]]]:
    reader = ErrorReader()
    found = []
    for number, text in enumerate(lines, start=1):
        line = Line(number=number, text=text, raw=text)
        if not reader.in_sample(line):
            found += reader.read(line, known=False)
    found += reader.finish()
    return [(error.exception, tuple(frame.function for frame in error.outer)) for error in found]


TRACE = ["Traceback (most recent call last):", '  File "/workspace/verl/a.py", line 3, in fit']


@pytest.mark.parametrize(
    ("lines", "want"),
    [
        pytest.param(
            [*TRACE, "    run()", "acme.client.TrackerOffline: no tracker"],
            [("acme.client.TrackerOffline", ())],
            id="class-of-any-name",
        ),
        pytest.param(
            [*TRACE, "    run()", "megatron.core.parallel_state: nothing raised", "KeyError: 'a'"],
            [("KeyError", ())],
            id="near-miss-a-module-is-no-class",
        ),
        pytest.param(
            [*TRACE, "    out = self.actor_rollout_wg.update_actor(batch)", "ray.exceptions.ActorDiedError: died"],
            [("ray.exceptions.ActorDiedError", ("update_actor",))],
            id="call-of-verl",
        ),
        pytest.param(
            [*TRACE, "    results = policy.train(data)", "ValueError: x"],
            [("ValueError", ("train",))],
            id="call-of-nemo-rl",
        ),
        pytest.param(
            [*TRACE, "    self.policy_holder.train(data)", "ValueError: x"],
            [("ValueError", ())],
            id="near-miss-another-object",
        ),
        pytest.param(
            ["╭──── 🔥 Sample 1 | Reward: 1.0000 ────╮", *("│ " + text for text in TRACE), "│ KeyError: 'a'", "╰────╯"],
            [],
            id="sample-panel",
        ),
        pytest.param(
            ["╭──── Traceback (most recent call last) ────╮", "╰────╯", *TRACE, "    x()", "KeyError: 'a'"],
            [("KeyError", ())],
            id="near-miss-another-panel",
        ),
    ],
)
def test_what_is_read_as_an_error(lines: list[str], want: list[tuple[str, tuple[str, ...]]]) -> None:
    assert read(lines) == want
