"""The Plan's answer at once: checks, reply, result comment, reaction. Reads the Plan, and our own earlier writing."""

from collections.abc import Callable
from functools import partial
from typing import Final

from bot import concluding, notes, render, waiving
from bot.board import Board
from bot.checks import Mark, payload
from bot.comments import Order, Thread
from bot.ports import CheckPayload, Checks, Comments, NotFoundError
from bot.proofs import key_of
from bot.steps import do_all
from levels.catalogue import Catalogue
from levels.conclusion import Conclusion
from levels.model import Commit
from levels.plan import Decision, Plan, Waiver

REACTIONS: Final = {
    Decision.RUN: "rocket",
    Decision.NOT_NEEDED: "+1",
    Decision.PROVEN: "+1",
    Decision.WAIVED: "+1",
    Decision.ANSWER: "eyes",
    Decision.CANCEL: "eyes",
    Decision.NOT_ASKED: "eyes",
    Decision.VOID: "confused",
    Decision.REFUSED: "confused",
}
_TAKES_PLACE: Final = frozenset({Decision.RUN, Decision.PROVEN, Decision.CARRIED, Decision.UNPROVEN})
"""Only these take the place of an earlier answer on the same commit: a question must not wipe out a result."""
_ENDED: Final = "This was ended before it came to a result; it says nothing about the change."


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

    What is open is written into the result comment before the first check is: a process that dies in between leaves
    nothing that the reconciler does not find.

    Raises:
        GitHubError: after everything else was tried.

    """
    thread = Thread(comments, plan.pull_request, bot_login) if plan.pull_request is not None else None
    steps: list[Callable[[], object]] = []
    if plan.replaces is not None and plan.head is not None:
        steps.append(partial(_end, plan.replaces, checks, bot_login, concluding.superseded(f"commit {plan.head[:12]}")))
    if thread is not None and plan.decision is Decision.RUN:
        steps.append(partial(_take_over, plan, thread, checks, bot_login, order))
        running = render.running(plan, attempt=order[1])
        steps.append(partial(thread.stick, running, order, plan.head, "open"))
    steps.append(partial(_publish, plan, checks, bot_login, order))
    if thread is not None and plan.reply is not None:
        steps.append(partial(thread.reply, reply_key(plan), render.reply(plan, plan.reply, catalogue)))
    if plan.command and plan.command.comment_id is not None and plan.decision in REACTIONS:
        steps.append(partial(comments.react, plan.command.comment_id, REACTIONS[plan.decision]))
    do_all(steps)


def reply_key(plan: Plan) -> str:
    """What a reply answers: the comment, or else the plan's own decision about its head."""
    if plan.command and plan.command.comment_id is not None:
        return f"comment-{plan.command.comment_id}"
    return f"{plan.decision.value}-{(plan.head or '')[:12]}"


def payloads(plan: Plan, order: Order, waivers: tuple[Waiver, ...] = ()) -> tuple[CheckPayload, ...]:
    """The checks that the Plan alone allows to write; none where the plan leaves them alone."""
    concluded = concluding.of_plan(plan)
    if concluded is None or plan.head is None:
        return ()
    mark = Mark(plan=plan.id, run=order[0], attempt=order[1])
    note = main_note(plan, concluded, waivers)
    if plan.decision is not Decision.RUN:
        return (payload(plan, mark, concluded, render.plain(plan, attempt=order[1]), note),)
    text = render.running(plan, attempt=order[1])
    legs = [
        payload(
            plan,
            Mark(plan=plan.id, run=order[0], attempt=order[1], leg=leg.id),
            concluded,
            text,
            notes.Note(state=concluded.state, leg=notes.of_leg(leg, key_of(leg, plan.product_commit))),
        )
        for leg in plan.legs
    ]
    return (payload(plan, mark, concluded, text, note), *legs)


def main_note(plan: Plan, concluded: Conclusion, waivers: tuple[Waiver, ...]) -> notes.Note:
    """What the required check of `plan` remembers."""
    asked = concluding.asked_of(plan)
    return notes.Note(
        state=concluded.state,
        ask=plan.ask,
        legs=tuple(leg.id for leg in plan.legs),
        left=asked.left,
        uncovered=asked.uncovered,
        proven=asked.proven,
        waivers=waivers,
    )


def _publish(plan: Plan, checks: Checks, bot_login: str, order: Order) -> None:
    if plan.head is None:
        return
    if plan.decision is Decision.CANCEL:
        _end(plan.head, checks, bot_login, concluding.ended(plan.because))
        return
    if plan.decision is Decision.WAIVED:
        waiving.apply(plan.waivers, Board(checks, plan.head, bot_login))
        return
    if concluding.of_plan(plan) is None:
        return
    board = Board(checks, plan.head, bot_login)
    if board.overtaken(order) or (plan.decision not in _TAKES_PLACE and board.has_answer):
        return
    wanted = payloads(plan, order, board.waivers)
    board.publish(wanted)
    board.close_older({one.name for one in wanted}, order, concluding.superseded())


def _end(head: Commit, checks: Checks, bot_login: str, concluded: Conclusion) -> None:
    """Close what is open on `head`. A commit that is not there any more has no checks."""
    try:
        board = Board(checks, head, bot_login)
    except NotFoundError:
        return
    board.close(board.unfinished, concluded, _ENDED)


def _take_over(plan: Plan, thread: Thread, checks: Checks, bot_login: str, order: Order) -> None:
    """Close what an older run left open on another head: from now on the comment tells of this one."""
    told = thread.sticky
    if told is None or not told.open or told.head in {None, plan.head} or told.order >= order:
        return
    _end(told.head or "", checks, bot_login, concluding.superseded(f"commit {(plan.head or '')[:12]}"))
