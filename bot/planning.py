"""One Event to one Plan: glue for `plan`. Levels, roles and selections are decided by the modules that it calls."""

from typing import assert_never

from bot.answering import answer
from bot.choosing import Wish
from bot.desk import Desk
from bot.events import Action, CommentCreated, Event, Ignored, LabelAdded, LabelRemoved, MergeGroup, PullChanged
from bot.gate import Ask, ByLabel, Facts, Refused, decide
from bot.phrases import how_to_ask, named, reason_of, refusal, why_nothing
from bot.running import admitted
from levels.plan import Decision, Plan


def plan(event: Event, desk: Desk) -> Plan:
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
            return _grouped(event, desk)
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
    return desk.plan(decision, because, number=pull.number, head=pull.head, selection=selection)


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
    return admitted(desk, number=pull.number, base=pull.base, consent=answered.consent, selection=selection, wish=wish)


def _grouped(event: MergeGroup, desk: Desk) -> Plan:
    selection = desk.selection(lambda: desk.pulls.compared(event.base, event.head))
    if not selection.chosen:
        return desk.plan(Decision.NOT_NEEDED, why_nothing(selection), head=event.head, selection=selection)
    because = f"{named(selection)} needed, and this release does not carry a proof from a pull request into the queue"
    return desk.plan(Decision.NOT_ASKED, because, head=event.head, selection=selection)
