"""Declared changes of a suite that is broken for everybody at its pin. Never a change of Bridge, never a guess."""

from pathlib import Path
from typing import Final

from levels.errors import EnvironmentBlocked
from levels.model import Boundary
from levels.pins import Replacement, Workaround

MAX_FILE_BYTES: Final = 2_000_000


def apply(root: Path, workarounds: tuple[Workaround, ...], *, done_is_fine: bool = False) -> tuple[str, ...]:
    """Ids of the workarounds whose every replacement was made, exactly as often as declared.

    Args:
        root: the suite's own copy; never a person's tree.
        workarounds: what the plan declares.
        done_is_fine: a person's copy may hold the new text already.

    Raises:
        EnvironmentBlocked: when a text does not occur as often as declared; nothing is written then.

    """
    texts: dict[Path, str] = {}
    for workaround in workarounds:
        for replacement in workaround.replacements:
            path = _inside(root, workaround, replacement)
            text = texts[path] if path in texts else _read(path, workaround)
            texts[path] = _replaced(text, workaround, replacement, done_is_fine=done_is_fine)
    for path, text in texts.items():
        path.write_bytes(text.encode())
    return tuple(workaround.id for workaround in workarounds)


def _replaced(text: str, workaround: Workaround, item: Replacement, *, done_is_fine: bool) -> str:
    found = text.count(item.old)
    if found == item.count:
        return text.replace(item.old, item.new)
    if done_is_fine and found == 0 and text.count(item.new) == item.count:
        return text
    raise _refused(workaround, f"{item.old!r} {found} times in {item.file}", f"{item.count} times")


def _inside(root: Path, workaround: Workaround, item: Replacement) -> Path:
    path = root / item.file
    if path.is_symlink() or not path.resolve().is_relative_to(root.resolve()):
        raise _refused(workaround, f"{item.file} is a link or leads out of the tree", "a file of the suite")
    return path


def _read(path: Path, workaround: Workaround) -> str:
    try:
        data = path.read_bytes()
        if len(data) <= MAX_FILE_BYTES:
            return data.decode()
        found = f"{len(data)} bytes in {path.name}"
    except (OSError, UnicodeDecodeError) as error:
        found = str(error)
    raise _refused(workaround, found, "a readable text file")


def _refused(workaround: Workaround, found: str, expected: str) -> EnvironmentBlocked:
    return EnvironmentBlocked(
        Boundary.DEPENDENCY,
        doing=f"applying the declared workaround {workaround.id}",
        found=found,
        expected=expected,
        next_step=f"the suite changed: correct or remove the workaround in pins.yaml ({workaround.ends_when})",
    )
