"""Write the generated parts of README.md, or say which are stale.

usage: python tools/docs.py [--check]

A generated part stands between `<!-- begin: NAME -->` and `<!-- end: NAME -->`; facts live in YAML and code.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import msgspec

from action.site import Site
from bot import policy
from bot.commands import usage
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


def commands() -> str:
    """The commands of a comment, as `/run-e2e help` shows them."""
    return f"```text\n{usage()}\n```"


def consent() -> str:
    """Roles, labels and waiting times of policy.yaml."""
    rights = policy.load()
    settled = rights.settled_seconds
    labels = [
        f"- label `{label}`: what the rules select of {' and '.join(suite.label for suite in suites)}"
        for label, suites in rights.labels.items()
    ]
    forks = f"{settled.fork} seconds on forks" if rights.labels_on_forks else "labels on forks are refused"
    roles = f"role `{rights.minimum_role.value}` or above; to ask a question: `{rights.minimum_role_to_ask.value}`"
    waiting = f"- a head counts as read after {settled.same_repository} seconds ({forks})"
    return "\n".join((*labels, f"- to start a run: {roles}", waiting))


def site() -> str:
    """The fields of the site file."""
    defaults = msgspec.to_builtins(Site())
    rows = ["| field | default | says |", "|---|---|---|"]
    rows += [f"| `{name}` | {_default(defaults[name])} | {says} |" for name, says in _said(Site)]
    return "\n".join(rows)


def _default(value: object) -> str:
    return f"`{value}`" if isinstance(value, int | str) else "none"


def _said(kind: type[msgspec.Struct]) -> Iterator[tuple[str, str]]:
    """Each field with the text below it. Raises: TypeError for a field without one."""
    source = Path(sys.modules[kind.__module__].__file__ or "").read_text(encoding="utf-8")
    (body,) = (
        node.body for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    )
    for field, below in pairwise([*body, ast.Pass()]):
        if not isinstance(field, ast.AnnAssign):
            continue
        says = below.value if isinstance(below, ast.Expr) else None
        if not isinstance(says, ast.Constant):
            message = f"{ast.unparse(field.target)} of {kind.__name__} has no text below it"
            raise TypeError(message)
        yield ast.unparse(field.target), str(says.value)


def caller() -> str:
    """The caller workflow, byte for byte the file that the rehearsal runs."""
    return f"```yaml\n{(ROOT / 'examples' / 'bridge-e2e.yml').read_text(encoding='utf-8').rstrip()}\n```"


PARTS: dict[str, Callable[[], str]] = {
    "levels": levels,
    "variants": variants,
    "pins": pins,
    "exit-codes": exit_codes,
    "commands": commands,
    "consent": consent,
    "site": site,
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
