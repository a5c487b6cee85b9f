"""One Event to one Plan: glue for `plan`. Levels, roles and selections are decided by the modules that it calls."""

from typing import assert_never

import msgspec

from bot.answering import answer
from bot.choosing import Wish
from bot.commands import RunE2E
from bot.desk import Desk
from bot.events import (
    Action,
    CommentCreated,
    Event,
    Ignored,
    LabelAdded,
    LabelRemoved,
    MergeGroup,
    PullChanged,
    PullStopped,
)
from bot.gate import Ask, ByLabel, Facts, Refused, decide
from bot.phrases import how_to_ask, named, reason_of, refusal, why_nothing
from bot.queueing import grouped
from bot.running import admitted
from levels.plan import Decision, Plan


def plan(event: Event, desk: Desk) -> Plan:  # noqa: PLR0911 - one branch for each kind of event
    """What is to be done about `event`.

    Raises:
        GitHubError: when GitHub does not say what the head is or which checks it has.

    """
    match event:
        case LabelAdded():
            return _labelled(event, desk)
        case PullChanged():
            return _changed(event, desk)
        case CommentCreated():
            return answer(event, desk)
        case MergeGroup():
            return grouped(event, desk)
        case PullStopped():
            return _stopped(event, desk)
        case LabelRemoved():
            because = f"label {event.label} was removed; what already runs goes on"
            return desk.plan(Decision.IGNORED, because, number=event.pull.number)
        case Ignored(reason=reason):
            return desk.plan(Decision.IGNORED, reason)
        case _:
            assert_never(event)


def _changed(event: PullChanged, desk: Desk) -> Plan:
    """A head gets its check: not needed, or needed and nobody asked yet."""
    pull = event.pull
    selection = desk.selection(lambda: desk.pulls.files(pull.number))
    if not selection.chosen:
        decision, because = Decision.NOT_NEEDED, why_nothing(selection)
    elif event.action is Action.SYNCHRONIZE and desk.policy.suites(pull.labels):
        decision, because = Decision.VOID, f"new commits arrived; {how_to_ask(pull.head)}"
    else:
        decision, because = Decision.NOT_ASKED, f"{named(selection)} needed; {how_to_ask(pull.head)}"
    planned = desk.plan(decision, because, number=pull.number, head=pull.head, selection=selection)
    return msgspec.structs.replace(planned, replaces=event.before)


def _labelled(event: LabelAdded, desk: Desk) -> Plan:
    pull = event.pull
    ask = Ask(via=ByLabel(label=event.label), actor=event.actor, at=event.at, head=pull.head, fork=pull.fork)
    answered = decide(ask, Facts(role=desk.role(event.actor), check_since=desk.check_since(pull.head)), desk.policy)
    selection = desk.selection(lambda: desk.pulls.files(pull.number))
    if isinstance(answered, Refused):
        reply = refusal(answered, event.actor)
        return desk.plan(
            Decision.REFUSED, reason_of(answered), number=pull.number, head=pull.head, selection=selection, reply=reply
        )
    labels = tuple(dict.fromkeys((event.label, *pull.labels)))
    wish = Wish(words=f"label {event.label}", suites=desk.policy.suites(labels))
    again = RunE2E(suite=wish.suites[0] if len(wish.suites) == 1 else None).text
    return admitted(
        desk, number=pull.number, base=pull.base, consent=answered.consent, selection=selection, wish=wish, ask=again
    )


def _stopped(event: PullStopped, desk: Desk) -> Plan:
    """What still runs is ended; where nothing runs, nothing is said."""
    pull = event.pull
    state = "made a draft" if pull.open else "closed"
    if not desk.board(pull.head).unfinished:
        return desk.plan(Decision.IGNORED, f"pull request {state}: nothing runs", number=pull.number)
    because = f"pull request {state} by {event.actor}"
    return desk.plan(Decision.CANCEL, because, number=pull.number, head=pull.head)
