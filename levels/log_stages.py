"""What a log shows about each start of the program, as types. Reading lines never belongs here."""

from typing import Final

import msgspec

from levels.log_errors import LogError
from levels.log_lines import Line, Tail
from levels.log_settings import Settings
from levels.metrics import Series
from levels.model import Boundary, Record, Suite
from levels.signatures import Built

MAX_TEXT: Final = 500
MAX_NOTES: Final = 12


class Found(Record, frozen=True, kw_only=True):
    """An error with where the run was when it was printed."""

    error: LogError
    stage: Boundary | None
    """The stage that the writer of the line, or else the run, was in."""
    built: Built
    engine_up: bool
    role: str


class Check(Record, frozen=True, kw_only=True):
    """One row of the suite's assertion table."""

    passed: bool
    check: str
    line: int
    raw: str


class Note(Record, frozen=True, kw_only=True):
    """A line worth showing."""

    line: int
    raw: str


class Launch(msgspec.Struct):
    """What the log shows about one start of the program. Read-only once `read_log` has returned it."""

    start: int = 1
    began: bool = False
    """The program itself has started; what its wrapper traces from now on belongs to the next start."""
    settings: Settings = msgspec.field(default_factory=Settings)
    errors: list[Found] = []
    dropped_errors: int = 0
    stage: Boundary | None = None
    built: Built = Built.NO
    engine_up: bool = False
    role_stages: dict[str, Boundary] = {}
    passed: dict[str, int] = {}
    """Marker id to the line where it was last seen."""
    progress_line: int = 0
    """Last line that shows a finished step or the end."""
    alive: dict[tuple[str, str, str], int] = {}
    """Writer to the last line on which it reached a stage."""
    steps: dict[int, int] = {}
    """Finished training step to the line that shows it."""
    step: int | None = None
    first_step: int | None = None
    total: int | None = None
    first_progress: Note | None = None
    progress: Note | None = None
    """The last progress line."""
    started: int | None = None
    """Last step that was begun (NeMo-RL)."""
    series: dict[str, Series] = {}
    adapters: int | None = None
    """Adapter parameters, the smallest count printed."""
    adapter_line: Note | None = None
    lora_lines: int = 0
    imported: tuple[int, int] | None = None
    """Weights read, of how many; the least complete bar."""
    import_line: Note | None = None
    missing: dict[str, Note] = {}
    mismatched: dict[str, Note] = {}
    skips: dict[str, dict[str, Note]] = {}
    """Id of skips.yaml to the names left out, with the first line that says so."""
    resumed_from: int | None = None
    resume_line: Note | None = None
    scratch_line: Note | None = None
    saved: list[Note] = []
    checks: list[Check] = []
    dumped: Note | None = None
    notes: dict[str, list[Note]] = {}
    """Residual noise: signature id to lines."""
    dtensor: Note | None = None

    def mark(self, kind: str, line: Line) -> None:
        """Remember a noise line."""
        kept = self.notes.setdefault(kind, [])
        if len(kept) < MAX_NOTES:
            kept.append(note(line))


class LogFacts(msgspec.Struct):
    """What a whole log shows. Read-only once `read_log` has returned it."""

    suite: Suite
    tail: Tail
    launches: list[Launch]
    imports: dict[str, Note] = {}
    """Path from which `megatron.bridge` came, to the line that shows it."""
    core_imports: dict[str, Note] = {}
    """The same for `megatron.core`."""
    last_line: Note | None = None

    @property
    def last(self) -> Launch:
        """The last start of the program: the one whose end is the wrapper's end."""
        return self.launches[-1]


def note(line: Line) -> Note:
    """`line`, shortened."""
    return Note(line=line.number, raw=line.raw[:MAX_TEXT])
