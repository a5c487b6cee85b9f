"""Writing to a file that a person or the runner named. What is written never belongs here."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from levels.errors import UsageError


@contextmanager
def writing(path: Path, what: str) -> Iterator[None]:
    """A place where a file that cannot be written is an error with four parts, and no crash of ours.

    Raises:
        UsageError: for a full disk, a missing folder, or a file that may not be written.

    """
    try:
        yield
    except OSError as error:
        raise UsageError(
            doing=f"writing {what}",
            found=f"{path}: {error.strerror or error}",
            expected="a file that can be written, and room for it",
            next_step="correct its name or make room, then run it again",
        ) from error


def append(path: Path, text: str, what: str) -> None:
    """Put `text` at the end of `path`.

    Raises:
        UsageError: when that is not possible.

    """
    with writing(path, what), path.open("a", encoding="utf-8") as file:
        file.write(text)
