"""A file of a bundle is what the evidence names, or the reader learns why not."""

import hashlib
import os
from pathlib import Path

import pytest

from levels.bundles import read_bundle
from levels.documents import encode
from levels.evidence import MAX_METRICS_BYTES, Evidence, FileRef, PhaseRun
from levels.model import Suite
from tests.levels.judging import knowledge

NAME = "metrics-train.json"


def bundle(root: Path, size: int, claimed: int, content: bytes = b"{}") -> Path:
    """A bundle whose one metrics file is `content`, made `size` bytes long without taking the room."""
    (root / NAME).write_bytes(content)
    os.truncate(root / NAME, size)
    metrics = FileRef(path=NAME, bytes=claimed, sha256=hashlib.sha256(content).hexdigest())
    run = PhaseRun(
        id="train", command=("x",), env={}, started_at="2026-09-01", seconds=1.0, exit_code=0, metrics=metrics
    )
    evidence = Evidence(leg="verl-0-lora-ddp", plan="0" * 12, phases=(run,))
    (root / "evidence.json").write_bytes(encode(evidence))
    return root


@pytest.mark.parametrize(
    ("size", "claimed", "problem"),
    [
        pytest.param(2, 2, "no metric in it", id="read"),
        pytest.param(2, 3, f"{NAME} has 2 bytes, not 3", id="another-size"),
        pytest.param(3, 3, "is not the file that the evidence names (SHA-256 differs)", id="another-content"),
        pytest.param(
            MAX_METRICS_BYTES + 1,
            MAX_METRICS_BYTES + 1,
            f"has {MAX_METRICS_BYTES + 1} bytes, more than {MAX_METRICS_BYTES}",
            id="too-large",
        ),
    ],
)
def test_why_a_metrics_file_is_not_used(tmp_path: Path, size: int, claimed: int, problem: str) -> None:
    found = read_bundle(bundle(tmp_path, size, claimed), knowledge(Suite.VERL)).logs.metrics["train"]
    assert problem in (found.problem or "")
