"""Settings that a log shows: shell trace, Hydra overrides, configuration dumps. No opinion on the values."""

import re
from typing import Final

import msgspec

from levels.log_lines import Line
from levels.model import Record

MAX_DUMP_CHARS: Final = 400_000
MAX_VALUES: Final = 4
MAX_SETTINGS: Final = 20_000
MAX_VALUE_CHARS: Final = 300

_ASSIGNMENT: Final = re.compile(r"^\++ (?:export )?([A-Za-z_][A-Za-z0-9_]*)=(.*)$")
_OVERRIDE: Final = re.compile(r"^[+~]{0,2}([A-Za-z_][\w.@/-]*)=(.*)$")
_QUOTED_OVERRIDE: Final = re.compile(r"'[+~]{0,2}([A-Za-z_][\w.@/-]*)=([^']*)'")
_TOKEN: Final = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[{}()\[\],:=]|[^\s{}()\[\],:='\"]+")
_OPEN: Final = frozenset("{([")
_CLOSE: Final = frozenset("})]")


class Setting(Record, frozen=True, kw_only=True):
    """One setting as the log shows it."""

    value: str
    line: int
    raw: str
    """The line of the log, shortened."""


class Settings(msgspec.Struct):
    """Name to the first few distinct values, in the order seen."""

    values: dict[str, tuple[Setting, ...]] = {}
    dumped: bool = False
    """A configuration dump was read to its end."""
    _dump: "_Dump | None" = None

    def add(self, name: str, value: str, line: Line) -> None:
        """Keep `name=value`, unless the same value is known or there are too many."""
        known = self.values.get(name, ())
        if any(item.value == value for item in known):
            return
        if len(known) < MAX_VALUES and (known or len(self.values) < MAX_SETTINGS):
            raw = line.raw if len(line.raw) <= MAX_VALUE_CHARS else f"{name}={value}"[:MAX_VALUE_CHARS]
            self.values[name] = (*known, Setting(value=value[:MAX_VALUE_CHARS], line=line.number, raw=raw))

    def read(self, line: Line) -> None:
        """Take what `line` says about settings."""
        if self._dump is not None and line.source == self._dump.source:
            self._continue_dump(line)
        elif line.text.startswith("+"):
            self._read_trace(line)
        elif line.text.startswith("Overrides: ["):
            # A wrapper's own come first and a caller's replace them: what is said last takes effect.
            for name, value in dict(_QUOTED_OVERRIDE.findall(line.text)).items():
                self.add(name, value, line)
        elif not self.dumped and line.text.startswith(("{'", "MasterConfig(")):
            self._dump = _Dump(source=line.source)
            self._continue_dump(line)

    def _read_trace(self, line: Line) -> None:
        if match := _ASSIGNMENT.match(line.text):
            self.add(match[1], match[2].strip("'\""), line)
        elif " main_ppo " in line.text or ".main_ppo " in line.text or "run_grpo" in line.text:
            for token in line.text.split():
                if match := _OVERRIDE.match(token):
                    self.add(match[1], match[2].strip("'\""), line)

    def _continue_dump(self, line: Line) -> None:
        dump = self._dump
        if dump is None:
            return
        finished = dump.feed(line.text)
        for name, value in dump.take():
            self.add(name, value, line)
        if finished:
            self.dumped = True
            self._dump = None


class _Dump(msgspec.Struct):
    """A single-pass reader of `{'a': {'b': 1}}` and `MasterConfig(a=Cls(b=1))`, line by line."""

    source: tuple[str, str, str]
    path: list[str] = []
    key: str | None = None
    last: str | None = None
    seen: int = 0
    found: list[tuple[str, str]] = []

    def feed(self, text: str) -> bool:
        """Read one line; True when the outermost bracket is closed or the dump is too long."""
        self.seen += len(text) + 1
        for token in _TOKEN.findall(text):
            self._token(token)
            if not self.path and token in _CLOSE:
                return True
        return self.seen > MAX_DUMP_CHARS

    def take(self) -> list[tuple[str, str]]:
        """What was found since the last call."""
        found, self.found = self.found, []
        return found

    def _token(self, token: str) -> None:
        if token in _OPEN:
            self.path.append(self.key or "")
            self.key = self.last = None
        elif token in _CLOSE:
            self._emit()
            if self.path:
                self.path.pop()
        elif token == ",":
            self._emit()
        elif token in (":", "=") and self.key is None:
            self.key, self.last = self.last, None
        elif len(token) > 1 and token[0] in "'\"":
            self.last = token[1:-1]
        elif token not in (":", "="):
            self.last = token

    def _emit(self) -> None:
        if self.key is not None and self.last is not None:
            self.found.append((".".join([part for part in self.path if part] + [self.key]), self.last))
        self.key = self.last = None
