"""Reports where a Ray worker imports given modules from. Standard library and ray; run by the suite's Python.

usage: ray_worker.py OUT TEMP_DIR WORKER_PYTHONPATH WORKER_PYTHON SECONDS MODULE...

Starts a Ray of its own: own folder, own ports, no dashboard. It never joins and never stops another one.
"""

import json
import os
import sys
from pathlib import Path


def look_from_worker(path: str, modules: list) -> dict:
    """Runs in the worker: load the driver's probe from its file and use its `look`."""
    import importlib.util  # noqa: PLC0415 - this function travels to the worker by value

    spec = importlib.util.spec_from_file_location("bridge_e2e_driver_probe", path)
    probe = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(probe)
    return {"interpreter": sys.executable, "imports": [probe.look(name) for name in modules], "ray_error": None}


def ask(temp: str, pythonpath: str, python: str, seconds: float, modules: list) -> dict:
    """What a worker of a private Ray finds. Raises: whatever ray raises."""
    import ray  # noqa: PLC0415 - a missing ray is a fact to report, not a crash

    runtime_env = {"env_vars": {"PYTHONPATH": pythonpath}}
    if python:
        runtime_env["py_executable"] = python
    ray.init(
        address="local",
        _temp_dir=temp,
        include_dashboard=False,
        num_cpus=1,
        num_gpus=0,
        object_store_memory=100 * 1024**2,
        log_to_driver=False,
        runtime_env=runtime_env,
    )
    try:
        # By value: the worker cannot import this file, and must not have its folder on sys.path.
        task = ray.remote(num_cpus=1, max_retries=0)(look_from_worker)
        here = Path(__file__).resolve().with_name("driver.py")
        return ray.get(task.remote(str(here), modules), timeout=seconds)
    finally:
        ray.shutdown()


def leave_own_folder() -> None:
    """Python puts the script's folder first on sys.path: nothing may be imported from it."""
    own = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != own]


def main() -> None:
    """Write one JSON document to OUT."""
    out, temp, pythonpath, python, seconds, *modules = sys.argv[1:]
    os.environ.pop("RAY_ADDRESS", None)
    leave_own_folder()
    try:
        result = ask(temp, pythonpath, python, float(seconds), modules)
    except BaseException as error:  # noqa: BLE001 - reported as a fact; the exit code says nothing
        text = f"{type(error).__name__}: {error}"[:2000]
        result = {"interpreter": sys.executable, "imports": [], "ray_error": text}
    Path(out).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
