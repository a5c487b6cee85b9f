"""The Evidence: facts about one leg and where each was read. Verdict words never belong here."""

from typing import Annotated, Final, Literal

import msgspec

from levels.model import Boundary, Commit, Id, Process, Record

MAX_LOG_BYTES: Final = 4 * 1024**3
"""A log beyond this is cut by the runner, and the cut is recorded."""
MAX_METRICS_BYTES: Final = 32 * 1024**2
"""The runner takes no more of a metrics file than the judge reads."""
MAX_FAILURES: Final = 20
"""Failing Bridge tests that are recorded."""
MAX_TEXT: Final = 4_000

Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]


class FileRef(Record, frozen=True, kw_only=True):
    """A file of the evidence bundle. `path` is relative to the bundle, never absolute, never with `..`."""

    path: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*){0,3}$(?!\n)")]
    bytes: int
    sha256: str
    cut: bool = False
    """True when bytes were left out because the file was too large."""


class TreeState(Record, frozen=True, kw_only=True):
    """One checkout as it was when the run started."""

    name: Literal["bridge", "mcore", "suite"]
    path: Text
    commit: Commit | None
    short: str | None
    expected: Commit | None
    """The planned commit; null where a person runs a tree as it is."""
    dirty: tuple[Text, ...] = ()
    """`git status --short` lines, at most 200."""
    dirty_count: int = 0
    applied: tuple[Id, ...] = ()
    """Workarounds applied to this tree; their files are not listed as dirty."""
    diff: FileRef | None = None


class Import(Record, frozen=True, kw_only=True):
    """What one probe process found for one module."""

    process: Process
    module: str
    file: Text | None
    """`module.__file__`, resolved; null when the import failed."""
    error: Text | None = None
    """First line: exception class and message; then the end of the traceback."""
    raised_in: Text | None = None
    """File of the frame that raised, resolved; null when nothing was raised."""
    interpreter: Text | None = None
    version: Text | None = None


class Roots(Record, frozen=True, kw_only=True):
    """Where the imports must lie."""

    bridge_src: Text
    mcore: Text


class Preparation(Record, frozen=True, kw_only=True):
    """A data set or model that the level needs."""

    id: Id
    path: Text
    found: bool
    made: bool = False
    detail: Text = ""


class CheckFailure(Record, frozen=True, kw_only=True):
    """One failing or erroneous Bridge test, as pytest printed it."""

    test: Text
    file: Text | None
    """Where the last frame lies: absolute, or relative to the Bridge root; null when pytest printed none."""
    error: Text


class BaseRun(Record, frozen=True, kw_only=True):
    """The same tests on the change's merge base, run because some failed on its head."""

    commit: Commit
    failed: tuple[Text, ...] = ()
    """Names of the tests that fail there too, at most `MAX_FAILURES`."""
    problem: Text | None = None
    """Why nothing can be said about them."""


class ChecksRun(Record, frozen=True, kw_only=True):
    """One call of Bridge tests."""

    command: tuple[Text, ...]
    exit_code: int | None
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    log: FileRef | None = None
    skipped_because: Text | None = None
    """Set when they were not started at all."""
    failures: tuple[CheckFailure, ...] = ()
    """At most `MAX_FAILURES` of them."""
    base: BaseRun | None = None


class GroupRun(Record, frozen=True, kw_only=True):
    """One group of Bridge tests that the change calls for (`CheckGroup`)."""

    id: Id
    run: ChecksRun


class PhaseRun(Record, frozen=True, kw_only=True):
    """One call of the wrapper."""

    id: Id
    command: tuple[Text, ...]
    env: dict[str, Text]
    """What the leg itself set; the allow-listed rest of the environment is in `HostFacts.env`."""
    started_at: str
    seconds: float
    exit_code: int | None
    """null when it was killed by a signal or never started."""
    signal: int | None = None
    timed_out: bool = False
    leftovers: int = 0
    """Processes of the leg that had to be ended after the wrapper had exited."""
    log: FileRef | None = None
    metrics: FileRef | None = None


class Stop(Record, frozen=True, kw_only=True):
    """The runner itself could not go on: an `EnvironmentBlocked` of a step, or our own crash."""

    step: Id
    boundary: Boundary
    doing: Text
    found: Text
    expected: Text
    next_step: Text
    ours: bool = False
    """True when it was a bug of the runner, with its traceback in `found`."""


class Gpu(Record, frozen=True, kw_only=True):
    """One GPU as the driver reports it."""

    index: int
    name: str
    memory_mib: int
    used_mib: int


class HostFacts(Record, frozen=True, kw_only=True):
    """The machine, as far as the verdict or its reader needs it. The host's name is hashed."""

    host: str
    cpus: int
    memory_gib: float
    python: str
    driver: str | None
    gpus: tuple[Gpu, ...] = ()
    packages: dict[str, str] = {}
    """Versions in the suite's interpreter: torch, ray, vllm, transformer_engine, modelopt, ..."""
    env: dict[str, Text] = {}


class Evidence(Record, frozen=True, kw_only=True):
    """All that is known about one leg."""

    schema: Literal["bridge-e2e/evidence/1"] = "bridge-e2e/evidence/1"
    leg: Id
    plan: str
    """`Plan.id`, or `local` for a person's run."""
    attempt: int = 1
    complete: bool = False
    """False until the last step has closed the document; a killed runner leaves it false."""
    steps: tuple[Id, ...] = ()
    """Runner steps that were finished."""
    trees: tuple[TreeState, ...] = ()
    roots: Roots | None = None
    imports: tuple[Import, ...] = ()
    preparations: tuple[Preparation, ...] = ()
    bridge_checks: ChecksRun | None = None
    suite_checks: ChecksRun | None = None
    """The suite's own unit tests; null where the level names none."""
    check_groups: tuple[GroupRun, ...] = ()
    phases: tuple[PhaseRun, ...] = ()
    host: HostFacts | None = None
    launcher: str = "host"
    settings: tuple[Text, ...] = ()
    """Declared changes that the site made (`uv run` replaced by the interpreter); each is a limitation."""
    stop: Stop | None = None
