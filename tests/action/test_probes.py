"""Probe scripts in real interpreters, and what stops a leg."""

import json
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from action import leftovers, probes
from action.checkout import checkout
from action.context import Job
from action.phases import run_phases
from action.probes import MODULES, boundary_of, check, imports_of, probe
from action.store import open_recorder
from levels.errors import EnvironmentBlocked
from levels.evidence import Evidence, Import, Roots
from levels.model import Boundary, Phase, Process
from levels.plan import Leg
from tests.action.miniature import World


def probed(job: Job) -> tuple[Evidence, EnvironmentBlocked | None]:
    recorder = open_recorder(job, write=print)
    checkout(job, recorder)
    try:
        probe(job, recorder)
    except EnvironmentBlocked as error:
        return recorder.evidence, error
    return recorder.evidence, None


def by_kind(evidence: Evidence, kind: Process) -> dict[str, Import]:
    return {item.module: item for item in evidence.imports if item.process is kind}


def break_bridge(world: World, commit_to: Callable[..., str], source: str) -> Leg:
    text = textwrap.dedent(source)
    new = commit_to(
        world.bridge, {"src/megatron/bridge/__init__.py": text}, links={"3rdparty/Megatron-LM": world.mcore_commit}
    )
    return world.leg(bridge_commit=new)


def test_the_driver_imports_from_the_checkout(world: World) -> None:
    job = world.job()
    evidence, _ = probed(job)
    found = by_kind(evidence, Process.DRIVER)
    assert found["megatron.bridge"].file == str(
        (job.planned_trees.bridge / "src/megatron/bridge/__init__.py").resolve()
    )
    assert found["megatron.core"].version == "0.18"
    assert evidence.host is not None
    assert evidence.host.cpus > 0


def test_a_megatron_lm_that_the_wrapper_puts_first_stops_the_leg(world: World, tmp_path: Path) -> None:
    """The trap of verl's wrapper: PYTHONPATH alone looks right, what the wrapper makes of it is not."""
    image = tmp_path / "workspace" / "Megatron-LM"
    (image / "megatron/core").mkdir(parents=True)
    (image / "megatron/core/__init__.py").write_text("")
    phase = msgspec.structs.replace(world.leg().phases[0], pythonpath_prefix=(str(image),))
    evidence, error = probed(world.job(world.leg(phases=(phase,))))
    assert error is not None
    assert error.boundary is Boundary.BRIDGE_IMPORT
    assert str(image) in error.found
    assert by_kind(evidence, Process.DRIVER)["megatron.core"].file == str(image / "megatron/core/__init__.py")
    assert not by_kind(evidence, Process.RAY_WORKER)


def test_a_package_that_links_out_of_the_checkout_stops_the_leg(
    world: World, tmp_path: Path, run_git: Callable[..., str]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "__init__.py").write_text("")
    run_git(world.bridge, "rm", "-r", "--quiet", "src/megatron/bridge")
    (world.bridge / "src/megatron").mkdir(parents=True, exist_ok=True)
    (world.bridge / "src/megatron/bridge").symlink_to(elsewhere)
    run_git(world.bridge, "add", "src")
    run_git(world.bridge, "commit", "--quiet", "--message", "link")
    _, error = probed(world.job(world.leg(bridge_commit=run_git(world.bridge, "rev-parse", "HEAD"))))
    assert error is not None
    assert error.boundary is Boundary.BRIDGE_IMPORT
    assert str(elsewhere) in error.found


@pytest.mark.parametrize(
    ("source", "boundary", "says"),
    [
        pytest.param(
            "import no_such_package_x", Boundary.DEPENDENCY, "No module named 'no_such_package_x'", id="missing-package"
        ),
        pytest.param("import ctypes; ctypes.CDLL('/none.so')", Boundary.DEPENDENCY, "none.so", id="abi"),
        pytest.param("from megatron.core import gone", Boundary.BRIDGE_IMPORT, "gone", id="core-lacks-a-name"),
        pytest.param(
            "import megatron.bridge.gone", Boundary.BRIDGE_IMPORT, "megatron.bridge.gone", id="own-module-missing"
        ),
        pytest.param("def broken(:", Boundary.BRIDGE_IMPORT, "SyntaxError", id="syntax"),
        pytest.param("undefined_name", Boundary.BRIDGE_IMPORT, "NameError", id="name-error"),
        pytest.param("raise SystemExit(0)", Boundary.BRIDGE_IMPORT, "SystemExit", id="exits"),
        pytest.param("import os; os._exit(0)", Boundary.DEPENDENCY, "no result, exit code 0", id="dies"),
        pytest.param("import os; os.abort()", Boundary.DEPENDENCY, "signal 6", id="aborts"),
        pytest.param("import time; time.sleep(600)", Boundary.BRIDGE_IMPORT, "no answer within 2 s", id="hangs"),
    ],
)
def test_a_failed_import_is_a_fact_with_its_text(
    world: World, commit_to: Callable[..., str], source: str, boundary: Boundary, says: str
) -> None:
    leg = break_bridge(world, commit_to, source)
    evidence, error = probed(world.job(leg, probe_seconds=2))
    assert error is not None
    assert error.boundary is boundary
    assert says in error.found
    assert says in (by_kind(evidence, Process.DRIVER)["megatron.bridge"].error or "")


def test_a_broken_file_of_the_checkout_is_named(world: World, commit_to: Callable[..., str]) -> None:
    leg = break_bridge(world, commit_to, "x = (\n")
    job = world.job(leg)
    evidence, _ = probed(job)
    found = by_kind(evidence, Process.DRIVER)["megatron.bridge"]
    assert found.raised_in == str((job.planned_trees.bridge / "src/megatron/bridge/__init__.py").resolve())


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{", id="not-json"),
        pytest.param(b'{"interpreter": 1, "imports": []}', id="wrong-type"),
        pytest.param(b'{"interpreter": "p", "imports": []}', id="nothing-reported"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b"\xff\xfe", id="not-utf-8"),
    ],
)
def test_whatever_the_script_wrote_there_is_one_import_a_module(result: bytes) -> None:
    imports = imports_of(result, Process.DRIVER)
    assert [item.module for item in imports] == list(MODULES)
    assert all(item.file is None and item.error is not None for item in imports)


def test_hostile_texts_are_cut(tmp_path: Path) -> None:
    found = {
        "module": "megatron.bridge",
        "file": "/" + "x" * 50_000,
        "version": "\ud800",
        "error": None,
        "raised_in": None,
    }
    data = json.dumps({"interpreter": "p", "imports": [found]}).encode()
    (first, _) = imports_of(data, Process.DRIVER)
    assert len(first.file or first.error or "") <= 4000
    del tmp_path


ROOTS = Roots(bridge_src="/w/bridge/src", mcore="/w/bridge/3rdparty/Megatron-LM")


@pytest.mark.parametrize(
    ("module", "file", "fine"),
    [
        pytest.param("megatron.bridge", "/w/bridge/src/megatron/bridge/__init__.py", True, id="bridge"),
        pytest.param("megatron.core", "/w/bridge/3rdparty/Megatron-LM/megatron/core/__init__.py", True, id="core"),
        pytest.param("megatron.bridge", "/w/bridge/src2/megatron/bridge/__init__.py", False, id="prefix-only"),
        pytest.param("megatron.core", "/w/bridge/src/megatron/core/__init__.py", False, id="core-in-bridge"),
        pytest.param(
            "megatron.bridge", "/usr/lib/python3/site-packages/megatron/bridge/__init__.py", False, id="wheel"
        ),
    ],
)
def test_where_a_module_must_lie(module: str, file: str, fine: bool) -> None:  # noqa: FBT001 - a table
    item = Import(process=Process.RAY_WORKER, module=module, file=file)
    if fine:
        check((item,), ROOTS)
        return
    with pytest.raises(EnvironmentBlocked, match="nothing that runs on another tree is evidence"):
        check((item,), ROOTS)


@pytest.mark.parametrize(
    ("error", "raised_in", "boundary"),
    [
        pytest.param("ModuleNotFoundError: No module named 'ray'", None, Boundary.DEPENDENCY, id="no-ray"),
        pytest.param("ModuleNotFoundError: No module named 'megatron'", None, Boundary.BRIDGE_IMPORT, id="no-megatron"),
        pytest.param("GetTimeoutError: Get timed out", None, Boundary.RAY, id="ray-timeout"),
        pytest.param("RaySystemError: System error: Broken pipe", None, Boundary.RAY, id="ray-broken"),
        pytest.param(
            "ImportError: cannot import name 'X' from 'transformers' (/p)",
            "/w/bridge/src/a.py",
            Boundary.DEPENDENCY,
            id="third-party-skew",
        ),
        pytest.param(
            "ImportError: cannot import name 'X' from 'megatron.core.y' (/p)",
            "/w/bridge/src/a.py",
            Boundary.BRIDGE_IMPORT,
            id="core-skew",
        ),
        pytest.param(
            "AttributeError: module 'torch' has no attribute 'x'",
            "/usr/lib/te/a.py",
            Boundary.DEPENDENCY,
            id="elsewhere",
        ),
    ],
)
def test_the_boundary_of_a_failed_worker_import(error: str, raised_in: str | None, boundary: Boundary) -> None:
    item = Import(process=Process.RAY_WORKER, module="megatron.bridge", file=None, error=error, raised_in=raised_in)
    assert boundary_of(item, ROOTS) is boundary


CLUSTER = """
import sys, ray
ray.init(address="local", _temp_dir=sys.argv[1], include_dashboard=False, num_cpus=1, object_store_memory=100 * 1024**2)

@ray.remote
class Counter:
    def __init__(self): self.value = 0
    def add(self): self.value += 1; return self.value

counter = Counter.remote()
print("ready", ray.get(counter.add.remote()), flush=True)
for line in sys.stdin:
    print("still", ray.get(counter.add.remote()), flush=True)
"""


@pytest.fixture
def other_cluster(ray_python: str, short_tmp: str) -> Iterator[subprocess.Popen[str]]:
    """An unrelated Ray of somebody else, with state that a restart would lose."""
    short = Path(short_tmp) / "other"
    process = subprocess.Popen(
        [ray_python, "-c", CLUSTER, str(short)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    lines = iter(process.stdout)
    assert any(line.startswith("ready 1") for line in lines)
    yield process
    process.communicate(timeout=60)


@pytest.mark.ray
def test_a_real_ray_worker_imports_from_the_checkout_and_the_other_cluster_survives(
    world: World, ray_python: str, short_tmp: str, other_cluster: subprocess.Popen[str]
) -> None:
    job = world.job(python=ray_python, tmp=short_tmp, probe_seconds=120)
    evidence, error = probed(job)
    assert error is None
    found = by_kind(evidence, Process.RAY_WORKER)
    assert found["megatron.bridge"].file == str(
        (job.planned_trees.bridge / "src/megatron/bridge/__init__.py").resolve()
    )
    assert found["megatron.core"].file == str((job.planned_trees.mcore / "megatron/core/__init__.py").resolve())
    assert answers(other_cluster)


JOINER = """
import os, signal, ray
ray.init(address="auto", num_cpus=1, include_dashboard=False, object_store_memory=100 * 1024**2)

@ray.remote
def shown():
    return "BRIDGE_E2E_LEG=" in open("/proc/self/environ").read()

print("session", ray._private.worker._global_node.get_session_dir_path(), flush=True)
print("token shown by a worker:", ray.get(shown.remote()), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.ray
def test_a_wrapper_that_joins_any_ray_gets_its_own_and_all_of_it_is_ended(
    world: World, ray_python: str, short_tmp: str, other_cluster: subprocess.Popen[str]
) -> None:
    """As NeMo-RL does: `address="auto"` joins whatever runs on the machine. The driver then dies without a word."""
    phase = Phase(id="train", command=("python3", "-c", JOINER), steps=1, minutes=5)
    job = world.job(world.leg(phases=(phase,)), python=ray_python, tmp=short_tmp)
    recorder = open_recorder(job, write=print)
    checkout(job, recorder)
    run_phases(job, recorder)
    (run,) = recorder.evidence.phases
    log = (job.bundle / "run-train.log").read_text()
    assert run.signal == signal.SIGKILL, log
    assert f"session {job.tmp}/" in log
    assert "token shown by a worker: True" in log
    assert leftovers.find(job.token, 0.0, None) == []
    assert not [process for process in psutil.process_iter() if str(job.tmp) in _command(process)]
    assert answers(other_cluster)


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def answers(cluster: subprocess.Popen[str]) -> bool:
    """True while the other cluster still has its state."""
    if cluster.poll() is not None or cluster.stdin is None or cluster.stdout is None:
        return False
    cluster.stdin.write("again\n")
    cluster.stdin.flush()
    return next(line for line in cluster.stdout if line.startswith("still")) == "still 2\n"


@pytest.mark.ray
def test_a_worker_that_gets_another_path_stops_the_leg(
    world: World, ray_python: str, short_tmp: str, tmp_path: Path
) -> None:
    """Driver right, worker wrong: what an override hands to Ray's runtime environment is what counts."""
    other = tmp_path / "wheel"
    for package in ("bridge", "core"):
        (other / "megatron" / package).mkdir(parents=True)
        (other / "megatron" / package / "__init__.py").write_text("")
    override = f"++ray_kwargs.ray_init.runtime_env.env_vars.PYTHONPATH={other}"
    phase = msgspec.structs.replace(world.leg().phases[0], overrides=(override,))
    evidence, error = probed(world.job(world.leg(phases=(phase,)), python=ray_python, tmp=short_tmp, probe_seconds=120))
    assert by_kind(evidence, Process.DRIVER)["megatron.bridge"].error is None
    assert error is not None
    assert error.boundary is Boundary.BRIDGE_IMPORT
    assert str(other) in error.found


def test_without_ray_the_worker_probe_says_so(world: World) -> None:
    """The interpreter of the tests may have ray; `-S` hides every installed package."""
    script = Path(probes.__file__).parent / "probe_scripts" / "ray_worker.py"
    out = world.root / "out.json"
    argv = [sys.executable, "-S", str(script), str(out), str(world.root / "r"), "", "", "30", *MODULES]
    subprocess.run(argv, check=True, capture_output=True)
    imports = imports_of(out.read_bytes(), Process.RAY_WORKER)
    assert {item.error for item in imports} == {"ModuleNotFoundError: No module named 'ray'"}
    assert boundary_of(imports[0], ROOTS) is Boundary.DEPENDENCY
