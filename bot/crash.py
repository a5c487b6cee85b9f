"""What is said on the pull request when no Plan could be made: a closed check and a link, never a trace."""

from collections.abc import Callable
from functools import partial

from bot import concluding, render
from bot.board import Board
from bot.checks import CRASHED, Mark, for_commit
from bot.commands import parse
from bot.comments import Order, Thread
from bot.events import CommentCreated, Event, LabelAdded, MergeGroup, PullChanged
from bot.ports import Checks, Comments, Pulls
from bot.steps import do_all
from levels.model import Commit


def tell(
    event: Event,
    *,
    pulls: Pulls,
    checks: Checks,
    comments: Comments,
    bot_login: str,
    order: Order,
    run_url: str | None,
) -> bool:
    """Close the required check as a failure of ours, and answer who asked; false when the event needs neither.

    Raises:
        GitHubError: after everything was tried.

    """
    text = render.crashed(run_url)
    steps: list[Callable[[], object]] = []
    match event:
        case CommentCreated() if not parse(event.body):
            return False
        case CommentCreated():
            thread = Thread(comments, event.number, bot_login)
            steps.append(partial(thread.reply, f"comment-{event.comment}", text))
            steps.append(lambda: _close(pulls.pull(event.number).head, checks, bot_login, order, run_url))
        case LabelAdded() | PullChanged():
            steps.append(partial(_close, event.pull.head, checks, bot_login, order, run_url))
        case MergeGroup():
            steps.append(partial(_close, event.head, checks, bot_login, order, run_url))
        case _:
            return False
    do_all(steps)
    return True


def _close(head: Commit, checks: Checks, bot_login: str, order: Order, run_url: str | None) -> None:
    """An answer that stands there already is kept: our trouble says nothing about the change."""
    board = Board(checks, head, bot_login)
    if board.has_answer:
        return
    mark = Mark(plan=CRASHED, run=order[0], attempt=order[1])
    wanted = for_commit(head, mark, concluding.crashed(), render.crashed(run_url), run_url)
    board.publish((wanted,))
