"""The procedures' sentences: paragraphs by sentence, list entries, table rows and code blocks whole. No tests here."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

PROCEDURES = Path(__file__).parents[1] / "fixtures" / "procedures"
FILES = {"verl": "verl-e2e-testing.md", "nemo-rl": "nemo-rl-e2e-testing.md"}
_END = re.compile(r"(?<=[.?!:])\s+(?=[A-Z`\"'])")


def sentences(suite: str) -> list[str]:
    """Every sentence of the suite's procedure, in order."""
    text = (PROCEDURES / FILES[suite]).read_text(encoding="utf-8")
    body = text.split("---", 2)[2].split("\n---\nSource attribution")[0]
    return [item for item in _items(body) if item]


def short(sentence: str) -> str:
    """The name that requirements.yaml has for it."""
    return hashlib.sha256(sentence.encode()).hexdigest()[:8]


def _items(body: str) -> Iterator[str]:
    code: list[str] | None = None
    paragraph: list[str] = []
    for line in [*body.splitlines(), ""]:
        if code is not None:
            if line.startswith("```"):
                yield "\n".join(code)
                code = None
            else:
                code.append(line)
            continue
        row = re.match(r"^\s*([-*]|\|)", line)
        if line.startswith(("```", "#")) or not line.strip() or row:
            yield from (part.strip() for part in _END.split(" ".join(item.strip() for item in paragraph)))
            paragraph = []
            if line.startswith("```"):
                code = []
            elif row and not re.match(r"^\|[-| ]+\|$", line):
                yield line.strip()
            continue
        paragraph.append(line)
