"""A comment to one Plan: every command in it is answered, at most one of them acts. No wording here."""

from typing import assert_never

import msgspec

from bot import waiving
from bot.choosing import Wish, choose
from bot.commands import Cancel, Command, CommandError, Explain, Help, Rerun, RunE2E, Waive, parse, text_of
from bot.desk import Desk
from bot.events import CommentCreated, Pull
from bot.gate import Ask, ByComment, Facts, Refused, decide, may_ask, may_run
from bot.phrases import misread, reason_of, refusal, selection_values, together, unusable
from bot.proofs import authenticated
from bot.roles import Role
from bot.running import admitted
from levels.errors import UsageError
from levels.model import Outcome, Suite
from levels.plan import Command as Noted
from levels.plan import Decision, LegModel, Plan, Reply, Selection, Waiver

_NOT_REUSED = "all of it runs again: under GITHUB_TOKEN any workflow could have written the earlier results"


def answer(event: CommentCreated, desk: Desk) -> Plan:
    """The Plan for a comment; ignored when it holds no command.

    Raises:
        GitHubError: when GitHub does not say what the head is or which checks it has.

    """
    found = parse(event.body)
    if not found:
        return desk.plan(Decision.IGNORED, "a comment without a command", number=event.number)
    counter = _Counter(event, desk)
    refused = may_ask(counter.role, event.actor, desk.policy)
    planned = counter.refuse(refused) if refused is not None else counter.serve(found)
    noted = Noted(text=text_of(_acting(found) or found[0]), comment_id=event.comment)
    return msgspec.structs.replace(planned, command=noted)


def _acting(found: tuple[Command | CommandError, ...]) -> RunE2E | Rerun | Cancel | Waive | None:
    """The first command that changes anything; one comment acts once."""
    for command in found:
        if isinstance(command, Rerun | Cancel | Waive) or (isinstance(command, RunE2E) and not command.dry_run):
            return command
    return None


class _Counter:
    """One comment's commands, with what GitHub says about the pull request and the person."""

    def __init__(self, event: CommentCreated, desk: Desk) -> None:
        self.event = event
        self.desk = desk
        self.pull: Pull = desk.pulls.pull(event.number)
        self.role: Role | None = desk.role(event.actor)
        self._selection: Selection | None = None

    @property
    def selection(self) -> Selection:
        """What the rules select; asked for once."""
        if self._selection is None:
            self._selection = self.desk.selection(lambda: self.desk.pulls.files(self.pull.number))
        return self._selection

    def refuse(self, refused: Refused) -> Plan:
        """The Plan of somebody who may not."""
        return self.plan(Decision.REFUSED, reason_of(refused), refusal(refused, self.event.actor))

    def plan(self, decision: Decision, because: str, reply: Reply | None = None) -> Plan:
        """A Plan about the head that runs nothing."""
        return self.desk.plan(decision, because, number=self.pull.number, head=self.pull.head, reply=reply)

    def serve(self, found: tuple[Command | CommandError, ...]) -> Plan:
        """Let the first command act that acts, answer all the others, in one reply."""
        acting = _acting(found)
        planned, done = self._act(acting, found)
        parts = [self.reply(command) if id(command) not in done else done[id(command)] for command in found]
        reply = together(tuple(part for part in parts if part is not None))
        return msgspec.structs.replace(planned, reply=reply)

    def _act(
        self, acting: RunE2E | Rerun | Cancel | Waive | None, found: tuple[Command | CommandError, ...]
    ) -> tuple[Plan, dict[int, Reply | None]]:
        """The Plan, and the answers to the commands that it serves, by their identity."""
        if isinstance(acting, Waive):
            return self.waive([command for command in found if isinstance(command, Waive)])
        if acting is None:
            return self.plan(Decision.ANSWER, "questions only; nothing runs"), {}
        planned = self._planned(acting)
        return planned, {id(acting): planned.reply}

    def _planned(self, command: RunE2E | Rerun | Cancel) -> Plan:
        try:
            match command:
                case RunE2E():
                    return self.run(command, reuse=not command.force)
                case Rerun():
                    return self.rerun(command)
                case Cancel():
                    return self.cancel(command)
                case _:
                    assert_never(command)
        except UsageError as error:
            because = f"{error.found}; expected {error.expected}"
            return self.plan(Decision.ANSWER, because, unusable(text_of(command), error))

    def run(self, command: RunE2E, *, reuse: bool, remark: str = "") -> Plan:
        """The Plan for `/run-e2e`."""
        event, pull = self.event, self.pull
        refused = self._closed()
        if refused is not None:
            return self.refuse(refused)
        ask = Ask(
            via=ByComment(comment=event.comment, sha=command.sha),
            actor=event.actor,
            at=event.at,
            head=pull.head,
            fork=pull.fork,
        )
        since = None if command.sha else self.desk.check_since(pull.head)
        answered = decide(ask, Facts(role=self.role, check_since=since), self.desk.policy)
        if isinstance(answered, Refused):
            return self.refuse(answered)
        planned = admitted(
            self.desk,
            number=pull.number,
            base=pull.base,
            consent=answered.consent,
            selection=self.selection,
            wish=_wish(command),
            model=self._model(command),
            ask=msgspec.structs.replace(command, sha=None).text,
            reuse=reuse,
        )
        if planned.decision not in {Decision.RUN, Decision.PROVEN}:
            return planned
        return msgspec.structs.replace(planned, reply=_queued(planned, event.actor, remark))

    def rerun(self, command: Rerun) -> Plan:
        """The Plan for `rerun`: what the newest run on this commit was asked for, once more.

        Raises:
            UsageError: when there was none, or when nothing of it failed.

        """
        main = self.desk.board(self.pull.head).main
        asked = parse(main.note.ask) if main and main.note else ()
        if main is None or len(asked) != 1 or not isinstance(asked[0], RunE2E):
            raise _nothing(f"no run on {self.pull.head[:12]}", "a run of this commit", f"/run-e2e sha={self.pull.head}")
        if not command.failed:
            return self.run(asked[0], reuse=False)
        legs = self.desk.board(self.pull.head).legs(main)
        if legs and all(one.note and one.note.leg and one.note.leg.outcome is Outcome.PASS for one in legs):
            raise _nothing("that everything passed", "a level that did not pass", "/run-e2e rerun")
        known = authenticated(self.desk.bot_login)
        return self.run(asked[0], reuse=known, remark="" if known else _NOT_REUSED)

    def cancel(self, command: Cancel) -> Plan:
        """The Plan for `cancel`.

        Raises:
            UsageError: when nothing runs.

        """
        refused = may_run(self.role, self.event.actor, self.desk.policy, "cancelling a run")
        if refused is not None:
            return self.refuse(refused)
        running = [one for one in self.desk.board(self.pull.head).unfinished if one.mark.leg]
        if not running:
            raise _nothing(f"nothing that runs on {self.pull.head[:12]}", "a run", "/run-e2e")
        titles = "\n".join(one.note.leg.title if one.note and one.note.leg else one.run.name for one in running)
        values = {"actor": self.event.actor, "line": text_of(command), "legs": titles}
        return self.plan(
            Decision.CANCEL, f"cancelled by {self.event.actor}", Reply(template="cancelled", values=values)
        )

    def waive(self, commands: list[Waive]) -> tuple[Plan, dict[int, Reply | None]]:
        """The Plan for all `waive` of one comment, each decided for itself."""
        board = self.desk.board(self.pull.head)
        given: list[Waiver] = []
        replies: dict[int, Reply | None] = {}
        for command in commands:
            decided = waiving.decide(
                command,
                actor=self.event.actor,
                role=self.role,
                author=self.pull.author,
                board=board,
                head=self.pull.head,
                comment=self.event.comment,
            )
            if isinstance(decided, Refused):
                replies[id(command)] = refusal(decided, self.event.actor)
                continue
            given.append(decided)
            level = f"{command.suite.label} L{command.level}"
            values = {"actor": decided.actor, "role": decided.role, "level": level, "reason": decided.reason}
            replies[id(command)] = Reply(template="waived", values=values)
        if not given:
            return self.plan(Decision.ANSWER, "no waiver was accepted"), replies
        names = ", ".join(f"{one.suite.label} L{one.level}" for one in given)
        planned = self.plan(Decision.WAIVED, f"{names} waived by {self.event.actor}")
        return msgspec.structs.replace(planned, waivers=tuple(given)), replies

    def reply(self, command: Command | CommandError) -> Reply:
        """The answer to a command that does not act."""
        match command:
            case CommandError():
                return misread(command)
            case RunE2E(dry_run=True):
                return self._dry_run(command)
            case RunE2E() | Rerun() | Cancel() | Waive():
                problem = (
                    "one comment starts, ends or waives once, and an earlier line has; write it in a comment of its own"
                )
                return misread(CommandError(line=text_of(command), problem=problem))
            case Explain():
                return Reply(template="explain", values=selection_values(self.selection))
            case Help():
                return Reply(template="help")
            case _:
                assert_never(command)

    def _dry_run(self, command: RunE2E) -> Reply:
        try:
            self._model(command)
            chosen = choose(self.selection, _wish(command), self.desk.catalogue)
        except UsageError as error:
            return unusable(command.text, error)
        return Reply(template="dry-run", values={"line": command.text, **selection_values(chosen)})

    def _closed(self) -> Refused | None:
        if self.pull.open and not self.pull.draft:
            return None
        state = "a draft" if self.pull.open else "closed"
        return Refused(
            doing="reading a command",
            found=f"the pull request is {state}",
            expected="one that is open and ready for review",
            hint="mark it ready for review, then ask again" if self.pull.open else "reopen it, then ask again",
        )

    def _model(self, command: RunE2E) -> LegModel | None:
        """The allow-listed model that the command names.

        Raises:
            UsageError: for a name that pins.yaml of our own commit does not have.

        """
        if command.model is None:
            return None
        models = {pin.name: pin for pin in self.desk.catalogue.pins.models}
        if command.model not in models:
            raise UsageError(
                doing="looking up a model",
                found=f"model={command.model}",
                expected="one of " + ", ".join(sorted(models)),
                next_step="ask for a model of the list, or propose a pin in a pull request to bridge-e2e",
            )
        return LegModel(name=command.model, revision=models[command.model].revision)


def _queued(planned: Plan, actor: str, remark: str) -> Reply:
    proven = "\n".join(f"{one.title}\t{one.at}\t{one.url or ''}" for one in planned.proven)
    return Reply(template="queued", values={"actor": actor, "proven": proven, "remark": remark})


def _nothing(found: str, expected: str, command: str) -> UsageError:
    return UsageError(
        doing="looking for what the command is about", found=found, expected=expected, next_step=f"comment {command}"
    )


def _wish(command: RunE2E) -> Wish:
    return Wish(
        words=command.text,
        suites=(command.suite,) if command.suite else tuple(Suite),
        levels=command.levels,
        all_levels=command.all_levels,
        force=command.force,
    )
