"""LegVerdict to the plain-text block of the procedures' *Summary Format*. Markdown and colour never belong here."""

from levels.model import Deliverable, Status, Suite
from levels.verdict import DeliverableResult, LegVerdict


def render(verdict: LegVerdict) -> str:
    """The summary, field for field in the procedure's order, with a final newline."""
    label = verdict.suite.label
    lines = [
        f"Result: {verdict.outcome.value} - {_one_line(verdict.sentence)}",
        f"Requested coverage: {_one_line(verdict.requested)}",
        f"Model: {_one_line(verdict.model)}",
        "",
        "Deliverables:",
        *(f"- {row.name}: {_status(row)} - {_one_line(row.detail)}" for row in verdict.deliverables),
        "",
        "Evidence:",
        f"- Bridge repo: {_one_line(verdict.bridge_state)}",
        f"- {label} repo: {_one_line(verdict.suite_state)}",
        f"- Command: {_one_line(verdict.command)}",
        f"- Key lines: {_one_line(' | '.join(verdict.key_lines) or 'none')}",
        "",
        "Limitations:",
        *(f"- {_one_line(item)}" for item in _limitations(verdict)),
        "",
        "Follow-ups:",
        *(f"- {_one_line(item)}" for item in verdict.follow_ups or ("none",)),
    ]
    return "\n".join(lines) + "\n"


def _status(row: DeliverableResult) -> str:
    return row.status.value


def _limitations(verdict: LegVerdict) -> tuple[str, ...]:
    noise = tuple(f"residual log noise: {line}" for line in verdict.residual_noise)
    skipped = tuple(
        f"{row.name} was skipped: {row.detail}"
        for row in verdict.deliverables
        if row.status is Status.SKIPPED and row.id is not Deliverable.VARIANTS
    )
    signal = () if _learning(verdict) else ("no learning-signal or convergence claim",)
    return (*verdict.limitations, *skipped, *noise, *signal) or ("none",)


def _learning(verdict: LegVerdict) -> bool:
    return verdict.level == {Suite.VERL: 5, Suite.NEMO_RL: 6}[verdict.suite]


def _one_line(text: str) -> str:
    return " ".join(text.split()) or "not recorded"
