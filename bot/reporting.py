"""Verdict and Plan to checks, comment and job summary: glue for `report`. What they conclude is decided in levels/."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from bot import render
from bot.checks import Board, Mark, mark_of, payload
from bot.comments import Order, Thread
from bot.concluding import of_leg, of_run, superseded
from bot.ports import CheckPayload, Checks, Comments
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
    attempt: int,
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
        attempt=attempt,
        trouble=(trouble.found, trouble.expected, trouble.next_step) if trouble else None,
    )
    text = render.comment(result, budget=render.CHECK_UNITS, measure=render.size_bytes)
    main = payload(plan, Mark(plan=plan.id, attempt=attempt), concluded, text)
    return Report(
        comment=render.comment(result),
        checks=(main, *(_leg_payload(plan, leg, attempt) for leg in legs)),
        summary=render.comment(result, budget=render.SUMMARY_UNITS, measure=render.size_bytes),
        trouble=str(trouble) if trouble else None,
    )


def _leg_payload(plan: Plan, view: LegView, attempt: int) -> CheckPayload:
    mark = Mark(plan=plan.id, attempt=attempt, leg=view.leg.id)
    return payload(plan, mark, of_leg(view.leg, view.verdict), render.leg_report(view))


def publish(
    report: Report,
    plan: Plan,
    *,
    checks: Checks,
    comments: Comments,
    bot_login: str,
    order: Order,
) -> None:
    """Write `report` to GitHub; where a newer run tells its own story, only this run's checks are closed.

    Raises:
        GitHubError: after everything else was tried.

    """
    steps: list[Callable[[], object]] = []
    if plan.head is not None:
        steps.append(partial(_publish_checks, report, plan, checks, bot_login))
    if plan.pull_request is not None:
        thread = Thread(comments, plan.pull_request, bot_login)
        steps.append(partial(thread.stick, report.comment, order))
    do_all(steps)


def _publish_checks(report: Report, plan: Plan, checks: Checks, bot_login: str) -> None:
    board = Board(checks, plan.head or "", bot_login)
    main, *legs = report.checks
    mark = mark_of(main.external_id)
    if mark is not None and board.superseded(plan.id):
        main = payload(plan, mark, superseded(), main.summary)
    # The required check last: when it is closed, the others already say why.
    board.publish((*legs, main))


def write_files(report: Report, folder: Path) -> None:
    """`comment.md`, `checks.json` and `summary.md` in `folder`: what would have been published."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "comment.md").write_text(report.comment, encoding="utf-8")
    (folder / "summary.md").write_text(report.summary, encoding="utf-8")
    checks = json.dumps(msgspec.to_builtins(report.checks), indent=2, ensure_ascii=False)
    (folder / "checks.json").write_text(checks + "\n", encoding="utf-8")
