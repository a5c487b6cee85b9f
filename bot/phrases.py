"""Sentences and replies that several kinds of event share. Deciding anything never belongs here."""

from typing import Final

from bot.commands import NAME, CommandError
from bot.gate import Refused
from levels.errors import E2EError
from levels.model import Commit
from levels.plan import Choice, Reply, Selection

_SHOWN: Final = 12
"""Reasons that one sentence repeats."""


def named(selection: Selection) -> str:
    """The chosen levels: `verl 0 LoRA + DDP smoke, NeMo-RL 0 Megatron policy GRPO smoke`."""
    return ", ".join(name_of(choice) for choice in selection.chosen)


def name_of(choice: Choice) -> str:
    """`verl 0 LoRA + DDP smoke`."""
    return f"{choice.suite.label} {choice.level} {choice.title}"


def how_to_ask(head: Commit) -> str:
    """How somebody with the role starts a run."""
    return f"read the change, then add a label or comment {NAME} sha={head}"


def why_nothing(selection: Selection) -> str:
    """The rules behind an empty selection, each once."""
    reasons = dict.fromkeys(
        f"rule {reason.rule}: {reason.sentence}" for choice in selection.skipped for reason in choice.reasons
    )
    shown = list(reasons)[:_SHOWN]
    return "; ".join(shown) or "nothing was selected"


def selection_values(selection: Selection) -> dict[str, str]:
    """A selection as reply values: one level a line, its parts separated by tabs."""
    return {
        "chosen": "\n".join(_row(choice) for choice in selection.chosen),
        "skipped": "\n".join(_row(choice) for choice in selection.skipped),
        "widened": "\n".join(selection.widened),
    }


def _row(choice: Choice) -> str:
    first = choice.reasons[0] if choice.reasons else None
    parts = (
        name_of(choice),
        str(choice.gpu_minutes),
        first.rule if first else "",
        (first.path or "") if first else "",
        first.sentence if first else "",
    )
    return "\t".join(part.replace("\t", " ").replace("\n", " ") for part in parts)


def refusal(refused: Refused, actor: str) -> Reply:
    """The answer to somebody who may not, or not yet."""
    values = {"actor": actor, "found": refused.found, "expected": refused.expected, "hint": refused.hint}
    return Reply(template="refused", values=values)


def reason_of(refused: Refused) -> str:
    """A refusal as one sentence."""
    return f"{refused.found}; expected {refused.expected}"


def unusable(line: str, error: E2EError) -> Reply:
    """The answer to a command that reads well and cannot be done."""
    values = {"line": line, "found": error.found, "expected": error.expected, "hint": error.next_step}
    return Reply(template="unusable", values=values)


def misread(error: CommandError) -> Reply:
    """The answer to a line that is no command."""
    values = {"line": error.line, "problem": error.problem, "suggestion": error.suggestion or ""}
    return Reply(template="misread", values=values)


def together(replies: tuple[Reply, ...]) -> Reply | None:
    """Several answers as one reply; the parts keep their order and their templates."""
    if len(replies) <= 1:
        return replies[0] if replies else None
    values = {f"{index}.{key}": value for index, reply in enumerate(replies) for key, value in reply.values.items()}
    templates = {f"{index}.template": reply.template for index, reply in enumerate(replies)}
    return Reply(template="several", values={**values, **templates})


def apart(reply: Reply) -> tuple[Reply, ...]:
    """The answers that `together` joined."""
    if reply.template != "several":
        return (reply,)
    count = sum(key.endswith(".template") and key.count(".") == 1 for key in reply.values)
    return tuple(
        Reply(
            template=reply.values[f"{index}.template"],
            values={
                key.removeprefix(f"{index}."): value
                for key, value in reply.values.items()
                if key.startswith(f"{index}.") and key != f"{index}.template"
            },
        )
        for index in range(count)
    )
