"""What became of runs that nobody has told the end of: progress, waiting times, and closing what died.

A result comment that says "open" names a run and a commit; runs of the merge queue are listed by the Actions API. For
each, the checks are made to say what GitHub knows about the run's jobs. Everything here may be done twice, or by two
processes at once. Verdicts never belong here: a run whose report is lost is Blocked, whatever its jobs say.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import msgspec

from bot import concluding, render
from bot.board import Board, Entry
from bot.comments import Order, Thread, sticky_of
from bot.notes import Note
from bot.policy import MergeQueue, Policy
from bot.ports import Checks, Comments, Job, NotFoundError, Pulls, Run, Runs
from bot.steps import do_all
from levels.conclusion import Conclusion, GateState, conclude
from levels.model import Commit, Record

WINDOW: Final = timedelta(hours=72)
"""How far back open runs are looked for: longer than any run may wait and work."""
_SAID: Final = "The workflow run ended before it could tell its result; it says nothing about the change."


class Case(Record, frozen=True, kw_only=True):
    """A run that is still to be told the end of."""

    order: Order
    head: Commit
    number: int | None
    """Of the pull request; null for a group of the merge queue."""
    told: bool = False
    """Its own result stands in the comment; an older run on the same commit goes on."""


@dataclass(frozen=True, kw_only=True)
class Office:
    """GitHub and the policy, as one argument."""

    pulls: Pulls
    checks: Checks
    comments: Comments
    runs: Runs
    policy: Policy
    bot_login: str
    now: Callable[[], datetime]
    run_id: int
    """Our own workflow run: it is not over, whatever its jobs look like."""
    workflow: str
    """Path of the caller's workflow file; empty when not known."""
    page: Callable[[int], str | None]
    """Address of a workflow run."""


def reconcile(office: Office) -> tuple[Case, ...]:
    """The runs that were looked after; afterwards no check of a run that is over is open.

    Raises:
        GitHubError: after all runs were looked after, as far as GitHub let us.

    """
    cases = tuple(case for case in open_cases(office) if case.order[0] != office.run_id)
    do_all([partial(_settle, case, office) for case in cases])
    return cases


def open_cases(office: Office) -> tuple[Case, ...]:
    """Every run of the last days that is not told the end of."""
    since = office.now() - WINDOW
    found = [
        Case(order=told.order, head=told.head, number=comment.number, told=told.state == "told")
        for comment in office.comments.recent(since)
        if comment.number is not None
        and (told := sticky_of(comment, office.bot_login)) is not None
        and told.open
        and told.head is not None
    ]
    if office.policy.merge_queue is MergeQueue.RUN:
        groups = office.runs.of_event("merge_group", since)
        found += [
            Case(order=(run.id, run.attempt), head=run.head, number=None)
            for run in groups
            if office.workflow in {"", run.path}
        ]
    return tuple(found)


def _settle(case: Case, office: Office) -> None:
    try:
        board = Board(office.checks, case.head, office.bot_login)
    except NotFoundError:
        return
    mine = tuple(one for one in board.entries if one.mark.run == case.order[0])
    if case.number is None and not any(not one.done for one in mine):
        return
    run = _run(case.order[0], office)
    ended = _why_ended(case, mine, office)
    if ended is not None:
        _end(case, board, ended, run, office)
    elif run is None or run.over:
        over = _close_others(case, board, office)
        _close(case, board, mine, run, office, over=over)
    else:
        _close_others(case, board, office)
        _refresh(board, mine, run, office)


def _run(number: int, office: Office) -> Run | None:
    """The workflow run; null when somebody deleted it."""
    try:
        return office.runs.run(number)
    except NotFoundError:
        return None


def _close_others(case: Case, board: Board, office: Office) -> bool:
    """Close what older runs on the same commit left behind; whether all of them are over."""
    others = [one for one in board.unfinished if one.mark.run not in {case.order[0], office.run_id}]
    over = {
        number: (run is None or run.over)
        for number in {one.mark.run for one in others}
        for run in [_run(number, office)]
    }
    board.close((one for one in others if over[one.mark.run]), _lost(None), _SAID)
    return all(over.values())


def _lost(run: Run | None) -> Conclusion:
    if run is not None and run.conclusion == "cancelled":
        return concluding.ended("the workflow run was cancelled")
    why = f" ({run.conclusion})" if run and run.conclusion else ""
    return conclude(GateState.BLOCKED, f"Blocked: the workflow run ended without a result{why}")


def _why_ended(case: Case, mine: Iterable[Entry], office: Office) -> Conclusion | None:
    """Why nobody waits for this run any more; null when somebody does."""
    told = [one for one in mine if one.mark.leg is None and one.note and one.note.state is GateState.CANCELLED]
    if told:
        return concluding.ended(told[-1].run.title)
    if case.number is None:
        return None
    try:
        pull = office.pulls.pull(case.number)
    except NotFoundError:
        return concluding.ended("the pull request is gone")
    if not pull.open or pull.draft:
        return concluding.ended("pull request made a draft" if pull.open else "pull request closed")
    if pull.head != case.head:
        return concluding.superseded(f"commit {pull.head[:12]}")
    return None


def _end(case: Case, board: Board, ended: Conclusion, run: Run | None, office: Office) -> None:
    """Close the checks, free the machines, and only then say that all is told."""
    left = [one for one in board.unfinished if one.mark.run != office.run_id]
    board.close(left, ended, _SAID)
    cancelled = (one for one in board.entries if one.note and one.note.state is GateState.CANCELLED)
    for number in sorted({one.mark.run for one in (*left, *cancelled)} - {0, case.order[0], office.run_id}):
        _cancel(number, office)
    if run is not None and not run.over:
        _cancel(run.id, office)
    _tell(case, render.ended(ended.title, office.page(case.order[0])), office)


def _cancel(number: int, office: Office) -> None:
    with suppress(NotFoundError):
        office.runs.cancel(number)


def _close(case: Case, board: Board, mine: tuple[Entry, ...], run: Run | None, office: Office, *, over: bool) -> None:
    """The run is over: what its report has closed stays, the rest is closed here."""
    lost = [one for one in mine if not one.done]
    concluded = _lost(run)
    board.close(lost, concluded, _SAID)
    if not over or case.number is None:
        return
    if case.told:
        Thread(office.comments, case.number, office.bot_login).close(case.order)
        return
    main = next((one for one in reversed(mine) if one.mark.leg is None), None)
    if main is not None and main.done and not main.final:
        _tell(case, main.run.summary, office)
        return
    title = main.run.title if main is not None and main.final else concluded.title
    _tell(case, render.ended(title, office.page(case.order[0])), office)


def _tell(case: Case, text: str, office: Office) -> None:
    if case.number is not None:
        Thread(office.comments, case.number, office.bot_login).stick(text, case.order, case.head)


def _refresh(board: Board, mine: tuple[Entry, ...], run: Run, office: Office) -> None:
    """Say how far each leg is; end a run whose legs wait for a runner that does not come."""
    jobs = office.runs.jobs(run.id)
    limit = timedelta(minutes=office.policy.queue_limit_minutes)
    says: list[Conclusion] = []
    for one in mine:
        job = _job_of(one, jobs)
        if one.done or job is None:
            continue
        concluded = _progress(job, office.now(), limit)
        says.append(concluded)
        _write(board, one, concluded)
    mains = [one for one in mine if one.mark.leg is None and not one.done]
    if not says:
        return
    stuck = [one for one in says if one.state is GateState.QUEUE_LIMIT]
    running = [one for one in says if one.state is GateState.RUNNING]
    shown = (stuck or running or says)[0]
    for main in mains:
        _write(board, main, shown)
    if stuck and not running:
        # Its report will tell what has been judged; the comment stays open until then.
        _cancel(run.id, office)


def _write(board: Board, entry: Entry, concluded: Conclusion) -> None:
    """Change a check that says something else; a refresh that changes nothing costs nothing."""
    if entry.run.title == concluded.title:
        return
    note = msgspec.structs.replace(entry.note or Note(state=concluded.state), state=concluded.state)
    board.rewrite(entry, concluded, entry.run.summary or _SAID, note)


def _job_of(entry: Entry, jobs: Iterable[Job]) -> Job | None:
    """The job of a leg: its name ends with the leg's id, in e2e.yml and below whatever the caller calls its own job."""
    return next((job for job in jobs if entry.mark.leg and job.name.endswith(f"({entry.mark.leg})")), None)


def _progress(job: Job, now: datetime, limit: timedelta) -> Conclusion:
    if job.status == "completed":
        return conclude(GateState.RUNNING, "the leg has ended and is judged next")
    if job.status == "in_progress":
        step = next((step.name for step in job.steps if step.status == "in_progress"), "between two steps")
        return conclude(GateState.RUNNING, step)
    waited = now - job.created
    minutes = max(int(waited.total_seconds() // 60), 0)
    if waited >= limit:
        labels = ", ".join(job.labels) or "none"
        return conclude(GateState.QUEUE_LIMIT, f"{minutes} min for labels {labels}; is a runner with them online?")
    return conclude(GateState.QUEUED, f"{minutes} min")
