"""A Plan as outputs of a workflow job, and lines that are safe in a workflow's log. Opens no file."""

from levels.documents import MAX_BYTES, MAX_LINE, encode, encode_line
from levels.errors import DocumentError
from levels.matrix import matrix
from levels.plan import Plan


def of_plan(plan: Plan) -> dict[str, str]:
    """The outputs of the plan job, each on one line.

    Raises:
        DocumentError: when the Plan does not fit into a job output.

    """
    line, raw = encode_line(plan), len(encode(plan))
    if len(line) > MAX_LINE or raw > MAX_BYTES["plan"]:
        raise DocumentError(
            doing="writing the Plan",
            found=f"{raw} bytes, {len(line)} when packed",
            expected=f"at most {MAX_BYTES['plan']}, and {MAX_LINE} when packed",
            next_step="ask for fewer levels at once",
        )
    stages = {stage: matrix(plan.stage(stage)) for stage in ("smoke", "deep")}
    return {"plan": line, "decision": plan.decision.value, **stages}


def text_of(outputs: dict[str, str]) -> str:
    """What is appended to `$GITHUB_OUTPUT`. JSON on one line needs no delimiter that a value could contain."""
    return "".join(f"{name}={value}\n" for name, value in outputs.items())


def log_line(text: str) -> str:
    """`text` on one line that is no workflow command, whatever it quotes."""
    flat = "".join(char if char.isprintable() else " " for char in text)
    return flat.replace("::", ": :").replace("##[", "## [")
