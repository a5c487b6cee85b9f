"""Tracebacks and exception lines of a log, one parser per writer. Which one is the cause never belongs here."""

import re
from typing import Final

import msgspec
import re2

from levels.log_lines import Line
from levels.model import Record

MAX_FRAMES: Final = 60
MAX_MESSAGE_LINES: Final = 12
MAX_TEXT: Final = 500
MAX_WRITERS: Final = 512
MAX_UNKNOWN: Final = 4
CUT_OFF: Final = "the log ends inside a traceback"
MAX_HEADLESS: Final = 5
"""Lines that belong to an exception whose first line says nothing, whatever they look like."""
MAX_SAMPLE_LINES: Final = 200

_INNER: Final = re2.compile(
    r"^(?:\((?:EngineCore|Worker|APIServer|Scheduler|DP|TP)[\w-]* pid=\d+\) ?)?"
    r"(?:\[[\d-]+ [\d:]+(?: [A-Z]+\d+)*\] )?"
    r"(?:(?:ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d (?:\.{3})?\[[^\]]+\] ?|\[rank\d+\]: ?)?"
)
_GROUP: Final = re2.compile(r"^\s*[|] ?")
_FRAME: Final = re2.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
_EXCEPTION: Final = re2.compile(
    r"^(?P<cls>[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)*(?:\([\w.\[\], ]*\))?)(?::(?:\s(?P<message>.*))?)?$"
)
_LOOKS_LIKE_ONE: Final = re2.compile(
    r"(?:Error|Exception|Exit|Interrupt|Timeout|Group|Invalid|Died|Unavailable|Exceeded|NotFound|Refused|Failure)"
    r"(?:\([\w.\[\], ]*\))?$"
)
_CLASS_NAME: Final = re2.compile(r"\.[A-Z]\w*[a-z]\w*$")
"""A class in a module: behind frames it is an exception, whatever it is called."""
_HEADER: Final = re2.compile(
    r"^(?:\s*[+]? ?(?:Exception Group )?Traceback \(most recent call last\)|Exception raised in creation task"
    r"|Unhandled error \(suppress|Error executing job with overrides|Exception in thread|Process \S+:$)"
)
_IGNORED: Final = re2.compile(r"^Exception ignored (?:in|on)")
_CHAIN: Final = re2.compile(r"^(?:The above exception was the direct cause|During handling of the above exception)")
_CALL: Final = re2.compile(r"\b(?:self\.\w+_wg|self\.policy|policy|policy_generation)\.([a-z]\w*)\(")
_PANEL: Final = re2.compile(r"^╭─.* Sample \d+ \| Reward: ")
_PANEL_END: Final = "╰"
_REMOTE: Final = re2.compile(r"ray::(?:[\w.:-]*?:)?([\w.]+)\(\)")
_STOP: Final = re2.compile(
    r"^(?:Set the environment variable HYDRA|(?:INFO|WARNING|ERROR|DEBUG|CRITICAL)[: ]|\[?\d{4}-\d\d-\d\d"
    r"|real\s|user\s|sys\s|[▶📊🔍🚀⏱✓✅⏳🔄🛑❌┏┃│╭]|\s*✓|=====|\$ |\++ [A-Z'a-z]"
    r"|\[runner\]|\[rank\d+\]|srun: |slurmstepd: "
    r"|Training Progress|\*\*\* |raylet|step:\d|\(\S+ pid=)"
)
_SPACED_CODE: Final = re.compile(r"^(?:    |\s*[\^~]+[\s\^~]*$)")


_EMPTY_MESSAGE: Final = re2.compile(r"^[\w.()]+(?::\s*)?$")
_HEADLINE_ONLY: Final = re2.compile(r"(?:validation errors? for |NCCL error in: |unhandled system error)")
_DECORATION: Final = re2.compile(r"^[\W_]*$")


class LogFrame(Record, frozen=True, kw_only=True):
    """One `File "…", line N, in f`; a remote Ray method stands as a frame with file `ray`."""

    file: str
    line: int
    function: str


class LogError(Record, frozen=True, kw_only=True):
    """An exception, or a line that a signature knows."""

    number: int
    text: str
    """The line that says most, with its prefixes, at most 500 characters."""
    message: tuple[str, ...]
    """The exception line and what belongs to it."""
    exception: str = ""
    """Class name; empty for a line without exception."""
    frames: tuple[LogFrame, ...] = ()
    """Outermost first."""
    outer: tuple[LogFrame, ...] = ()
    """Frames of the wrappers around it."""
    source: tuple[str, str, str] = ("", "", "")
    chained: bool = False
    """Raised from, or while handling, the error before it."""
    ignored: bool = False
    """Python itself says that the exception was ignored."""
    bare: bool = False
    """An exception line without traceback."""
    signature: str = ""
    """Id of the signature that found the line; empty for exceptions (they are matched later)."""

    @property
    def said(self) -> str:
        """The exception's own words, for comparison between processes."""
        return "\n".join(self.message)


class _Open(msgspec.Struct):
    """A traceback that is being read."""

    frames: list[LogFrame] = []
    outer: list[LogFrame] = []
    header: bool = False
    ignored: bool = False
    chained: bool = False
    unknown: int = 0
    calls: list[LogFrame] = []
    """Remote methods that the shown code calls: they tell what a driver waited for."""
    exception: str = ""
    first: Line | None = None
    last: Line | None = None
    """The last frame line."""
    raws: list[str] = []
    message: list[str] = []


class ErrorReader(msgspec.Struct):
    """Feeds on lines; hands out finished errors."""

    writers: dict[tuple[str, str, str], _Open] = {}
    samples: dict[tuple[str, str, str], int] = {}

    def in_sample(self, line: Line) -> bool:
        """Whether `line` is text that a model wrote: verl's `[prompt]` … `[score]` block, NeMo-RL's sample panel."""
        if line.text.startswith("[prompt]") or (line.text.startswith("╭") and _PANEL.match(line.text)):
            if len(self.samples) < MAX_WRITERS:
                self.samples[line.source] = MAX_SAMPLE_LINES
            return True
        left = self.samples.get(line.source)
        if left is None:
            return False
        if left <= 1 or line.text.startswith(("[score]", _PANEL_END)):
            del self.samples[line.source]
        else:
            self.samples[line.source] = left - 1
        return True

    def read(self, line: Line, *, known: bool) -> list[LogError]:
        """The errors that `line` finishes. `known` says that the line is a stage marker of the suite."""
        state = self.writers.get(line.source)
        if state is None and not _worth_a_look(line.text):
            return []
        body = _body(line.text)
        if state is None:
            state = _Open()
            if len(self.writers) >= MAX_WRITERS:
                self.writers.pop(next(iter(self.writers)))
            self.writers[line.source] = state
        done: list[LogError] = []
        if not self._step(state, line, body, done, known=known):
            self.writers.pop(line.source, None)
        return done

    def finish(self) -> list[LogError]:
        """What is still open when the log ends."""
        done: list[LogError] = []
        for state in self.writers.values():
            if state.frames and not state.exception and state.last is not None:
                state.exception, state.first = CUT_OFF, state.last
                state.message, state.raws = [state.last.text.strip()], [state.last.raw]
            _close(state, done)
        self.writers.clear()
        return done

    def _step(self, state: _Open, line: Line, body: str, done: list[LogError], *, known: bool) -> bool:
        """Advance `state`; False when nothing is open any more."""
        if frame := _FRAME.match(body):
            _close(state, done)
            state.header = True
            state.unknown = 0
            state.last = line
            state.frames.append(
                LogFrame(file=frame["file"], line=int(frame["line"][:9]), function=frame["function"] or "")
            )
            if len(state.frames) > MAX_FRAMES:
                del state.frames[MAX_FRAMES // 3]
            return True
        if _IGNORED.match(body):
            _close(state, done)
            _reset(state)
            state.header = state.ignored = True
            return True
        if _HEADER.match(body):
            _close(state, done)
            state.header = True
            state.frames = []
            return True
        if _CHAIN.match(body):
            _close(state, done)
            state.header = state.chained = True
            state.frames = []
            return True
        if state.exception:
            return self._continue(state, line, body, done, known=known)
        return self._expect_exception(state, line, body, done, known=known)

    @staticmethod
    def _expect_exception(state: _Open, line: Line, body: str, done: list[LogError], *, known: bool) -> bool:
        if state.frames and _SPACED_CODE.match(body):
            if (call := _CALL.search(body)) and len(state.calls) < MAX_FRAMES:
                state.calls.append(LogFrame(file="ray", line=0, function=call[1]))
            return True
        match = _EXCEPTION.match(body)
        if match and (
            _LOOKS_LIKE_ONE.search(match["cls"])
            or (state.frames and ("." not in body.split(":", maxsplit=1)[0] or _CLASS_NAME.search(match["cls"])))
        ):
            if not state.header and line.repeated:
                return False
            state.exception = match["cls"]
            state.first = line
            state.raws = [line.raw]
            state.message = [body]
            return True
        if not body.strip() or _SPACED_CODE.match(body):
            return state.header
        state.unknown += 1
        if known or state.unknown > MAX_UNKNOWN:
            _close(state, done)
            return False
        return state.header

    @staticmethod
    def _continue(state: _Open, line: Line, body: str, done: list[LogError], *, known: bool) -> bool:
        stops = _STOP.match(body) and not (_EMPTY_MESSAGE.match(state.message[0]) and len(state.message) < MAX_HEADLESS)
        if known or stops or len(state.message) >= MAX_MESSAGE_LINES:
            _close(state, done)
            return False
        again = _EXCEPTION.match(body)
        if again and _LOOKS_LIKE_ONE.search(again["cls"]) and ("." in again["cls"] or again["cls"][0].isupper()):
            _close(state, done)
            state.header = True
            return ErrorReader._expect_exception(state, line, body, done, known=known)
        if body.strip() and not _SPACED_CODE.match(body):
            state.message.append(body.strip())
            state.raws.append(line.raw)
        return True


def _worth_a_look(text: str) -> bool:
    return (
        'File "' in text
        or "Traceback (" in text
        or text.startswith(("Exception ", "Unhandled error", "Error executing", "Process "))
        or bool(_bare_exception(text))
    )


def _bare_exception(text: str) -> bool:
    head = text[:120].split(":", 1)[0]
    return head.endswith(("Error", "Exception", ")")) and bool(_EXCEPTION.match(text[:400]))


def _body(text: str) -> str:
    """`text` without the prefixes of engines, loggers and exception groups; indentation stays."""
    match = _INNER.match(text)
    rest = text[match.end() :] if match else text
    group = _GROUP.match(rest)
    return rest[group.end() :] if group else rest


def _reset(state: _Open) -> None:
    state.frames, state.outer, state.calls, state.exception, state.first = [], [], [], "", None
    state.header = state.ignored = state.chained = False
    state.unknown = 0


def _close(state: _Open, done: list[LogError]) -> None:
    """Hand out the exception of `state`, if it has one, and keep its frames as the outer ones of what follows."""
    if not state.exception or state.first is None:
        return
    done.append(
        LogError(
            number=state.first.number,
            text=best_line(state.message, state.raws)[:MAX_TEXT],
            message=tuple(part[:MAX_TEXT] for part in state.message),
            exception=state.exception,
            frames=tuple(state.frames),
            outer=tuple(state.outer + state.calls),
            source=state.first.source,
            chained=state.chained,
            ignored=state.ignored,
            bare=not state.header,
        )
    )
    state.outer = (state.outer + state.calls + state.frames)[-MAX_FRAMES:]
    state.calls = []
    if remote := _REMOTE.search(state.message[0]):
        state.outer.append(LogFrame(file="ray", line=0, function=remote[1]))
    state.frames, state.exception, state.first, state.message, state.raws = [], "", None, [], []
    state.chained = False
    state.unknown = 0


def best_line(message: list[str], raws: list[str]) -> str:
    """The line of a multi-line message that says most; the exception line, unless that one is only a headline."""
    if not _EMPTY_MESSAGE.match(message[0]) and not _HEADLINE_ONLY.search(message[0]):
        return raws[0]
    if "Last error:" in message[:-1]:
        return raws[message.index("Last error:") + 1]
    for index, part in enumerate(message[1:], start=1):
        if not _DECORATION.match(part) and (_EMPTY_MESSAGE.match(message[0]) or "validation" in message[0]):
            return raws[index]
    return raws[0]
