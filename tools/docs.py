"""Write the generated parts of README.md, or say which are stale.

usage: python tools/docs.py [--check]

A generated part stands between `<!-- begin: NAME -->` and `<!-- end: NAME -->`; facts live in YAML and code.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

from levels.catalogue import load
from levels.errors import ExitCode

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"

MEANINGS = {
    ExitCode.PASS: "pass, or nothing to do",
    ExitCode.FAIL: "Fail",
    ExitCode.USAGE: "usage or configuration",
    ExitCode.BLOCKED: "Blocked: no evidence against the change",
    ExitCode.REFUSED: "refused: the person or the commit may not run",
    ExitCode.GITHUB: "GitHub unavailable after retries",
    ExitCode.BUG: "our bug, with a traceback",
    ExitCode.INTERRUPTED: "interrupted",
}


def levels() -> str:
    """The table of levels."""
    rows = ["| level | title | GPUs | minutes | a Pass proves | it does not prove |", "|---|---|---|---|---|---|"]
    for level in load().levels:
        cells = (
            f"{level.suite.label} {level.number}",
            level.title,
            str(level.gpus),
            f"{level.minutes} ({level.minutes_source.partition(':')[0]})",
            "; ".join(level.proves),
            "; ".join(level.does_not_prove),
        )
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def variants() -> str:
    """The table of variants."""
    rows = ["| level | variant | why | limitation that every verdict then states |", "|---|---|---|---|"]
    rows += [
        f"| {level.suite.label} {level.number} | `{variant.id}` | {variant.why} | "
        + "; ".join(limitation.says for limitation in variant.limitations)
        + " |"
        for level in load().levels
        for variant in level.variants
    ]
    return "\n".join(rows)


def pins() -> str:
    """The table of pins."""
    rows = ["| suite | commit | image | engine | digest |", "|---|---|---|---|---|"]
    rows += [
        f"| {pin.suite.label} | `{pin.commit}` ({pin.committed}) | `{pin.image.repository}:{pin.image.tag}` | "
        f"{pin.image.engine} | {pin.image.digest or 'not read yet'} |"
        for pin in load().pins.suites
    ]
    return "\n".join(rows)


def exit_codes() -> str:
    """The table of exit codes."""
    return "\n".join(
        ["| code | meaning |", "|---|---|", *(f"| {code.value} | {MEANINGS[code]} |" for code in ExitCode)]
    )


def caller() -> str:
    """The caller workflow, byte for byte the file that the rehearsal runs."""
    return f"```yaml\n{(ROOT / 'examples' / 'bridge-e2e.yml').read_text(encoding='utf-8').rstrip()}\n```"


PARTS: dict[str, Callable[[], str]] = {
    "levels": levels,
    "variants": variants,
    "pins": pins,
    "exit-codes": exit_codes,
    "caller": caller,
}


def rendered(text: str) -> str:
    """`text` with every generated part written anew. Raises: KeyError for a part that nothing generates."""
    return re.sub(
        r"(<!-- begin: ([a-z-]+) -->\n).*?(<!-- end: \2 -->)",
        lambda match: f"{match[1]}{PARTS[match[2]]()}\n{match[3]}",
        text,
        flags=re.DOTALL,
    )


def main() -> int:
    """Write or check."""
    text = README.read_text(encoding="utf-8")
    fresh = rendered(text)
    missing = [name for name in PARTS if f"<!-- begin: {name} -->" not in text]
    if "--check" in sys.argv[1:]:
        if missing or fresh != text:
            sys.stderr.write(
                f"checking README.md: found {'missing ' + ', '.join(missing) if missing else 'stale parts'}; expected "
                "what YAML and code say. Next: python tools/docs.py\n"
            )
            return 2
        return 0
    README.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
