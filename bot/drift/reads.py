"""Where a tree reads an env var, a configuration key or a metric's name. Text search over its sources; no import."""

import re
from functools import cached_property
from pathlib import Path
from typing import Final

MAX_FILE_BYTES: Final = 2_000_000
_SKIPPED: Final = frozenset({".git", "docs", "tests", "node_modules", "__pycache__", "3rdparty", "docker"})


class Sources:
    """The Python and shell sources of a tree, read once."""

    def __init__(self, root: Path) -> None:
        """`root` is a checkout."""
        self.root = root

    @cached_property
    def python(self) -> dict[str, list[str]]:
        """Relative path to lines, of every Python file outside tests and documents; packages first."""
        return self._read("*.py")

    def _read(self, pattern: str) -> dict[str, list[str]]:
        found = {}
        # The package itself first: a converter or an example may name a key that the run never reads.
        paths = sorted(self.root.rglob(pattern), key=lambda path: (not self._of_package(path), path))
        for path in paths:
            parts = path.relative_to(self.root).parts
            if _SKIPPED & set(parts[:-1]) or not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
                continue
            found["/".join(parts)] = path.read_text(encoding="utf-8", errors="replace").splitlines()
        return found

    def _of_package(self, path: Path) -> bool:
        top = self.root / path.relative_to(self.root).parts[0]
        return (top / "__init__.py").is_file()

    def env_var(self, name: str, script: Path | None) -> str | None:
        """The line that reads `name`: of the wrapper, else of a Python file that asks the environment."""
        if script is not None and script.is_file():
            shell = re.compile(rf"\$\{{?{name}\b")
            for number, line in enumerate(script.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
                if shell.search(line) and not line.lstrip().startswith("#"):
                    return f"{script.relative_to(self.root)}:{number}"
        return self._line(re.compile(rf"(?:environ|getenv|env_vars?)\b.*[\"']{name}[\"']"))

    def key(self, dotted: str) -> str | None:
        """The line that reads the configuration key `dotted`: its last word, near the word before it.

        A mapping's key, an attribute or a field of a class counts; a line of YAML does not, because it only sets.
        """
        *before, last = dotted.split(".")
        word = re.escape(last)
        reading = re.compile(
            rf"""(?:\[\s*["']{word}["']\s*\]|\.get\(\s*f?["']{word}["']|\.{word}\b|^\s*{word}\s*:\s*[A-Za-z"'\[]"""
            rf"""|["']{word}["']\s*(?:in|not in)\b|["'](?:[\w.]+\.)?{word}["'])"""
        )
        parent = re.compile(rf"\b{re.escape(before[-1])}\b") if before else None
        second: str | None = None
        for name, lines in self.python.items():
            text_has_parent = parent is None or any(parent.search(line) for line in lines)
            if not text_has_parent:
                continue
            for number, line in enumerate(lines, start=1):
                if not reading.search(line) or line.lstrip().startswith("#"):
                    continue
                if parent is None or parent.search(line):
                    return f"{name}:{number}"
                second = second or f"{name}:{number}"
        return second

    def field(self, name: str) -> str | None:
        """The line of a class that has a field `name`."""
        return self._line(re.compile(rf"^\s+{re.escape(name)}\s*:\s*\S"))

    def metric(self, name: str) -> str | None:
        """The line that names the metric: whole, by its last word behind a logger's prefix, or as `parent/{word}`."""
        whole = self._line(re.compile(rf"""["']{re.escape(name)}["']"""))
        last = re.escape(name.rsplit("/", 1)[-1])
        parent = re.escape(name.split("/")[-2]) if "/" in name else last
        by_word = whole or self._line(re.compile(rf"""["'](?:[\w{{}}/.]*/)?{last}["']"""))
        return by_word or self._line(re.compile(rf"""["'](?:[\w{{}}/.]*/)?{parent}/\{{"""))

    def _line(self, pattern: re.Pattern[str]) -> str | None:
        for name, lines in self.python.items():
            for number, line in enumerate(lines, start=1):
                if pattern.search(line) and not line.lstrip().startswith("#"):
                    return f"{name}:{number}"
        return None
