"""The Plan's answer at once: checks, reply, result comment, reaction. Reads nothing but the Plan."""

from collections.abc import Callable
from functools import partial
from typing import Final, assert_never

from bot import render
from bot.checks import Board, Mark, payload, queued
from bot.comments import Order, Thread
from bot.concluding import Concluder
from bot.ports import CheckConclusion, CheckPayload, Checks, Comments
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
    conclude: Concluder,
    bot_login: str,
    order: Order,
) -> None:
    """Publish what is known before anything has run.

    Raises:
        GitHubError: after everything else was tried.

    """
    steps: list[Callable[[], object]] = [
        partial(_publish, plan, checks, conclude, bot_login, order[1]),
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


def payloads(plan: Plan, conclude: Concluder, attempt: int) -> tuple[CheckPayload, ...]:
    """The checks that the Plan alone allows to write; none where the plan says nothing about a commit."""
    match plan.decision:
        case Decision.RUN:
            return queued(plan, attempt=attempt, summary=render.running(plan, attempt=attempt))
        case Decision.NOT_NEEDED | Decision.NOT_ASKED | Decision.VOID | Decision.REFUSED:
            if plan.head is None:
                return ()
            concluded = conclude(plan, None)
            closed = payload(
                plan,
                Mark(plan=plan.id, attempt=attempt),
                title=concluded.title,
                summary=render.plain(plan, attempt=attempt),
                conclusion=CheckConclusion(concluded.conclusion),
            )
            return (closed,)
        case Decision.ANSWER | Decision.IGNORED:
            return ()
        case _:
            assert_never(plan.decision)


def _publish(plan: Plan, checks: Checks, conclude: Concluder, bot_login: str, attempt: int) -> None:
    """Only a run may take the place of an earlier answer on the same commit: a question must not wipe out a result."""
    wanted = payloads(plan, conclude, attempt)
    if not wanted or plan.head is None:
        return
    board = Board(checks, plan.head, bot_login)
    if plan.decision is not Decision.RUN and board.has_answer:
        return
    board.publish(wanted)
    board.close_older(wanted)
