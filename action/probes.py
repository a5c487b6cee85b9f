"""Runs the probe scripts once per kind of process that will import Bridge.

What a path means is decided by the judge; here a wrong one only stops the leg, before it costs GPU time.
"""

import re
from pathlib import Path
from typing import Final

import msgspec

from action import environment, process
from action.context import Job, Trees, trees_of
from action.process import Limits
from action.provenance import host_facts
from action.store import Recorder, clean
from levels.errors import EnvironmentBlocked
from levels.evidence import HostFacts, Import, Roots
from levels.model import Boundary, Process

MODULES: Final = ("megatron.bridge", "megatron.core")
PACKAGES: Final = (
    "torch",
    "ray",
    "vllm",
    "transformers",
    "transformer_engine",
    "transformer-engine-torch",
    "nvidia-modelopt",
    "nvidia-resiliency-ext",
    "flash-attn",
    "apex",
    "tensordict",
    "datasets",
    "numpy",
    "megatron-bridge",
    "megatron-core",
)
_SCRIPTS: Final = Path(__file__).parent / "probe_scripts"
_MAX_RESULT: Final = 200_000
_LOG_BYTES: Final = 1_000_000
_FROM_MEGATRON: Final = re.compile(r"No module named 'megatron(\.(bridge|core)\b|')|from 'megatron\.")


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a probe script wrote. It ran beside untrusted code: every field is checked, every text is cut."""

    interpreter: str
    imports: list["Found"]
    ray_error: str | None = None


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One module as a probe script saw it."""

    module: str
    file: str | None
    version: str | None
    error: str | None
    raised_in: str | None


class Packages(msgspec.Struct, frozen=True, kw_only=True):
    """What packages.py wrote."""

    python: str
    packages: dict[str, str]


def probe(job: Job, recorder: Recorder) -> None:
    """Record host facts and the imports of driver and Ray worker.

    Raises:
        EnvironmentBlocked: when an import failed or came from another tree.

    """
    trees, roots = trees_of(job, recorder.evidence), recorder.evidence.roots
    if roots is None:
        raise AssertionError("the checkout step records the roots")
    environment.prepare_folders(job)
    environment.find_program(environment.interpreter(job)[0], environment.base_env(job))
    recorder.update(host=_host(job, trees), settings=environment.settings_of(job))
    driver = _driver(job, trees)
    recorder.update(imports=driver)
    check(driver, roots)
    worker = _worker(job, trees)
    recorder.update(imports=(*driver, *worker))
    check(worker, roots)


def _host(job: Job, trees: Trees) -> HostFacts:
    pythonpath, _ = environment.probe_pythonpaths(job, trees, job.leg.phases[0])
    result = _run(job, trees, "packages", PACKAGES, pythonpath)
    base = environment.base_env(job)
    try:
        found = msgspec.json.decode(result, type=Packages)
    except msgspec.DecodeError:
        return host_facts(base, {}, "")  # the import probe that follows says what is wrong with this interpreter
    return host_facts(base, found.packages, found.python)


def _driver(job: Job, trees: Trees) -> tuple[Import, ...]:
    pythonpath, _ = environment.probe_pythonpaths(job, trees, job.leg.phases[0])
    return imports_of(_run(job, trees, "driver", MODULES, pythonpath), Process.DRIVER)


def _worker(job: Job, trees: Trees) -> tuple[Import, ...]:
    driver, worker = environment.probe_pythonpaths(job, trees, job.leg.phases[0])
    patience = str(max(job.site.probe_seconds - 30, 10))
    arguments = (str(job.tmp / "ray"), worker, job.site.worker_python or "", patience, *MODULES)
    return imports_of(_run(job, trees, "ray_worker", arguments, driver), Process.RAY_WORKER)


def _run(job: Job, trees: Trees, script: str, arguments: tuple[str, ...], pythonpath: str) -> bytes:
    """What the script wrote; a text of ours where it wrote nothing."""
    out = job.work / f"probe-{script}.json"
    out.unlink(missing_ok=True)
    log = job.bundle / f"probe-{script.replace('_', '-')}.log"
    env = {**environment.phase_env(job, trees, job.leg.phases[0]), "PYTHONPATH": pythonpath}
    argv = (*environment.interpreter(job), str(_SCRIPTS / f"{script}.py"), str(out), *arguments)
    limits = Limits(seconds=job.site.probe_seconds, log_bytes=_LOG_BYTES)
    ended = process.run(argv, cwd=trees.suite, env=env, log=log, limits=limits)
    if ended.timed_out:
        return f"no answer within {job.site.probe_seconds} s".encode()
    if out.is_file() and not out.is_symlink() and out.stat().st_size <= _MAX_RESULT:
        return out.read_bytes()
    tail = log.read_bytes()[-1500:].decode("utf-8", "replace").strip()
    return f"no result, exit code {ended.exit_code}, signal {ended.signal}: {tail or 'no output'}".encode()


def imports_of(result: bytes, kind: Process) -> tuple[Import, ...]:
    """One Import per module, whatever the script wrote."""
    try:
        found = msgspec.json.decode(result, type=Result)
    except msgspec.DecodeError:
        return _all_failed(kind, result.decode("utf-8", "replace"), None)
    if found.ray_error is not None:
        return _all_failed(kind, found.ray_error, found.interpreter)
    by_name = {item.module: item for item in found.imports}
    return tuple(_import(kind, name, by_name.get(name), found.interpreter) for name in MODULES)


def _all_failed(kind: Process, error: str, interpreter: str | None) -> tuple[Import, ...]:
    where = clean(interpreter) if interpreter else None
    return tuple(
        Import(process=kind, module=name, file=None, error=clean(error), interpreter=where) for name in MODULES
    )


def _import(kind: Process, name: str, found: Found | None, interpreter: str) -> Import:
    if found is None:
        return Import(process=kind, module=name, file=None, error="the probe did not report it")
    return Import(
        process=kind,
        module=name,
        file=clean(found.file) if found.file else None,
        error=clean(found.error) if found.error else None,
        interpreter=clean(interpreter),
        version=clean(found.version, 200) if found.version else None,
        raised_in=clean(found.raised_in) if found.raised_in else None,
    )


def root_of(module: str, roots: Roots) -> str:
    """The folder that `module` must lie in."""
    return roots.mcore if module == "megatron.core" else roots.bridge_src


def check(imports: tuple[Import, ...], roots: Roots) -> None:
    """Nothing, when each module came from its tree.

    Raises:
        EnvironmentBlocked: a wrong path, or an import that failed.

    """
    for item in imports:
        root = root_of(item.module, roots)
        if item.file is None:
            raise _failed(item, roots)
        if not Path(item.file).is_relative_to(Path(root).resolve()):
            raise EnvironmentBlocked(
                Boundary.BRIDGE_IMPORT,
                doing=f"importing {item.module} in the {item.process.value}",
                found=item.file,
                expected=f"a file below {root}",
                next_step="put the checkout first on PYTHONPATH; nothing that runs on another tree is evidence",
            )


def _failed(item: Import, roots: Roots) -> EnvironmentBlocked:
    boundary = boundary_of(item, roots)
    first = (item.error or "no file").partition("\n")[0]
    missing = re.search(r"No module named '([\w.]+)'", first)
    package = f"the package that gives the module {missing[1]}" if missing else "what the error names"
    remedies = {
        Boundary.BRIDGE_IMPORT: "see the traceback: the checkout's own code, or PYTHONPATH, is at fault",
        Boundary.RAY: "see probe-ray-worker.log in the evidence; a private Ray could not be used on this machine",
    }
    return EnvironmentBlocked(
        boundary,
        doing=f"importing {item.module} in the {item.process.value}",
        found=f"{first} (raised in {item.raised_in})" if item.raised_in else first,
        expected=f"a file below {root_of(item.module, roots)}",
        next_step=remedies.get(
            boundary, f"install {package} for {item.interpreter or 'the suite'}, or name another interpreter"
        ),
    )


def boundary_of(item: Import, roots: Roots) -> Boundary:
    """Where a failed import broke: a missing or broken package is a dependency, the checkout's own code is not."""
    error = item.error or ""
    first = error.partition("\n")[0]
    if _FROM_MEGATRON.search(first):
        return Boundary.BRIDGE_IMPORT
    if first.startswith(("ModuleNotFoundError", "ImportError", "OSError")):
        return Boundary.DEPENDENCY
    own = (Path(roots.bridge_src), Path(roots.mcore))
    if item.raised_in is not None and any(Path(item.raised_in).is_relative_to(root) for root in own):
        return Boundary.BRIDGE_IMPORT
    if item.raised_in is None and item.process is Process.RAY_WORKER:
        return Boundary.RAY
    return Boundary.BRIDGE_IMPORT if first.startswith("no answer") else Boundary.DEPENDENCY
