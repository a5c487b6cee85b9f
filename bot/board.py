"""Our check runs of one commit: who may overwrite whom. What they conclude and say never belongs here.

A completed check run cannot be reopened, so a new plan creates new ones and the newest wins.
Source: lyft/atlantis#265; GITHUB.md section 3. "Newer" is told by the workflow run's id, never by the order in which
answers arrive: two receipts, or a receipt and a report, may write in any order.
"""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from bot import notes
from bot.checks import CRASHED, Mark, for_commit, mark_of
from bot.comments import Order
from bot.notes import FINAL, Note
from bot.ports import CheckPayload, CheckRun, Checks, CheckStatus
from levels.conclusion import Conclusion, GateState
from levels.model import Record
from levels.plan import Waiver


class Entry(Record, frozen=True, kw_only=True):
    """One check run of ours."""

    mark: Mark
    run: CheckRun
    note: Note | None

    @property
    def done(self) -> bool:
        """Whether it is completed."""
        return self.run.status == CheckStatus.COMPLETED

    @property
    def final(self) -> bool:
        """Whether it was ended on purpose: cancelled, superseded, or without a runner for too long."""
        return self.done and self.note is not None and self.note.state in FINAL


class Board:
    """Our check runs of one commit, as they were when it was made."""

    def __init__(self, checks: Checks, head: str, bot_login: str) -> None:
        """Read them."""
        self._checks = checks
        self._head = head
        self._login = bot_login
        self._own = [
            Entry(mark=mark, run=run, note=notes.read(run.text))
            for run in checks.on(head)
            if run.author == bot_login and (mark := mark_of(run.external_id)) is not None and run.name == mark.name
        ]

    @property
    def has_answer(self) -> bool:
        """Whether the required check says something that a question must not wipe out.

        A crashed plan and a run that was ended say nothing about the change.
        """
        return self.main is not None and not self.main.final

    @property
    def main(self) -> Entry | None:
        """The newest required check that came of a plan."""
        mains = (one for one in self._own if one.mark.leg is None and one.mark.plan != CRASHED)
        return max(mains, key=lambda one: (one.mark.order, one.run.id), default=None)

    @property
    def unfinished(self) -> tuple[Entry, ...]:
        """What is still queued or in progress."""
        return tuple(one for one in self._own if not one.done)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All of them, oldest check run first."""
        return tuple(self._own)

    @property
    def waivers(self) -> tuple[Waiver, ...]:
        """What people have accepted on this commit: the newest word for each level."""
        found = (one for entry in self._own if entry.note and entry.mark.leg is None for one in entry.note.waivers)
        return merged(tuple(one for one in found if one.commit == self._head))

    def legs(self, main: Entry) -> tuple[Entry, ...]:
        """The newest check of each leg that belongs to `main`."""
        same = [one for one in self._own if one.mark.leg and one.mark.plan == main.mark.plan]
        return tuple({one.mark.leg: one for one in same}.values())

    def overtaken(self, order: Order) -> bool:
        """Whether a newer run has its required check on this commit."""
        return any(one.mark.leg is None and one.mark.plan != CRASHED and one.mark.order > order for one in self._own)

    def keeps(self, mark: Mark) -> bool:
        """Whether the check of `mark` was ended on purpose, so that this attempt has nothing to say about it."""
        same = self._same(mark)
        return bool(same) and same[-1].final and same[-1].mark.order >= mark.order

    def publish(self, payloads: Sequence[CheckPayload]) -> None:
        """Make GitHub say what `payloads` say: each created once, and never over a newer attempt."""
        for wanted in payloads:
            self._put(wanted)

    def close(self, entries: Iterable[Entry], concluded: Conclusion, summary: str) -> None:
        """Close `entries` as `concluded` says; they keep what they remember."""
        for one in entries:
            note = one.note or Note(state=concluded.state)
            kept = msgspec.structs.replace(note, state=concluded.state)
            wanted = for_commit(self._head, one.mark, concluded, summary, one.run.details_url, kept)
            self._checks.update(one.run.id, wanted)

    def remember(self, entry: Entry, note: Note) -> None:
        """Give an open check run other memories; what it shows stays."""
        shown = Conclusion(
            state=note.state, status="in_progress", conclusion=None, title=entry.run.title or note.state.value
        )
        wanted = for_commit(self._head, entry.mark, shown, entry.run.summary, entry.run.details_url, note)
        self._checks.update(entry.run.id, wanted)

    def rewrite(self, entry: Entry, concluded: Conclusion, summary: str, note: Note) -> None:
        """Make a check run say something else."""
        wanted = for_commit(self._head, entry.mark, concluded, summary, entry.run.details_url, note)
        self._checks.update(entry.run.id, wanted)

    def close_older(self, names: Collection[str], order: Order, concluded: Conclusion) -> None:
        """Close what older runs left unfinished under `names`; their other legs go on."""
        older = (one for one in self.unfinished if one.mark.order < order and one.run.name in names)
        self.close(older, concluded, "A newer run on this commit took its place.")

    def _same(self, mark: Mark | None) -> list[Entry]:
        return [one for one in self._own if mark and (one.mark.plan, one.mark.leg) == (mark.plan, mark.leg)]

    def _put(self, wanted: CheckPayload) -> None:
        mark = mark_of(wanted.external_id)
        same = self._same(mark)
        if mark is None:
            return
        if not same:
            if not self._has_newer(mark):
                self._create(wanted)
            return
        newest = same[-1]
        reopens = newest.done and wanted.status is not CheckStatus.COMPLETED
        if newest.mark.order > mark.order or (newest.mark.order == mark.order and (reopens or newest.final)):
            return
        if reopens:
            self._create(wanted)
            return
        self._checks.update(newest.run.id, wanted)
        if wanted.status is CheckStatus.COMPLETED and self._hidden(newest, mark):
            self._create(wanted, after=newest.run.id)

    def _create(self, wanted: CheckPayload, *, after: int = 0) -> None:
        """Anybody can write our `external_id`: ours is what our own app wrote, after check run `after`."""

        def is_it(run: CheckRun) -> bool:
            return run.author == self._login and run.external_id == wanted.external_id and run.id > after

        self._checks.create(wanted, is_it)

    def _has_newer(self, mark: Mark) -> bool:
        """Whether a newer run has a check of this name: one made now would hide it."""
        return any(one.mark.order > mark.order and one.mark.leg == mark.leg for one in self._own)

    def _hidden(self, newest: Entry, mark: Mark) -> bool:
        """Whether an older run wrote a check of this name later, which the page would show instead."""
        same_name = (one for one in self._own if one.run.name == newest.run.name)
        return any(one.mark.order < mark.order and one.run.id > newest.run.id for one in same_name)


def merged(waivers: Iterable[Waiver]) -> tuple[Waiver, ...]:
    """One waiver for each suite and level: the one from the latest comment."""
    newest: dict[tuple[str, int], Waiver] = {}
    for one in sorted(waivers, key=lambda waiver: waiver.comment_id):
        newest[one.suite.value, one.level] = one
    return tuple(newest.values())


def queued(state: GateState) -> bool:
    """Whether `state` is one of a check that is still open."""
    return state in {GateState.QUEUED, GateState.RUNNING}
