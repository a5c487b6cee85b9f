"""Log text to facts: stages, progress, settings, errors with their raising frames. No files, no policy."""

from typing import BinaryIO, Final

import msgspec
import re2

from levels.log_errors import ErrorReader, LogError
from levels.log_facts import add_facts
from levels.log_lines import Line, Tail, read_lines
from levels.log_settings import Settings
from levels.log_stages import MAX_NOTES, MAX_TEXT, Found, Launch, LogFacts, Note, note
from levels.model import Boundary
from levels.signatures import Built, Knowledge, Marker, Weight

MAX_LAUNCHES: Final = 16
MAX_ERRORS: Final = 400
MAX_PATHS: Final = 64
MAX_BLOCKS: Final = 4
MAX_WRITERS: Final = 4_096

_FILE: Final = re2.compile(r"megatron\.bridge(?:\.__file__)?\s*[=:]?\s*(/\S+/megatron/bridge/__init__\.py)")
_BARE_FILE: Final = re2.compile(r"^(/\S+/megatron/bridge/__init__\.py)$")
_CORE: Final = "/megatron/core/"
_CORE_WARNED: Final = re2.compile(r"^(/[^\s:]+/megatron/core/[^\s:]+\.py):\d+: \w*Warning: ")
_WARNED: Final = re2.compile(r"^(/[^\s:]+/megatron/bridge/[^\s:]+\.py):\d+: \w*Warning: ")
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
        self._stages(line, markers, role)
        add_facts(launch, line, text, self.knowledge.suite)
        self._imports(line, text)

    def _stages(self, line: Line, markers: list[Marker], role: str) -> None:
        launch = self.facts.last
        for marker in markers:
            launch.passed[marker.id] = line.number
            launch.stage = marker.now
            launch.role_stages[role] = marker.now
            launch.built = max(launch.built, marker.built, key=_BUILT.index)
            launch.engine_up = launch.engine_up or marker.engine_up
            room = len(launch.alive) < MAX_WRITERS or line.source in launch.alive
            if room and marker.now not in (Boundary.METRICS, Boundary.SHUTDOWN):
                launch.alive[line.source] = line.number
            if marker.progress:
                launch.progress_line = line.number

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
        for prefix, start, left in self.blocks:
            if not left or not line.raw.startswith(prefix):
                continue
            for index, found in enumerate(self.facts.last.errors):
                if found.error.number == start and found.error.signature:
                    longer = (*found.error.message, line.text.strip()[:MAX_TEXT])
                    error = msgspec.structs.replace(found.error, message=longer)
                    self.facts.last.errors[index] = msgspec.structs.replace(found, error=error)
            going.append((prefix, start, left - 1))
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
            elif _CORE in frame.file:
                self._core_path(frame.file, Note(line=error.number, raw=f'File "{frame.file}"'[:MAX_TEXT]))

    def _imports(self, line: Line, text: str) -> None:
        if _CORE in text and (match := _CORE_WARNED.search(text)):
            self._core_path(match[1], note(line))
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

    def _core_path(self, path: str, where: Note) -> None:
        if len(self.facts.core_imports) < MAX_PATHS:
            self.facts.core_imports.setdefault(path.partition(_CORE)[0], where)
