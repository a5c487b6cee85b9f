"""The Plan's answer at once: checks, reply, result comment, reaction. Reads nothing but the Plan."""

from collections.abc import Callable
from functools import partial
from typing import Final

from bot import concluding, render
from bot.checks import Board, Mark, payload
from bot.comments import Order, Thread
from bot.ports import CheckPayload, Checks, Comments
from bot.steps import do_all
from levels.catalogue import Catalogue
from levels.plan import Decision, Plan

REACTIONS: Final = {
    Decision.RUN: "rocket",
    Decision.NOT_NEEDED: "+1",
    Decision.ANSWER: "eyes",
    Decision.NOT_ASKED: "eyes",
    Decision.VOID: "confused",
    Decision.REFUSED: "confused",
}


def receive(
    plan: Plan,
    *,
    checks: Checks,
    comments: Comments,
    catalogue: Catalogue,
    bot_login: str,
    order: Order,
) -> None:
    """Publish what is known before anything has run.

    Raises:
        GitHubError: after everything else was tried.

    """
    steps: list[Callable[[], object]] = [
        partial(_publish, plan, checks, bot_login, order[1]),
    ]
    if plan.pull_request is not None:
        thread = Thread(comments, plan.pull_request, bot_login)
        if plan.reply is not None:
            steps.append(partial(thread.reply, reply_key(plan), render.reply(plan, plan.reply, catalogue)))
        if plan.decision is Decision.RUN:
            steps.append(partial(thread.stick, render.running(plan, attempt=order[1]), order))
    if plan.command and plan.command.comment_id is not None and plan.decision in REACTIONS:
        steps.append(partial(comments.react, plan.command.comment_id, REACTIONS[plan.decision]))
    do_all(steps)


def reply_key(plan: Plan) -> str:
    """What a reply answers: the comment, or else the plan's own decision about its head."""
    if plan.command and plan.command.comment_id is not None:
        return f"comment-{plan.command.comment_id}"
    return f"{plan.decision.value}-{(plan.head or '')[:12]}"


def payloads(plan: Plan, attempt: int) -> tuple[CheckPayload, ...]:
    """The checks that the Plan alone allows to write; none where the plan leaves them alone."""
    concluded = concluding.of_plan(plan)
    if concluded is None or plan.head is None:
        return ()
    if plan.decision is not Decision.RUN:
        return (payload(plan, Mark(plan=plan.id, attempt=attempt), concluded, render.plain(plan, attempt=attempt)),)
    text = render.running(plan, attempt=attempt)
    marks = [Mark(plan=plan.id, attempt=attempt, leg=leg) for leg in (None, *(leg.id for leg in plan.legs))]
    return tuple(payload(plan, mark, concluded, text) for mark in marks)


def _publish(plan: Plan, checks: Checks, bot_login: str, attempt: int) -> None:
    """Only a run may take the place of an earlier answer on the same commit: a question must not wipe out a result."""
    wanted = payloads(plan, attempt)
    if not wanted or plan.head is None:
        return
    board = Board(checks, plan.head, bot_login)
    if plan.decision is not Decision.RUN and board.has_answer:
        return
    board.publish(wanted)
    board.close_older(wanted, concluding.superseded())
