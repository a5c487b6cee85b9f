"""Log text to facts: stages, progress, settings, errors with their raising frames. Files and policy never belong here."""

from typing import BinaryIO, Final

import msgspec
import re2

from levels.log_errors import ErrorReader, LogError
from levels.log_lines import Line, Tail, read_lines
from levels.log_settings import Settings
from levels.metrics import Series, add_point, number
from levels.model import Boundary, Record, Suite
from levels.signatures import Built, Knowledge, Weight

MAX_LAUNCHES: Final = 16
MAX_ERRORS: Final = 400
MAX_PATHS: Final = 64
MAX_STEPS: Final = 100_000
MAX_TEXT: Final = 500
MAX_NOTES: Final = 12
MAX_BLOCKS: Final = 4

_BAR: Final = re2.compile(r"^Training Progress: +\d+%\|.*?\| *(\d{1,9})/(\d{1,9}) ")
_STEP_LINE: Final = re2.compile(r"^step:(\d{1,9}) - ")
_BANNER: Final = re2.compile(r"=+ Step (\d{1,9})/(\d{1,9}) =+")
_RESULT: Final = re2.compile(r"^\s*• (Loss|Generation KL Error|Avg Reward|Mean Generation Length|Grad Norm): (\S+)")
_ADAPTERS: Final = re2.compile(r"^\s*Adapter parameters: +([\d,]{1,24})")
_IMPORT_BAR: Final = re2.compile(r"^\W*(?:2K)?Loading from .*\((\d{1,9})/(\d{1,9})\) (\w+)")
_MISSING_ONE: Final = re2.compile(r"Can't find (\S+) in hf_keys")
_MISSING_LIST: Final = re2.compile(r"Can't find the following HF parameters in hf_keys: \[(.*)\]")
_MISMATCH: Final = re2.compile(r"Shape mismatch for megatron param (\S+) allowed by whitelist")
_RESUMING: Final = re2.compile(
    r"Resuming from \S+?(?:, setting global step to (\d{1,9}))?$|^Setting global step to (\d{1,9})"
)
_RESUME_PATH: Final = re2.compile(r"(?:Resuming from|Found checkpoint:) .*?global_step_(\d{1,9})")
_LOADED: Final = re2.compile(r"successfully loaded checkpoint from \S+ .*at iteration (\d{1,9})")
_SAVED: Final = re2.compile(
    r"successfully saved checkpoint from iteration +([1-9]\d{0,8})|Checkpoint save completed for"
)
_FILE: Final = re2.compile(r"megatron\.bridge(?:\.__file__)?\s*[=:]?\s*(/\S+/megatron/bridge/__init__\.py)")
_BARE_FILE: Final = re2.compile(r"^(/\S+/megatron/bridge/__init__\.py)$")
_WARNED: Final = re2.compile(r"^(/[^\s:]+/megatron/bridge/[^\s:]+\.py):\d+: \w*Warning: ")
_ROW: Final = re2.compile(r"^[│|]\s*(PASS|FAIL)\s*[│|]\s*(.*?)\s*[│|]")
_DUMPED: Final = re2.compile(r"Merged data written to (\S+metrics\.json)")


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
    last_line: Note | None = None

    @property
    def last(self) -> Launch:
        """The last start of the program: the one whose end is the wrapper's end."""
        return self.launches[-1]


def note(line: Line) -> Note:
    """`line`, shortened."""
    return Note(line=line.number, raw=line.raw[:MAX_TEXT])


def read_log(stream: BinaryIO, knowledge: Knowledge) -> LogFacts:
    """The facts of a log. Never raises on content; memory does not grow with the length of the log."""
    reader = _Reader(knowledge)
    tail = reader.facts.tail
    for line in read_lines(stream, tail):
        reader.line(line)
    reader.finish()
    return reader.facts


class _Reader:
    """Feeds lines to the readers of settings, errors and stages."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self.facts = LogFacts(suite=knowledge.suite, tail=Tail(), launches=[Launch()])
        self.errors = ErrorReader()
        self.roles: dict[str, str] = {}
        self.blocks: list[tuple[str, int, int]] = []
        """Prefix, first line and lines left of messages that go on."""
        self.pending = Settings()

    def line(self, line: Line) -> None:
        """Take one line."""
        if line.text.strip():
            self.facts.last_line = note(line)
        if self.errors.in_sample(line):
            return
        text = line.text
        self._continue_blocks(line)
        markers, states, signatures = self.knowledge.on_line(text)
        if any(marker.starts for marker in markers):
            self._start(line)
        launch = self.facts.last
        if launch.began and text.startswith("+"):
            self.pending.read(line)
        else:
            launch.settings.read(line)
        open_before = line.source in self.errors.writers
        for error in self.errors.read(line, known=bool(markers)):
            self._error(error)
        role = self._role(line)
        for state in states:
            launch.settings.add(state.name, state.value, line)
        if not (line.repeated or open_before or line.source in self.errors.writers):
            for signature in signatures[:1]:
                self._signature(signature.id, signature.weight, line, role)
        for marker in markers:
            launch.passed[marker.id] = line.number
            launch.stage = marker.now
            launch.role_stages[role] = marker.now
            launch.built = max(launch.built, marker.built, key=_BUILT.index)
            launch.engine_up = launch.engine_up or marker.engine_up
            if marker.now not in (Boundary.METRICS, Boundary.SHUTDOWN):
                launch.alive[line.source] = line.number
            if marker.progress:
                launch.progress_line = line.number
        _facts(launch, line, text, self.knowledge.suite)
        self._imports(line, text)

    def finish(self) -> None:
        """The log has ended."""
        for error in self.errors.finish():
            self._error(error)
        for launch in self.facts.launches:
            launch.errors.sort(key=lambda found: found.error.number)

    def _start(self, line: Line) -> None:
        """The program starts; what came before its first start belongs to that start."""
        if self.facts.last.began:
            for error in self.errors.finish():
                self._error(error)
            self.facts.launches.append(Launch(start=line.number, settings=self.pending))
            self.pending = Settings()
            del self.facts.launches[1 : -MAX_LAUNCHES + 1]
        self.facts.last.began = True

    def _role(self, line: Line) -> str:
        """The kind of writer; its first appearance shows a stage."""
        if not line.actor:
            return ""
        launch = self.facts.last
        if line.actor not in self.roles and len(self.roles) < MAX_ERRORS:
            actor = self.knowledge.actor(line.actor)
            self.roles[line.actor] = actor.role if actor else ""
        role = self.roles.get(line.actor, "")
        if role and role not in launch.role_stages:
            actor = self.knowledge.actor(line.actor)
            if actor and actor.now:
                launch.role_stages[role] = launch.stage = actor.now
        if line.actor.startswith("DTensorPolicy") and launch.dtensor is None:
            launch.dtensor = note(line)
        return role

    def _signature(self, name: str, weight: Weight, line: Line, role: str) -> None:
        if weight is Weight.NOISE:
            self.facts.last.mark(name, line)
            return
        text = line.raw[:MAX_TEXT]
        error = LogError(
            number=line.number, text=text, message=(line.text[:MAX_TEXT],), source=line.source, signature=name
        )
        self._keep(error, role)
        if not line.actor:
            second = line.raw.find(": ", line.raw.find(": ") + 1)
            if second > 0 and len(self.blocks) < MAX_BLOCKS:
                self.blocks.append((line.raw[: second + 1], line.number, MAX_NOTES))

    def _continue_blocks(self, line: Line) -> None:
        """Lines of the same program right after a known one belong to its message."""
        going = []
        for prefix, number, left in self.blocks:
            if not left or not line.raw.startswith(prefix):
                continue
            for index, found in enumerate(self.facts.last.errors):
                if found.error.number == number and found.error.signature:
                    longer = (*found.error.message, line.text.strip()[:MAX_TEXT])
                    error = msgspec.structs.replace(found.error, message=longer)
                    self.facts.last.errors[index] = msgspec.structs.replace(found, error=error)
            going.append((prefix, number, left - 1))
        self.blocks = going

    def _error(self, error: LogError) -> None:
        actor = error.source[1]
        self._keep(error, self.roles.get(actor, ""))

    def _keep(self, error: LogError, role: str) -> None:
        launch = self.facts.last
        if len(launch.errors) >= MAX_ERRORS:
            launch.dropped_errors += 1
            return
        own = role in ("policy", "engine") and launch.stage not in _LOOP
        stage = launch.role_stages.get(role) if own else None
        launch.errors.append(
            Found(error=error, stage=stage or launch.stage, built=launch.built, engine_up=launch.engine_up, role=role)
        )
        for frame in error.frames:
            if "/megatron/bridge/" in frame.file:
                self._import_path(frame.file, Note(line=error.number, raw=f'File "{frame.file}"'[:MAX_TEXT]))

    def _imports(self, line: Line, text: str) -> None:
        if "/megatron/bridge/" not in text:
            return
        for pattern in (_FILE, _BARE_FILE, _WARNED):
            if match := pattern.search(text):
                self._import_path(match[1], note(line))
                return

    def _import_path(self, path: str, where: Note) -> None:
        root = path.partition("/megatron/bridge/")[0]
        if len(self.facts.imports) < MAX_PATHS:
            self.facts.imports.setdefault(root, where)


_LOOP: Final = frozenset(
    {
        Boundary.ROLLOUT,
        Boundary.REWARD,
        Boundary.TRAIN_STEP,
        Boundary.CHECKPOINT_SAVE,
        Boundary.METRICS,
        Boundary.SHUTDOWN,
    }
)
"""Once the loop runs, the driver says where the run is; during set-up each writer does."""
_BUILT: Final = [Built.NO, Built.PARTIAL, Built.YES]


def _facts(launch: Launch, line: Line, text: str, suite: Suite) -> None:
    """The facts that one line adds."""
    if suite is Suite.VERL:
        _verl(launch, line, text)
    else:
        _nemo_rl(launch, line, text)
    if "arameters:" in text and (match := _ADAPTERS.match(text)):
        count = int(match[1].replace(",", "") or 0)
        if launch.adapters is None or count < launch.adapters:
            launch.adapters, launch.adapter_line = count, note(line)
    elif "dding lora to:" in text or "dding dora to:" in text or "dding canonical_lora to:" in text:
        launch.lora_lines += 1 + line.repeated
    elif "Loading from " in text and (match := _IMPORT_BAR.match(text)):
        done = (int(match[1]), int(match[2]))
        if launch.imported is None or done[0] / max(done[1], 1) < launch.imported[0] / max(launch.imported[1], 1):
            launch.imported, launch.import_line = done, note(line)
    elif "hf_keys" in text:
        _missing(launch, line, text)
    elif "allowed by whitelist" in text and (match := _MISMATCH.search(text)):
        launch.mismatched.setdefault(match[1], note(line))
    elif len(launch.saved) < MAX_NOTES and "heckpoint" in text and _SAVED.search(text):
        launch.saved.append(note(line))


def _missing(launch: Launch, line: Line, text: str) -> None:
    if match := _MISSING_LIST.search(text):
        names = [part.strip(" '\"") for part in match[1].split(",")]
    elif match := _MISSING_ONE.search(text):
        names = [match[1]]
    else:
        return
    for name in names:
        if len(launch.missing) < MAX_ERRORS:
            launch.missing.setdefault(name, note(line))


def _verl(launch: Launch, line: Line, text: str) -> None:
    if text.startswith("Training Progress:"):
        if match := _BAR.match(text):
            launch.progress = note(line)
            _progress(launch, line, int(match[1]), int(match[2]))
    elif text.startswith("step:"):
        if match := _STEP_LINE.match(text):
            _metrics_line(launch, line, text, int(match[1]))
    elif "Resuming from" in text or "global step to" in text or "Found checkpoint" in text:
        match = _RESUMING.search(text)
        step = (match[1] or match[2]) if match else None
        if step is None and (path := _RESUME_PATH.search(text)):
            step = path[1]
        if step is not None:
            launch.resumed_from, launch.resume_line = int(step), note(line)
    elif "Training from scratch" in text:
        launch.scratch_line = note(line)


def _nemo_rl(launch: Launch, line: Line, text: str) -> None:
    if "= Step " in text and (match := _BANNER.search(text)):
        launch.started, launch.total = int(match[1]), int(match[2])
        launch.progress = note(line)
        if launch.first_step is None:
            launch.first_step = launch.started - 1
    elif text.startswith("📊 Training Results") and launch.started is not None:
        _finished(launch, line, launch.started)
    elif "• " in text and launch.started is not None and (match := _RESULT.match(text)):
        value = number(match[2])
        if value is not None:
            add_point(launch.series, f"printed/{match[1]}", launch.started, value, line.raw[:MAX_TEXT], line.number)
    elif "successfully loaded checkpoint" in text and (match := _LOADED.search(text)):
        if int(match[1]) > 0:
            launch.resumed_from, launch.resume_line = int(match[1]), note(line)
    elif text[:1] in "│|" and (match := _ROW.match(text)):
        if len(launch.checks) < MAX_ERRORS:
            launch.checks.append(
                Check(passed=match[1] == "PASS", check=match[2][:MAX_TEXT], line=line.number, raw=line.raw[:MAX_TEXT])
            )
    elif "Merged data written" in text and _DUMPED.search(text):
        launch.dumped = note(line)


def _progress(launch: Launch, line: Line, step: int, total: int) -> None:
    launch.total = total
    if launch.first_step is None:
        launch.first_step = step
    elif step > launch.first_step:
        _finished(launch, line, step)


def _finished(launch: Launch, line: Line, step: int) -> None:
    if len(launch.steps) < MAX_STEPS:
        launch.steps.setdefault(step, line.number)
    launch.step = step if launch.step is None else max(launch.step, step)


def _metrics_line(launch: Launch, line: Line, text: str, step: int) -> None:
    launch.progress_line = line.number
    _finished(launch, line, step)
    for part in text.split(" - ")[1:]:
        name, _, shown = part.rpartition(":")
        value = number(shown.strip())
        if name and value is not None:
            add_point(launch.series, name, step, value, part[:MAX_TEXT], line.number)
