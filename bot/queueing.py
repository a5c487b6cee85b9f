"""A group of the merge queue to one Plan: carried proofs, or level 0 on the group. No information is an answer: no.

The queue builds one branch for each entry, `gh-readonly-queue/<base>/pr-<number>-<commit it is built on>`. From the
group's branch down these name every pull request in the group; a gap in them means that we do not know who is in it.
Source: GITHUB.md sections 1 and 4.
"""

import re
from typing import Final, assert_never

from bot.choosing import Wish, choose
from bot.commands import RunE2E
from bot.desk import Desk
from bot.events import MergeGroup
from bot.phrases import named, why_nothing
from bot.policy import MergeQueue
from bot.proofs import authenticated
from levels.conclusion import GateState
from levels.model import Commit, Suite
from levels.plan import Consent, Decision, Plan, Selection

_ENTRY: Final = re.compile(
    r"(?P<queue>gh-readonly-queue/.{1,255})/pr-(?P<number>\d{1,9})-(?P<base>[0-9a-f]{40})", re.ASCII
)
_CARRIES: Final = frozenset({GateState.PASSED, GateState.NOT_NEEDED, GateState.WAIVED})
MAX_ENTRIES: Final = 100
"""Of one group. Source: GITHUB.md section 4."""


def grouped(event: MergeGroup, desk: Desk) -> Plan:
    """What the required check of a merge group is to say, or level 0 on it; never nothing."""
    selection = desk.selection(lambda: desk.pulls.compared(event.base, event.head))
    if not selection.chosen:
        return desk.plan(Decision.NOT_NEEDED, why_nothing(selection), head=event.head, selection=selection)
    match desk.policy.merge_queue:
        case MergeQueue.CARRY:
            return _carried(event, desk, selection)
        case MergeQueue.RUN:
            return _run(event, desk, selection)
        case _:
            assert_never(desk.policy.merge_queue)


def _run(event: MergeGroup, desk: Desk, selection: Selection) -> Plan:
    """Level 0 of the suites that the group's files need. Who may merge may run: GitHub let them into the queue."""
    suites = tuple(suite for suite in Suite if any(choice.suite is suite for choice in selection.chosen))
    wish = Wish(words="the merge queue", suites=suites, levels=(0,))
    via = f"merge queue {event.branch}"
    consent = Consent(
        actor=event.actor, role="merge queue", via=via, commit=event.head, given_at=desk.now().isoformat()
    )
    # What is left out for being above level 0 is the queue's policy, and no reason to ask anybody.
    chosen = choose(Selection(chosen=(), skipped=selection.skipped), wish, desk.catalogue)
    ask = RunE2E(levels=(0,)).text
    return desk.run(number=None, base=event.base, consent=consent, selection=chosen, model=None, ask=ask, reuse=False)


def _carried(event: MergeGroup, desk: Desk, selection: Selection) -> Plan:
    def say(decision: Decision, because: str) -> Plan:
        return desk.plan(decision, because, head=event.head, selection=selection)

    if not authenticated(desk.bot_login):
        because = (
            f"{named(selection)} needed; under GITHUB_TOKEN no proof of a pull request counts: use a GitHub App of "
            "your own, or the policy merge_queue: run"
        )
        return say(Decision.UNPROVEN, because)
    numbers = members(event, desk)
    if not numbers:
        return say(Decision.UNPROVEN, f"the queue's branches do not tell which pull requests are in {event.branch}")
    answers = [(number, *_proof(number, desk)) for number in numbers]
    lacking = [f"#{number}: {says}" for number, fine, says in answers if not fine]
    if lacking:
        return say(Decision.UNPROVEN, "; ".join(lacking))
    return say(Decision.CARRIED, "; ".join(f"#{number}: {says}" for number, _, says in answers))


def members(event: MergeGroup, desk: Desk) -> tuple[int, ...]:
    """The pull requests of the group, last one first; none when the branches leave a gap."""
    found = _ENTRY.fullmatch(event.branch)
    if found is None:
        return ()
    numbers = [int(found["number"])]
    if found["base"] == event.base:
        return tuple(numbers)
    branches = desk.pulls.branches(f"{found['queue']}/pr-")
    by_tip: dict[Commit, re.Match[str]] = {
        tip: entry for name, tip in branches.items() if (entry := _ENTRY.fullmatch(name)) is not None
    }
    below = found["base"]
    while below != event.base:
        entry = by_tip.get(below)
        if entry is None or len(numbers) >= MAX_ENTRIES:
            return ()
        numbers.append(int(entry["number"]))
        below = entry["base"]
    return tuple(numbers)


def _proof(number: int, desk: Desk) -> tuple[bool, str]:
    """Whether the head of a pull request has an answer that counts, and what it is."""
    head = desk.pulls.pull(number).head
    main = desk.board(head).main
    if main is None or main.note is None:
        return False, f"no check of ours on {head[:12]}"
    fine = main.done and main.run.conclusion == "success" and main.note.state in _CARRIES
    return fine, main.run.title
