"""Which of a wrapper's calls is the suite's entry point, and how that composes its configuration. No checks here."""

import re
from pathlib import Path
from typing import Final

import msgspec

from bot.drift.shadow import Call

_HYDRA: Final = re.compile(
    r"""@hydra\.main\(\s*config_path\s*=\s*["']([^"']+)["']\s*,\s*config_name\s*=\s*["']([^"']+)"""
)
_DEFAULT: Final = re.compile(r"""os\.path\.join\(\s*os\.path\.dirname\(__file__\)\s*((?:,\s*["'][^"']+["']\s*)+)\)""")
_FILE_LOADER: Final = "nemo_rl/utils/config.py"
"""Source: NVIDIA-NeMo/RL: nemo_rl/utils/config.py@7ea279abfbeb698b092856d0dab61e7cf39bc909."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One call of an entry point: what its loader is asked for."""

    program: str
    """Relative path of its source."""
    loader: str
    """`hydra`, or the file of the suite's own loader."""
    folder: str = ""
    name: str = ""
    config: str = ""
    overrides: tuple[str, ...]


def entry_of(call: Call, root: Path) -> Entry | None:
    """The entry point that `call` starts; null for `git`, a device question, a metrics dump.

    Args:
        call: one recorded call.
        root: the shadow of the suite's tree.

    """
    for index, part in enumerate(call.argv):
        module = call.argv[index - 1] == "-m" if index else False
        path = root / (part.replace(".", "/") + ".py") if module else (call.cwd / part)
        if not (module or part.endswith(".py")) or not path.is_file() or root not in path.parents:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        rest = call.argv[index + 1 :]
        if found := _HYDRA.search(text):
            return _by_hydra(path, rest, found, root)
        if "parse_hydra_overrides" in text and (root / _FILE_LOADER).is_file():
            return _by_file(path, rest, text, call, root)
    return None


def _by_hydra(path: Path, rest: tuple[str, ...], found: re.Match[str], root: Path) -> Entry:
    folder, name = found[1], found[2]
    overrides = []
    for part in rest:
        key, _, value = part.partition("=")
        if key == "--config-path":
            folder = value
        elif key == "--config-name":
            name = value
        elif not part.startswith("--"):
            overrides.append(part)
    return Entry(
        program=str(path.relative_to(root)),
        loader="hydra",
        folder=str((path.parent / folder).resolve()),
        name=name.removesuffix(".yaml"),
        overrides=tuple(overrides),
    )


def _by_file(path: Path, rest: tuple[str, ...], text: str, call: Call, root: Path) -> Entry:
    config, overrides = "", []
    parts = iter(rest)
    for part in parts:
        if part == "--config":
            config = str(call.cwd / next(parts, ""))
        elif part.startswith("--config="):
            config = str(call.cwd / part.partition("=")[2])
        else:
            overrides.append(part)
    if not config and (found := _DEFAULT.search(text)):
        config = str(path.parent.joinpath(*re.findall(r"""["']([^"']+)["']""", found[1])))
    return Entry(
        program=str(path.relative_to(root)),
        loader=str(root / _FILE_LOADER),
        config=config,
        overrides=tuple(overrides),
    )
