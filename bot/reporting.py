"""Verdict and Plan to checks, comment and job summary: glue for `report`. What they conclude is decided in levels/."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from bot import notes, render, waiving
from bot.board import Board
from bot.checks import Mark, mark_of, payload
from bot.comments import Order, Thread
from bot.concluding import of_leg, of_run, superseded
from bot.ports import CheckPayload, Checks, Comments
from bot.proofs import key_of
from bot.receipt import main_note
from bot.steps import do_all
from bot.view import LegView, Summarize, views
from levels.catalogue import Catalogue
from levels.documents import decode
from levels.errors import DocumentError, E2EError
from levels.model import Record
from levels.plan import Plan
from levels.verdict import Verdict


class Report(Record, frozen=True, kw_only=True):
    """All that is published about one run."""

    comment: str
    checks: tuple[CheckPayload, ...]
    summary: str
    trouble: str | None
    """Why the verdict could not be used."""


def read_verdict(data: bytes | str, plan: Plan) -> Verdict:
    """The Verdict in `data`, when it is about `plan`.

    Raises:
        DocumentError: when it is empty, broken, or about something else.

    """
    verdict = decode(data, Verdict, what="the Verdict")
    claims = (verdict.plan, verdict.repository, verdict.pull_request, verdict.head)
    facts = (plan.id, plan.repository, plan.pull_request, plan.head)
    legs = {leg.leg for leg in verdict.legs}
    if claims != facts or not legs <= {leg.id for leg in plan.legs}:
        raise DocumentError(
            doing="reading the Verdict",
            found=f"one about plan {verdict.plan} and commit {verdict.head}",
            expected=f"one about plan {plan.id} and commit {plan.head}",
            next_step="re-run the judge job",
        )
    return verdict


def compose(
    plan: Plan,
    verdict: Verdict | None,
    *,
    catalogue: Catalogue,
    summarize: Summarize,
    order: Order,
    trouble: E2EError | None = None,
) -> Report:
    """The texts and checks for a run; without a verdict they say so, and nothing is left open."""
    concluded = of_run(plan, verdict)
    legs = views(plan, verdict, catalogue, summarize)
    result = render.Result(
        plan=plan,
        legs=legs,
        conclusion=concluded.conclusion or concluded.status,
        title=concluded.title,
        attempt=order[1],
        trouble=(trouble.found, trouble.expected, trouble.next_step) if trouble else None,
    )
    text = render.comment(result, budget=render.CHECK_UNITS, measure=render.size_bytes)
    mark = Mark(plan=plan.id, run=order[0], attempt=order[1])
    main = payload(plan, mark, concluded, text, main_note(plan, concluded, ()))
    return Report(
        comment=render.comment(result),
        checks=(main, *(_leg_payload(plan, leg, order) for leg in legs)),
        summary=render.comment(result, budget=render.SUMMARY_UNITS, measure=render.size_bytes),
        trouble=str(trouble) if trouble else None,
    )


def _leg_payload(plan: Plan, view: LegView, order: Order) -> CheckPayload:
    mark = Mark(plan=plan.id, run=order[0], attempt=order[1], leg=view.leg.id)
    concluded = of_leg(view.leg, view.verdict)
    remembered = notes.of_leg(view.leg, key_of(view.leg, plan.product_commit), view.verdict)
    return payload(plan, mark, concluded, render.leg_report(view), notes.Note(state=concluded.state, leg=remembered))


def publish(
    report: Report,
    plan: Plan,
    verdict: Verdict | None,
    *,
    checks: Checks,
    comments: Comments,
    bot_login: str,
    order: Order,
) -> None:
    """Write `report` to GitHub; where a newer run tells its own story, only this run's checks are closed.

    The comment comes last and says that all is told: a process that dies before is found by the reconciler.

    Raises:
        GitHubError: after everything else was tried.

    """
    shown = _Shown()
    steps: list[Callable[[], object]] = []
    if plan.head is not None:
        steps.append(partial(_publish_checks, report, plan, verdict, checks, bot_login, order, shown))
    if plan.pull_request is not None:
        thread = Thread(comments, plan.pull_request, bot_login)
        steps.append(partial(_stick, report, plan, thread, order, shown))
    do_all(steps)


class _Shown:
    """What publishing the checks has found out about the comment."""

    ended: bool = False
    """The run was ended on purpose, and whoever ended it has told so."""
    waivers: str = ""
    others: bool = False
    """An older run on the same commit still has legs that this one does not repeat."""


def _publish_checks(
    report: Report,
    plan: Plan,
    verdict: Verdict | None,
    checks: Checks,
    bot_login: str,
    order: Order,
    shown: _Shown,
) -> None:
    board = Board(checks, plan.head or "", bot_login)
    main, *legs = report.checks
    mark = mark_of(main.external_id)
    if mark is None:
        return
    names = {one.name for one in report.checks}
    shown.ended = board.keeps(mark)
    shown.others = any(one.mark.run != mark.run and one.run.name not in names for one in board.unfinished)
    waivers = board.waivers
    concluded = superseded() if board.overtaken(order) else of_run(plan, verdict, waivers)
    shown.waivers = waiving.lines(waivers)
    summary = shown.waivers + main.summary
    if render.size_bytes(summary) > render.CHECK_UNITS:
        summary = main.summary
    main = payload(plan, mark, concluded, summary, main_note(plan, concluded, waivers))
    board.close_older(names, order, superseded())
    # The required check last: when it is closed, the others already say why.
    board.publish((*legs, main))


def _stick(report: Report, plan: Plan, thread: Thread, order: Order, shown: _Shown) -> None:
    if not shown.ended:
        thread.stick(shown.waivers + report.comment, order, plan.head, "told" if shown.others else "closed")


def write_files(report: Report, folder: Path) -> None:
    """`comment.md`, `checks.json` and `summary.md` in `folder`: what would have been published."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "comment.md").write_text(report.comment, encoding="utf-8")
    (folder / "summary.md").write_text(report.summary, encoding="utf-8")
    checks = json.dumps(msgspec.to_builtins(report.checks), indent=2, ensure_ascii=False)
    (folder / "checks.json").write_text(checks + "\n", encoding="utf-8")
