"""Which place of this project fulfils each sentence of the procedures. The sentences themselves never stand here."""

from importlib.resources import files
from typing import Annotated

import msgspec

from levels.catalogue import parse
from levels.model import Id, Record

Sentence = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{8}$(?!\n)")]
"""The first 8 hex digits of the sentence's SHA-256."""


class Row(Record, frozen=True, kw_only=True, rename={"nemo_rl": "nemo-rl"}):
    """What some sentences ask for, where it is fulfilled, and the test that shows it."""

    id: Id
    says: str
    file: str | None = None
    """Relative to our root; YAML or Python."""
    key: str | None = None
    """Path of keys in YAML (list entries by `id` or `number`), or the name of a function."""
    test: str | None = None
    """A test file, or `file::test`, that turns red when the key is removed."""
    replaced: str | None = None
    """`… is replaced by …, because …`."""
    open: str | None = None
    """What is missing; such a row has no place yet."""
    verl: tuple[Sentence, ...] = ()
    nemo_rl: tuple[Sentence, ...] = ()


class Requirements(Record, frozen=True, kw_only=True):
    """The whole of requirements.yaml."""

    version: Annotated[int, msgspec.Meta(ge=1, le=1)]
    rows: tuple[Row, ...]


def load() -> Requirements:
    """The rows of requirements.yaml.

    Raises:
        ConfigError: with file and key path.

    """
    text = (files("levels") / "requirements.yaml").read_text(encoding="utf-8")
    return parse(text, Requirements, path="requirements.yaml")
