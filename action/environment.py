"""The child environment: an allow-list, our own folders, the phase's settings. Never a copy of the parent's."""

import os
import re
import shlex
import shutil
import stat
import sys
from pathlib import Path
from typing import Final

from action.context import Job, Trees
from action.leftovers import TOKEN_VARIABLE
from levels.catalogue import fill
from levels.errors import EnvironmentBlocked
from levels.model import Boundary, Phase

PASSED: Final = (
    "LANG",
    "LC_ALL",
    "TZ",
    "CUDA_HOME",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "LD_LIBRARY_PATH",
    "SSL_CERT_FILE",
    # The Actions runner ends whatever still carries it when the job is over: a second net under our own.
    "RUNNER_TRACKING_ID",
)
_SAFE_PATH: Final = re.compile(r"[A-Za-z0-9_./+@%~-]+")
_RUNTIME_ENV: Final = "runtime_env.env_vars.PYTHONPATH="

_UV_DIRECT: Final = """#!/bin/sh
# Site setting uv=direct: `uv run X` becomes X with the suite's interpreter.
if [ "$1" != run ]; then echo "bridge-e2e: uv=direct replaces only 'uv run', found: uv $*" >&2; exit 2; fi
shift
while [ $# -gt 0 ]; do
  case "$1" in
    --extra|--group|--with|--python|-p|--package|--directory|--project) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
case "$1" in
  *.py) exec @PYTHON@ "$@" ;;
  python|python3) shift; exec @PYTHON@ "$@" ;;
  coverage|pytest) module=$1; shift; exec @PYTHON@ -m "$module" "$@" ;;
  *) exec "$@" ;;
esac
"""


def prepare_folders(job: Job) -> None:
    """The leg's own home, caches, scratch, TMPDIR and program links exist.

    Raises:
        EnvironmentBlocked: when the TMPDIR is somebody else's.

    """
    for name in ("home", "hf", "scratch", "bin"):
        (job.work / name).mkdir(parents=True, exist_ok=True)
    job.tmp.mkdir(mode=0o700, parents=True, exist_ok=True)
    info = job.tmp.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid():
        raise EnvironmentBlocked(
            Boundary.ENVIRONMENT,
            doing=f"making the leg's TMPDIR {job.tmp}",
            found="a link, or a folder of another user",
            expected="a folder of our own",
            next_step="remove it, or set `tmp` in the site file",
        )
    _write_shims(job)


def _write_shims(job: Job) -> None:
    python = job.site.python
    scripts: dict[str, str] = {}
    if python is not None:
        line = f'#!/bin/sh\nexec {shlex.quote(python)} "$@"\n'
        scripts |= {"python": line, "python3": line}
    if job.site.uv == "direct":
        scripts["uv"] = _UV_DIRECT.replace("@PYTHON@", shlex.quote(python or "python3"))
    for name, text in scripts.items():
        path = job.work / "bin" / name
        path.write_text(text)
        path.chmod(0o755)


def settings_of(job: Job) -> tuple[str, ...]:
    """Changes that the site made to how the suite is started; each is printed as a limitation."""
    python = job.site.python or "python3"
    stated = []
    if job.site.uv == "direct":
        stated.append(f"`uv run` was replaced by {python} (site setting uv=direct)")
    if job.site.pythonpath:
        stated.append("the site appends to PYTHONPATH: " + os.pathsep.join(job.site.pythonpath))
    if job.site.env:
        stated.append("the site sets " + ", ".join(sorted(job.site.env)))
    return tuple(stated)


def base_env(job: Job) -> dict[str, str]:
    """The environment that every program of the leg gets, before the phase's own settings."""
    work = job.work
    return {
        **{name: os.environ[name] for name in PASSED if name in os.environ},
        **job.site.env,
        "PATH": os.pathsep.join(_path(job)),
        "HOME": str(work / "home"),
        "TMPDIR": str(job.tmp),
        "HF_HOME": str(work / "hf"),
        "XDG_CACHE_HOME": str(work / "home" / ".cache"),
        "PYTHONUNBUFFERED": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        # NeMo-RL calls ray.init(address="auto"), which joins any cluster that a process scan finds on the machine;
        # "local" makes it start its own. Source: ray-project/ray: python/ray/_private/services.py@ray-2.55.1.
        "RAY_ADDRESS": "local",
        "RAY_TMPDIR": str(job.tmp),
        # Without it setproctitle overwrites the place where the kernel shows the token of a process.
        "SPT_NOENV": "1",
        TOKEN_VARIABLE: job.token,
    }


def _path(job: Job) -> list[str]:
    own = str(Path(sys.prefix) / "bin") if sys.prefix != sys.base_prefix else None
    inherited = [part for part in os.environ.get("PATH", os.defpath).split(os.pathsep) if part and part != own]
    interpreter = [str(Path(job.site.python).parent)] if job.site.python else []
    return [str(job.work / "bin"), *job.site.path, *interpreter, *inherited]


def pythonpath(job: Job, trees: Trees) -> str:
    """`Bridge/src : Megatron-LM : suite [: site additions]`.

    Raises:
        EnvironmentBlocked: for a path that the wrappers' unquoted `$@` or Hydra would break.

    """
    parts = (str(trees.bridge_src), str(trees.mcore), str(trees.suite), *job.site.pythonpath)
    for part in parts:
        if not _SAFE_PATH.fullmatch(part):
            raise EnvironmentBlocked(
                Boundary.CONFIG,
                doing="building PYTHONPATH",
                found=repr(part),
                expected="a path of letters, digits and ./_+@%~- only: wrappers pass it unquoted",
                next_step="use other folders for the trees and --out",
            )
    return os.pathsep.join(parts)


def placeholders(job: Job, trees: Trees) -> dict[str, str]:
    """Values of `levels.model.PLACEHOLDERS` on this machine."""
    return {
        "model_path": str(job.model or model_path(job)),
        "model_id": job.leg.model.name,
        "reward_model_path": str(job.reward_model or job.site.reward_model or "/nonexistent/reward-model"),
        "data": job.site.data or str(job.work / "data"),
        "scratch": str(job.work / "scratch"),
        "pythonpath": pythonpath(job, trees),
        "suite_root": str(trees.suite),
        "bridge_root": str(trees.bridge),
    }


def model_path(job: Job) -> Path:
    """Where the leg's model lies in a model store; where it should lie, when none has it."""
    name, revision = job.leg.model.name, job.leg.model.revision
    layouts = [Path(name)]
    if revision is not None:
        layouts.insert(0, Path(f"models--{name.replace('/', '--')}") / "snapshots" / revision)
    candidates = [Path(root) / layout for root in job.site.model_stores for layout in layouts]
    return next((path for path in candidates if path.is_dir()), (candidates or [job.work / "models" / name])[0])


def phase_env(job: Job, trees: Trees, phase: Phase) -> dict[str, str]:
    """The whole environment of one phase."""
    values = placeholders(job, trees)
    return {**base_env(job), **own_env(phase, values), "PYTHONPATH": values["pythonpath"]}


def own_env(phase: Phase, values: dict[str, str]) -> dict[str, str]:
    """What the phase itself sets, placeholders filled."""
    return {name: fill(text, values) for name, text in phase.env.items()}


def phase_argv(phase: Phase, values: dict[str, str]) -> tuple[str, ...]:
    """Command, overrides and arguments of one phase, placeholders filled."""
    return tuple(fill(part, values) for part in (*phase.command, *phase.overrides, *phase.arguments))


def probe_pythonpaths(job: Job, trees: Trees, phase: Phase) -> tuple[str, str]:
    """PYTHONPATH of the driver and of its Ray workers, as the phase's wrapper will leave them.

    The driver's starts with what the wrapper itself puts in front. The workers get what an override hands to Ray's
    runtime environment; without one they get the driver's.
    """
    values = placeholders(job, trees)
    prefix = [fill(part, values) for part in phase.pythonpath_prefix]
    driver = os.pathsep.join([*prefix, values["pythonpath"]])
    handed = (fill(text, values).partition(_RUNTIME_ENV)[2] for text in phase.overrides if _RUNTIME_ENV in text)
    return driver, next(handed, driver)


def interpreter(job: Job) -> tuple[str, ...]:
    """How the suite's Python is called: through uv where the level's command goes through a real uv."""
    through_uv = any(phase.command[:2] == ("uv", "run") for phase in job.leg.phases)
    if through_uv and job.site.uv == "real":
        return ("uv", "run", "python")
    return (job.site.python or "python3",)


def find_program(name: str, env: dict[str, str]) -> str:
    """The path of program `name` on the leg's PATH.

    Raises:
        EnvironmentBlocked: when it is not there.

    """
    found = shutil.which(name, path=env["PATH"])
    if found is not None:
        return found
    hint = "; or set `uv: direct` in the site file to use the suite's interpreter" if name == "uv" else ""
    raise EnvironmentBlocked(
        Boundary.ENVIRONMENT,
        doing=f"looking for the program {name}",
        found=f"{name}: command not found",
        expected="it on the leg's PATH",
        next_step=f"install it, or name its folder under `path` in the site file{hint}",
    )
