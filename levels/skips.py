"""What a program leaves out with a line of log while the run goes on, as data. Verdicts never belong here."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import re2

from levels.catalogue import parse
from levels.errors import ConfigError
from levels.model import Attribution, Boundary, Id, Record, SkipWhen, Suite

MAX_NAMES: Final = 40
"""Names kept of one list; a model with more unmapped weights than that is no better."""
MAX_NAME: Final = 200
MAX_MATCHED_CHARS: Final = 4_000


class Skip(Record, frozen=True, kw_only=True):
    """One line that says that something was left out. The fields are explained on top of skips.yaml."""

    id: Id
    when: SkipWhen
    suites: tuple[Suite, ...] = ()
    literal: Annotated[str, msgspec.Meta(min_length=5)]
    pattern: str
    normal: tuple[str, ...] = ()
    """Names, with `*`, that are left out by design."""
    boundary: Boundary
    attribution: Attribution
    says: str
    remedy: str
    source: str


class Skips(Record, frozen=True, kw_only=True):
    """The whole of skips.yaml."""

    version: Annotated[int, msgspec.Meta(ge=1, le=1)]
    skips: tuple[Skip, ...]


class SkipReader:
    """The skips of one suite, compiled: a cheap test by literals first, then the patterns of those that fit."""

    def __init__(self, suite: Suite, skips: Skips) -> None:
        """Compile what concerns `suite`.

        Raises:
            ConfigError: naming the first pattern that RE2 does not accept.

        """
        own = [skip for skip in skips.skips if not skip.suites or suite in skip.suites]
        self.literals = tuple(dict.fromkeys(skip.literal for skip in own))
        self.by_id = {skip.id: skip for skip in own}
        self._gate: Any = re2.compile("|".join(re2.escape(literal) for literal in self.literals))
        self._patterns = tuple((skip, _compiled(skip)) for skip in own)

    def read(self, text: str) -> Iterator[tuple[Skip, tuple[str, ...]]]:
        """The skips that `text` shows, each with the names that are not normal; an empty name where it has none."""
        if not self._gate.search(text):
            return
        text = text[:MAX_MATCHED_CHARS]
        for skip, pattern in self._patterns:
            if skip.literal in text and (match := pattern.search(text)):
                names = tuple(name for name in _names(match) if not _normal(name, skip))
                if names:
                    yield skip, names


def _names(match: Any) -> tuple[str, ...]:  # noqa: ANN401 - re2 has no stubs
    listed = match.groupdict().get("names")
    if listed is not None:
        return tuple(name for part in listed.split(",")[:MAX_NAMES] if (name := part.strip(" '\"")[:MAX_NAME]))
    return ((match.groups() or ("",))[0] or "",)[:1]


def _normal(name: str, skip: Skip) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in skip.normal)


def _compiled(skip: Skip) -> Any:  # noqa: ANN401 - re2 has no stubs
    try:
        return re2.compile(skip.pattern)
    except re2.error as error:
        raise ConfigError(
            path="skips.yaml",
            key=skip.id,
            found=f"{skip.pattern!r}: {error}",
            expected="RE2 syntax (no backreference, no look-around)",
            next_step="rewrite the pattern",
        ) from error


def load(root: Path | None = None) -> Skips:
    """The skips in `root` (default: the file beside this module).

    Raises:
        ConfigError: with file and key path.

    """
    where = root if root is not None else files("levels")
    skips = parse((where / "skips.yaml").read_text(encoding="utf-8"), Skips, path="skips.yaml")
    ids = [skip.id for skip in skips.skips]
    if len(set(ids)) != len(ids):
        raise ConfigError(
            path="skips.yaml",
            key="skips",
            found=", ".join(sorted({name for name in ids if ids.count(name) > 1})),
            expected="each id once",
            next_step="rename one",
        )
    return skips


@cache
def reader(suite: Suite) -> SkipReader:
    """The skips of `suite`, compiled once."""
    return SkipReader(suite, load())
