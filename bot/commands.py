"""A comment's body as Commands or CommandErrors. Permissions and API calls never belong here.

`GRAMMAR` is the whole language: the parser and the help text both come from it.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, assert_never

from bot.prose import visible_lines
from levels.model import COMMIT_PATTERN, Record, Suite

NAME: Final = "/run-e2e"
MAX_COMMANDS: Final = 10
"""Per comment; the rest is answered with one error."""
_SHOWN: Final = 200
"""Characters of a line that an error repeats."""
_CLOSE: Final = 0.75
_WORD: Final = re.compile(r'[A-Za-z-]+=["“][^"“”]*["”]|[^\s"“”]+|["“”]')
_LEVELS: Final = re.compile(r"all|\d(-\d)?(,\d(-\d)?){0,9}", re.ASCII)
_LEVEL: Final = re.compile(r"\d", re.ASCII)
_MODEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,95}", re.ASCII)
_SUITE: Final = re.compile("|".join(Suite))
_REASON: Final = re.compile(r"\S.{9,500}")
_REASON_WORDS: Final = 3
_REASON_LETTERS: Final = 6
_SHA: Final = re.compile(COMMIT_PATTERN)


@dataclass(frozen=True, kw_only=True)
class Option:
    """One `key=value`, or a bare word when `pattern` is null."""

    name: str
    shows: str
    pattern: re.Pattern[str] | None
    expects: str
    says: str


@dataclass(frozen=True, kw_only=True)
class Form:
    """One command with what may and must follow it. `word` is empty for the plain `/run-e2e`."""

    word: str
    says: str
    options: tuple[Option, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """The command as the help shows it."""
        shown = (o.shows if o.name in self.needs else f"[{o.shows}]" for o in self.options)
        return " ".join(part for part in (NAME, self.word, *shown) if part)


_SUITE_OPTION: Final = Option(
    name="suite", shows="suite=verl|nemo-rl", pattern=_SUITE, expects="verl or nemo-rl", says="only this suite"
)
_LEVEL_OPTION: Final = Option(
    name="level",
    shows="level=2|0,2|0-2|all",
    pattern=_LEVELS,
    expects="a number, a list (0,2), a range (0-2) or all",
    says="these levels, whatever the changed files say",
)
_MODEL_OPTION: Final = Option(
    name="model", shows="model=NAME", pattern=_MODEL, expects="a name of the allow-list", says="another model"
)
_SHA_OPTION: Final = Option(
    name="sha",
    shows="sha=40-HEX",
    pattern=_SHA,
    expects="all 40 hex digits of the commit; an abbreviation can be made to collide",
    says="the commit that you have read; must be the pull request's head",
)
_DRY_RUN: Final = Option(
    name="dry-run", shows="dry-run", pattern=None, expects="", says="say what would run, run nothing"
)
_FORCE: Final = Option(
    name="force",
    shows="force",
    pattern=None,
    expects="",
    says="run although nothing is needed, or although it is proven already",
)
_FAILED: Final = Option(name="failed", shows="failed", pattern=None, expects="", says="only what did not pass")
_REASON_OPTION: Final = Option(
    name="reason",
    shows='reason="…"',
    pattern=_REASON,
    expects="10 to 500 characters in quotes, three words or more",
    says="why it may be merged",
)

_ONE_SUITE: Final = Option(
    name="suite", shows="suite=verl|nemo-rl", pattern=_SUITE, expects="verl or nemo-rl", says="its suite"
)
_ONE_LEVEL: Final = Option(
    name="level", shows="level=2", pattern=_LEVEL, expects="one number: a waiver is for one level", says="its number"
)

GRAMMAR: Final = (
    Form(
        word="",
        says="run what the changed files need, or the levels named",
        options=(_SUITE_OPTION, _LEVEL_OPTION, _MODEL_OPTION, _SHA_OPTION, _DRY_RUN, _FORCE),
    ),
    Form(word="explain", says="say which levels the changed files need, and why"),
    Form(word="rerun", says="run again on the same commit", options=(_FAILED,)),
    Form(word="cancel", says="end what runs on this commit"),
    Form(
        word="waive",
        says="accept one level that did not pass",
        options=(_ONE_SUITE, _ONE_LEVEL, _REASON_OPTION),
        needs=("suite", "level", "reason"),
    ),
    Form(word="help", says="show this"),
)
_FORMS: Final = {form.word: form for form in GRAMMAR}


class RunE2E(Record, frozen=True, kw_only=True):
    """`/run-e2e`. Empty `levels` means: what the rules select."""

    suite: Suite | None = None
    levels: tuple[int, ...] = ()
    all_levels: bool = False
    model: str | None = None
    sha: str | None = None
    dry_run: bool = False
    force: bool = False

    @property
    def text(self) -> str:
        """The command in its normalized form; parses to the same command."""
        level = "all" if self.all_levels else ",".join(map(str, self.levels))
        pairs = {"suite": self.suite, "level": level, "model": self.model, "sha": self.sha}
        words = [f"{key}={value}" for key, value in pairs.items() if value]
        flags = [word for word, on in (("dry-run", self.dry_run), ("force", self.force)) if on]
        return " ".join([NAME, *words, *flags])


class Explain(Record, frozen=True, kw_only=True):
    """`/run-e2e explain`."""


class Rerun(Record, frozen=True, kw_only=True):
    """`/run-e2e rerun`."""

    failed: bool


class Cancel(Record, frozen=True, kw_only=True):
    """`/run-e2e cancel`."""


class Waive(Record, frozen=True, kw_only=True):
    """`/run-e2e waive`."""

    suite: Suite
    level: int
    reason: str


class Help(Record, frozen=True, kw_only=True):
    """`/run-e2e help`."""


Command = RunE2E | Explain | Rerun | Cancel | Waive | Help


class CommandError(Record, frozen=True, kw_only=True):
    """A line that was meant as a command and is none."""

    line: str
    """What was written, at most 200 characters."""
    problem: str
    suggestion: str | None = None
    """A whole line that would have been right."""


def parse(body: str) -> tuple[Command | CommandError, ...]:
    """Every command in the visible prose of `body`, in order; most comments hold none."""
    if "/" not in body:
        return ()
    found = [result for line in visible_lines(body) if (result := _parse_line(line.text, plain=line.plain)) is not None]
    if len(found) > MAX_COMMANDS:
        error = CommandError(
            line=NAME, problem=f"{len(found)} commands in one comment; at most {MAX_COMMANDS} are read"
        )
        return (*found[:MAX_COMMANDS], error)
    return tuple(found)


def text_of(command: Command | CommandError) -> str:
    """The command as one would write it again."""
    match command:
        case RunE2E():
            return command.text
        case CommandError(line=line):
            return line
        case Rerun(failed=failed):
            return f"{NAME} rerun{' failed' if failed else ''}"
        case Waive():
            return f'{NAME} waive suite={command.suite.value} level={command.level} reason="{command.reason}"'
        case Explain() | Cancel() | Help():
            return f"{NAME} {type(command).__name__.lower()}"
        case _:
            assert_never(command)


def usage() -> str:
    """The help text, one command a line, options indented."""
    lines: list[str] = []
    explained: set[Option] = set()
    for form in GRAMMAR:
        lines.append(f"{form.usage}\n    {form.says}")
        lines += [f"      {o.shows:<22} {o.says}" for o in form.options if o not in explained]
        explained |= set(form.options)
    return "\n".join(lines)


def _parse_line(line: str, *, plain: bool) -> Command | CommandError | None:
    first, rest = (*line.split(None, 1), "", "")[:2]
    if first != NAME:
        return _near_miss(line, first, rest)
    shown = line.strip()[:_SHOWN]
    if not plain:
        return CommandError(line=shown, problem="code, links, HTML or emphasis in the line; write it as plain text")
    words = _WORD.findall(rest)
    form, words = (_FORMS[words[0]], words[1:]) if words and words[0] in _FORMS else (_FORMS[""], words)
    values, error = _read(form, words, shown)
    return error or _build(form, values, shown)


def _near_miss(line: str, first: str, rest: str) -> CommandError | None:
    if not first.startswith("/") or len(first) > 2 * len(NAME):
        return None
    if difflib.SequenceMatcher(a=NAME, b=first.lower()).ratio() < _CLOSE:
        return None
    right = f"{NAME} {rest}".strip() if rest.isascii() else NAME
    return CommandError(line=line.strip()[:_SHOWN], problem=f"no such command: {first}", suggestion=right[:_SHOWN])


def _read(form: Form, words: list[str], shown: str) -> tuple[Mapping[str, str], CommandError | None]:
    values: dict[str, str] = {}
    options = {option.name: option for option in form.options}
    for word in words:
        key, equals, raw = word.partition("=")
        value = raw.strip('"“”')
        option = options.get(key)
        if option is None or bool(equals) != (option.pattern is not None):
            return values, _unknown_word(form, word, shown)
        value = value.lower() if key == "sha" else value
        if option.pattern is not None and not option.pattern.fullmatch(value):
            problem = f"{key}={value[:60]}: expected {option.expects}"
            return values, CommandError(
                line=shown, problem=problem, suggestion=_nearest_value(form, word, value, shown)
            )
        if key in values:
            return values, CommandError(line=shown, problem=f"{key} stands twice")
        values[key] = value
    missing = [name for name in form.needs if name not in values]
    if missing:
        return values, CommandError(line=shown, problem=f"{', '.join(missing)} missing", suggestion=form.usage)
    return values, None


def _unknown_word(form: Form, word: str, shown: str) -> CommandError:
    key, equals, _ = word.partition("=")
    names = [o.name for o in form.options]
    candidates = names if equals else [*names, *(w for w in _FORMS if w)]
    near = difflib.get_close_matches(key[:60].lower().lstrip("-"), candidates, n=1, cutoff=0.6)
    return CommandError(
        line=shown,
        problem=f"unknown word: {word[:60]}",
        suggestion=_replaced(shown, word, word.replace(key, near[0], 1)) if near else None,
    )


def _nearest_value(form: Form, word: str, value: str, shown: str) -> str | None:
    if not word.startswith("suite="):
        return form.usage if form.needs else None
    near = difflib.get_close_matches(value[:60].lower(), [*Suite, "nemo_rl", "nemorl"], n=1, cutoff=0.5)
    suite = (Suite.NEMO_RL if near[0].startswith("nemo") else Suite.VERL) if near else None
    return _replaced(shown, word, f"suite={suite.value}") if suite else None


def _replaced(shown: str, word: str, by: str) -> str | None:
    """The line with one word corrected, when that makes it right altogether."""
    corrected = shown.replace(word, by, 1)
    return corrected if corrected != shown and _is_right(corrected) else None


def _is_right(line: str) -> bool:
    result = _parse_line(line, plain=True)
    return result is not None and not isinstance(result, CommandError)


def _build(form: Form, values: Mapping[str, str], shown: str) -> Command | CommandError:
    match form.word:
        case "":
            return _build_run(values, shown)
        case "explain":
            return Explain()
        case "rerun":
            return Rerun(failed="failed" in values)
        case "cancel":
            return Cancel()
        case "waive":
            return _build_waive(values, shown)
        case _:
            return Help()


def _build_run(values: Mapping[str, str], shown: str) -> Command | CommandError:
    asked = values.get("level", "")
    levels = _numbers(asked)
    if levels is None:
        return CommandError(line=shown, problem=f"level={asked}: a range goes up, as in 0-2")
    return RunE2E(
        suite=Suite(values["suite"]) if "suite" in values else None,
        levels=levels,
        all_levels=asked == "all",
        model=values.get("model"),
        sha=values.get("sha"),
        dry_run="dry-run" in values,
        force="force" in values,
    )


def _build_waive(values: Mapping[str, str], shown: str) -> Command | CommandError:
    if not _is_reason(values["reason"]):
        return CommandError(line=shown, problem='reason="…": a sentence that says why this may be merged')
    return Waive(suite=Suite(values["suite"]), level=int(values["level"]), reason=values["reason"])


def _is_reason(text: str) -> bool:
    """Whether it has words: three of them, and more than a key held down."""
    words = {word.lower() for word in text.split() if sum(map(str.isalpha, word)) > 1}
    return len(words) >= _REASON_WORDS and len(set(text.lower())) >= _REASON_LETTERS


def _numbers(text: str) -> tuple[int, ...] | None:
    """The levels that `0,2` or `0-2` names, rising and each once; null for a range that goes down."""
    numbers: set[int] = set()
    for part in text.split(",") if text not in {"", "all"} else ():
        low, dash, high = part.partition("-")
        first, last = int(low), int(high if dash else low)
        if last < first:
            return None
        numbers |= set(range(first, last + 1))
    return tuple(sorted(numbers))
