"""The Evidence on a disk that is full, and in documents that are hostile."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from action import store
from action.context import Job
from action.store import BALLAST, EVIDENCE, clean, compact, open_recorder, reserve, stop_of
from levels.documents import MAX_BYTES, decode
from levels.errors import DocumentError, EnvironmentBlocked, UsageError
from levels.evidence import MAX_TEXT, Evidence, PhaseRun
from levels.model import Boundary
from tests.action.miniature import World

ROOT = Path(store.__file__).parents[1]


def read(job: Job) -> Evidence:
    return decode((job.bundle / EVIDENCE).read_bytes(), Evidence, what="the evidence")


def test_every_update_is_on_disk(world: World) -> None:
    job = world.job()
    recorder = open_recorder(job, write=print)
    reserve(job)
    recorder.update(steps=("checkout",))
    assert (read(job).steps, read(job).complete) == (("checkout",), False)
    assert (job.bundle / BALLAST).stat().st_size > MAX_BYTES["evidence"]
    assert recorder.close()
    assert read(job).complete
    assert sorted(path.name for path in job.bundle.iterdir()) == [EVIDENCE, "leg.json"]


def test_the_first_reason_to_stop_stays(world: World) -> None:
    recorder = open_recorder(world.job(), write=print)
    for text in ("first", "second"):
        error = EnvironmentBlocked(Boundary.DATA, doing="d", found=text, expected="e", next_step="n")
        recorder.stop(stop_of("prepare", error))
    assert recorder.evidence.stop is not None
    assert recorder.evidence.stop.found == "first"


def test_an_error_without_boundary_is_one_of_configuration() -> None:
    stop = stop_of("run", UsageError(doing="d", found="f" * 10_000, expected="e", next_step="n"))
    assert stop.boundary is Boundary.CONFIG
    assert len(stop.found) <= MAX_TEXT


def test_an_update_that_the_judge_would_refuse_is_not_written(world: World) -> None:
    job = world.job()
    recorder = open_recorder(job, write=print)
    recorder.update(steps=("checkout",))
    with pytest.raises(DocumentError):
        recorder.update(launcher=7)
    assert read(job).steps == recorder.evidence.steps == ("checkout",)


@pytest.mark.parametrize(
    "text",
    [pytest.param("\ud800", id="surrogate"), pytest.param("x" * 9_000, id="long"), pytest.param("\x00", id="nul")],
)
def test_any_text_fits(world: World, text: str) -> None:
    job = world.job()
    recorder = open_recorder(job, write=print)
    recorder.update(settings=(clean(text),))
    assert read(job).settings == (clean(text),)


def test_a_second_step_continues_and_a_strangers_evidence_is_refused(world: World) -> None:
    job = world.job()
    open_recorder(job, write=print).update(steps=("checkout",))
    assert open_recorder(job, write=print).evidence.steps == ("checkout",)
    with pytest.raises(EnvironmentBlocked, match="empty folder"):
        open_recorder(msgspec.structs.replace(job, plan="another"), write=print)


def test_a_folder_that_cannot_be_made(world: World) -> None:
    job = world.job()
    job.bundle.parent.write_text("a file")
    with pytest.raises(EnvironmentBlocked, match="--out"):
        open_recorder(job, write=print)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 12 MB."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root; the file size limit below shows the same on any machine")
    mount = tmp_path / "disk"
    mount.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(mount)], capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"no mount here: {done.stderr.decode()}")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as file:
        while True:
            try:
                if file.write(bytes(65_536)) == 0:
                    return
            except OSError:
                return


def test_on_a_full_disk_the_ballast_makes_room_for_the_closing_evidence(world: World, small_disk: Path) -> None:
    job = msgspec.structs.replace(world.job(), bundle=small_disk / "leg")
    lines: list[str] = []
    recorder = open_recorder(job, write=lines.append)
    reserve(job)
    recorder.update(steps=("checkout",))
    fill(small_disk)
    recorder.update(steps=("checkout", "probe"))
    assert read(job).steps == ("checkout",)  # the older file is whole
    assert recorder.close()
    assert (read(job).steps, read(job).complete) == (("checkout", "probe"), True)
    assert lines == []


def test_without_room_for_the_ballast_the_leg_stops_at_once(world: World, small_disk: Path) -> None:
    fill(small_disk)
    job = msgspec.structs.replace(world.job(), bundle=small_disk / "leg")
    with pytest.raises(EnvironmentBlocked, match="free space"):
        reserve(open_and_return(job))


def open_and_return(job: Job) -> Job:
    open_recorder(job, write=print)
    return job


LIMITED = """
import resource, sys
from pathlib import Path
import msgspec
from action.context import Job
from action.store import open_recorder
from levels.documents import decode
from levels.evidence import PhaseRun
from levels.plan import Leg
from action.site import Site
leg = decode(Path("leg.json").read_bytes(), Leg, what="leg")
job = Job(leg=leg, plan="p", site=Site(), bundle=Path("bundle").absolute(), work=Path("work").absolute())
recorder = open_recorder(job, write=print)
recorder.update(steps=("checkout",))
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
big = {f"N{i}": "v" * 1000 for i in range(100)}
run = PhaseRun(id="train", command=("x",), env=big, started_at="t", seconds=0.0, exit_code=0)
recorder.update(steps=("checkout", "run"), phases=(run,))
print(recorder.close())
"""


@pytest.mark.parametrize(
    ("limit", "on_disk", "env_kept"),
    [
        pytest.param(1_000_000, True, True, id="room"),
        pytest.param(20_000, True, False, id="shorter-document"),
        pytest.param(10, False, False, id="not-even-that"),
    ],
)
def test_a_file_size_limit(world: World, tmp_path: Path, limit: int, on_disk: bool, env_kept: bool) -> None:  # noqa: FBT001 - a table
    (tmp_path / "leg.json").write_bytes(msgspec.json.encode(world.leg()))
    summary = tmp_path / "summary.md"
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit)],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "GITHUB_STEP_SUMMARY": str(summary)},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert lines[-1] == str(on_disk and env_kept)
    text = (tmp_path / "bundle" / EVIDENCE).read_text() if on_disk else lines[-2]
    evidence = decode(text, Evidence, what="the evidence")
    assert evidence.steps == ("checkout", "run")
    assert evidence.complete
    assert bool(evidence.phases[0].env) == env_kept


def test_a_compact_document_keeps_what_matters() -> None:
    run = PhaseRun(id="train", command=("x",), env={"A": "b"}, started_at="t", seconds=1.0, exit_code=3)
    evidence = Evidence(leg="l", plan="p", phases=(run,), settings=("s",), complete=True)
    short = compact(evidence)
    assert (short.leg, short.complete, short.phases[0].exit_code, short.phases[0].env) == ("l", True, 3, {})
    assert resource.RLIMIT_FSIZE
