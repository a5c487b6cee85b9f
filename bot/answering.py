"""A comment to one Plan: every command in it is answered, at most one of them runs. No wording here."""

from typing import assert_never

import msgspec

from bot.choosing import Wish, choose
from bot.commands import Cancel, Command, CommandError, Explain, Help, Rerun, RunE2E, Waive, parse, text_of
from bot.desk import Desk
from bot.events import CommentCreated, Pull
from bot.gate import Ask, ByComment, Facts, Refused, decide, may_ask
from bot.phrases import misread, reason_of, refusal, selection_values, together, unusable
from bot.roles import Role
from bot.running import admitted
from levels.errors import UsageError
from levels.model import Suite
from levels.plan import Command as Noted
from levels.plan import Decision, LegModel, Plan, Reply, Selection


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
    noted = Noted(text=text_of(_main(found)), comment_id=event.comment)
    return msgspec.structs.replace(planned, command=noted)


def _main(found: tuple[Command | CommandError, ...]) -> Command | CommandError:
    return next((command for command in found if isinstance(command, RunE2E)), found[0])


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
        return self.desk.plan(
            Decision.REFUSED,
            reason_of(refused),
            number=self.pull.number,
            head=self.pull.head,
            reply=refusal(refused, self.event.actor),
        )

    def serve(self, found: tuple[Command | CommandError, ...]) -> Plan:
        """Run the first run command, answer all the others, in one reply."""
        run = next((command for command in found if isinstance(command, RunE2E) and not command.dry_run), None)
        planned = self._planned(run)
        parts = [planned.reply if command is run else self.reply(command) for command in found]
        reply = together(tuple(part for part in parts if part is not None))
        return msgspec.structs.replace(planned, reply=reply)

    def _planned(self, run: RunE2E | None) -> Plan:
        if run is None:
            because = "questions only; nothing runs"
            return self.desk.plan(Decision.ANSWER, because, number=self.pull.number, head=self.pull.head)
        try:
            return self.run(run)
        except UsageError as error:
            return self.desk.plan(
                Decision.ANSWER,
                f"{error.found}; expected {error.expected}",
                number=self.pull.number,
                head=self.pull.head,
                reply=unusable(run.text, error),
            )

    def run(self, command: RunE2E) -> Plan:
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
        )
        if planned.decision is not Decision.RUN:
            return planned
        return msgspec.structs.replace(planned, reply=Reply(template="queued", values={"actor": event.actor}))

    def reply(self, command: Command | CommandError) -> Reply:
        """The answer to a command that runs nothing."""
        match command:
            case CommandError():
                return misread(command)
            case RunE2E(dry_run=True):
                return self._dry_run(command)
            case RunE2E():
                problem = "a second run in one comment; write one command with all levels"
                return misread(CommandError(line=command.text, problem=problem))
            case Explain():
                return Reply(template="explain", values=selection_values(self.selection))
            case Help():
                return Reply(template="help")
            case Rerun() | Cancel() | Waive():
                return Reply(template="not-yet", values={"line": text_of(command)})
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


def _wish(command: RunE2E) -> Wish:
    return Wish(
        words=command.text,
        suites=(command.suite,) if command.suite else tuple(Suite),
        levels=command.levels,
        all_levels=command.all_levels,
        force=command.force,
    )
