"""Waivers: who may accept what, and what the required check then says. Reading commands never belongs here.

Two things cannot be waived by anybody: a run that tested another tree, and a level about which nothing is known.
"""

from typing import Final

import msgspec

from bot import concluding
from bot.board import Board, Entry, merged
from bot.commands import Waive
from bot.escape import md
from bot.gate import Refused
from bot.render import CHECK_UNITS, size_bytes
from bot.roles import Role
from levels.conclusion import GateState
from levels.model import Boundary, Commit, Outcome
from levels.plan import Waiver

MINIMUM: Final = Role.MAINTAIN
"""Not configurable."""
_DOING: Final = "waiving a level"


def decide(
    command: Waive, *, actor: str, role: Role | None, author: str, board: Board, head: Commit, comment: int
) -> Waiver | Refused:
    """Whether this person may accept this level on this commit."""
    refused = _by_person(actor, role, author) or _by_result(command, board, head)
    if refused is not None:
        return refused
    return Waiver(
        suite=command.suite,
        level=command.level,
        actor=actor,
        role=(role or Role.NONE).value,
        reason=command.reason,
        commit=head,
        comment_id=comment,
    )


def _by_person(actor: str, role: Role | None, author: str) -> Refused | None:
    if role is None or not role.at_least(MINIMUM):
        found = f"{actor} has role {role.value}" if role else f"no answer from GitHub about the role of {actor}"
        return Refused(
            doing=_DOING,
            found=found,
            expected=f"role {MINIMUM.value} or above",
            hint=f"ask a person with role {MINIMUM.value}",
        )
    if actor.lower() == author.lower():
        return Refused(
            doing=_DOING,
            found=f"{actor} opened the pull request",
            expected="somebody else",
            hint=f"ask another person with role {MINIMUM.value}",
        )
    return None


def _by_result(command: Waive, board: Board, head: Commit) -> Refused | None:
    name = f"{command.suite.label} L{command.level}"
    main = board.main
    legs = _legs(command, board)
    if main is None or not legs:
        return _refused(f"no run of {name} on {head[:12]}", "a run that did not pass", f"comment /run-e2e sha={head}")
    if not main.done or any(not one.done for one in legs):
        return _refused(f"{name} is still running", "a run that has ended", "wait for its result")
    open_legs = [one for one in legs if _outcome(one) is not Outcome.PASS]
    if not open_legs:
        return _refused(f"{name} passed on {head[:12]}", "a level that did not pass", "nothing has to be done")
    for one in open_legs:
        refused = _unwaivable(one, name, head)
        if refused is not None:
            return refused
    return None


def _unwaivable(entry: Entry, name: str, head: Commit) -> Refused | None:
    leg = entry.note.leg if entry.note else None
    again = f"comment /run-e2e sha={head}"
    if entry.final or leg is None or leg.outcome is None or leg.proof != "full":
        return _refused(f"nothing is known about {name}", "a verdict on whole evidence; an unknown state is not", again)
    if leg.boundary is Boundary.BRIDGE_IMPORT:
        return _refused(f"{name} tested another tree (bridge-import)", "a run of this checkout", again)
    return None


def _refused(found: str, expected: str, hint: str) -> Refused:
    return Refused(doing=_DOING, found=found, expected=expected, hint=hint)


def _legs(command: Waive, board: Board) -> list[Entry]:
    main = board.main
    return [
        one
        for one in (board.legs(main) if main else ())
        if one.note and one.note.leg and (one.note.leg.suite, one.note.leg.level) == (command.suite, command.level)
    ]


def _outcome(entry: Entry) -> Outcome | None:
    return entry.note.leg.outcome if entry.note and entry.note.leg else None


def apply(waivers: tuple[Waiver, ...], board: Board) -> None:
    """Make the required check say what is waived. The checks of the legs stay as they are.

    A newer run that has begun meanwhile only remembers them: its own result will count them.
    """
    main = board.main
    if main is None or main.note is None:
        return
    remembered = merged((*board.waivers, *waivers))
    note = msgspec.structs.replace(main.note, waivers=remembered)
    if not main.done:
        board.remember(main, note)
        return
    legs = [one.note.leg for one in board.legs(main) if one.note and one.note.leg]
    concluded = concluding.of_notes(main.note, legs, remembered)
    if concluded.state is GateState.BLOCKED and main.final:
        return
    summary = _summary(main.run.summary, remembered)
    note = msgspec.structs.replace(note, state=concluded.state)
    board.rewrite(main, concluded, summary, note)


def lines(waivers: tuple[Waiver, ...]) -> str:
    """One line for each waiver."""
    return "".join(
        f"**Waived** by {md(one.actor)} ({one.role}): {one.suite.label} L{one.level}: {md(one.reason, 500)}\n\n"
        for one in waivers
    )


def _summary(old: str, waivers: tuple[Waiver, ...]) -> str:
    """What the check showed, below the waivers; alone when both do not fit."""
    said = lines(waivers)
    rest = old
    while rest.startswith("**Waived** by "):
        rest = rest.partition("\n\n")[2]
    both = said + rest
    return both if size_bytes(both) <= CHECK_UNITS else said
