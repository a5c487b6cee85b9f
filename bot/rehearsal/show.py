"""A finished rehearsal on the terminal and as files. Running anything never belongs here."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console
from rich.markdown import Markdown
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from bot.rehearsal.act import NOT_REHEARSED, Step
from bot.rehearsal.state import ACTIONS_LOGIN, CheckRun, Comment, Repository

WORTH_SECONDS: Final = 0.2
WIDTH: Final = 120
"""Columns where the output is no terminal."""
FILES: Final = {
    "comment.md": "the bot's comments",
    "checks.json": "the check runs",
    "plan.json": "the Plan, as the plan job wrote it",
    "verdict.json": "the Verdict, as the judge job wrote it",
    "evidence": "one folder for each leg: evidence.json, logs, metrics",
    "act.jsonl": "everything that act and the jobs said",
}


def console() -> Console:
    """Standard output, wide enough for a comment's tables."""
    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=WIDTH)


def opening(console: Console, says: str) -> None:
    """What is about to happen, and what it is not."""
    console.print(Panel(Text(says), title="rehearsal", title_align="left"))
    console.print(
        "Megatron-Bridge, Megatron-LM, verl and NeMo-RL are [bold]miniatures[/bold]: small stand-ins on real Ray. "
        "No GPU, no network, no real training. This shows the machinery, not that any model works."
    )
    console.print("The workflow files are the real ones, run by act. Not rehearsed:")
    for line in NOT_REHEARSED:
        console.print(Text(f"  - {line}", style="dim"))


def progress(console: Console, step: Step) -> None:
    """One line for a step that has ended; steps that did nothing worth a line are left out."""
    if step.result == "success" and step.seconds < WORTH_SECONDS:
        return
    mark = "[green]ok[/green]" if step.result == "success" else f"[red]{step.result}[/red]"
    console.print(mark, Text(f"{step.job.strip()}: {step.step},"), f"[dim]{step.seconds:.1f} s[/dim]")


def comments_of(repo: Repository, number: int | None) -> list[Comment]:
    """What the bot wrote on the pull request, in order."""
    return [one for one in repo.comments.values() if one.issue == number and one.user == ACTIONS_LOGIN]


def closing(console: Console, repo: Repository, number: int | None, head: str) -> None:
    """The comments as they would look, and the checks."""
    for comment in comments_of(repo, number):
        console.print(Panel(Markdown(comment.body), title=Text(f"comment by {comment.user}"), title_align="left"))
    table = Table("check run", "status", "conclusion", "title", title=f"checks on {head[:12]}", title_justify="left")
    for run in newest(repo.checks_on(head)):
        table.add_row(run.name, run.status, run.conclusion or "", Text(run.output.title or ""))
    console.print(table)


def newest(runs: Iterable[CheckRun]) -> list[CheckRun]:
    """One run for each name, as the pull request shows them, by name."""
    found: dict[str, CheckRun] = {}
    for run in runs:
        found.setdefault(run.name, run)
    return sorted(found.values(), key=lambda run: run.name)


def files(console: Console, out: Path, code: int, *, seconds: float) -> None:
    """Where everything is, and how it ended."""
    for name, says in FILES.items():
        if (out / name).exists():
            console.print(Text(f"{out / name}: {says}"), soft_wrap=True)
    console.print(f"exit code {int(code)} after {seconds:.0f} s")


def write(out: Path, repo: Repository, number: int | None, head: str) -> None:
    """The same as files: comment.md, checks.json."""
    bodies = [comment.body for comment in comments_of(repo, number)]
    (out / "comment.md").write_text("\n\n".join(bodies), encoding="utf-8")
    checks = msgspec.json.encode(newest(repo.checks_on(head)))
    (out / "checks.json").write_bytes(msgspec.json.format(checks, indent=2) + b"\n")
