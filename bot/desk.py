"""What planning works with, and the questions that every kind of event asks of GitHub. No rules of its own."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bot.board import Board
from bot.policy import Policy
from bot.ports import ChangedFiles, Checks, Pulls, Roles
from bot.proofs import authenticated, proven
from bot.roles import Role
from levels.catalogue import Catalogue
from levels.errors import GitHubError
from levels.model import Commit
from levels.plan import Consent, Decision, Leg, LegModel, Plan, Proven, Reply, Selection, build_legs

Selector = Callable[[ChangedFiles, tuple[str, ...]], Selection]
"""Changed files, and why they may not be all, to a Selection."""

NOTHING = Selection(chosen=(), skipped=())


@dataclass(frozen=True, kw_only=True)
class Desk:
    """GitHub, the catalogue, the rules and the policy, as one argument."""

    pulls: Pulls
    roles: Roles
    checks: Checks
    catalogue: Catalogue
    select: Selector
    policy: Policy
    repository: str
    clone_url: str
    bot_login: str
    run_url: str | None = None
    attempt: int = 1
    rerun_by: str = ""
    """Who pressed re-run, when somebody did."""
    product_commit: Commit | None = None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    """GitHub's clock."""
    _boards: dict[Commit, Board] = field(default_factory=dict, repr=False)

    def board(self, head: Commit) -> Board:
        """Our checks on `head`, read once a process."""
        if head not in self._boards:
            self._boards[head] = Board(self.checks, head, self.bot_login)
        return self._boards[head]

    def selection(self, list_files: Callable[[], ChangedFiles]) -> Selection:
        """What the rules select; a list that cannot be had or is cut selects more, never less."""
        try:
            changed = list_files()
        except GitHubError as error:
            return self.select(
                ChangedFiles(files=(), truncated=True), (f"GitHub did not list the files ({error.doing})",)
            )
        doubts = (f"GitHub listed {len(changed.files)} files and no more",) if changed.truncated else ()
        return self.select(changed, doubts)

    def role(self, actor: str) -> Role | None:
        """The role of whoever asked, and no more than that of whoever pressed re-run; null when GitHub cannot say."""
        try:
            roles = [self.roles.role(login) for login in dict.fromkeys((actor, self.rerun_by or actor))]
        except GitHubError:
            return None
        return min(roles, key=list(Role).index)

    def check_since(self, head: Commit) -> datetime | None:
        """When a check of ours first stood on `head`."""
        mains = (one for one in self.board(head).entries if one.mark.leg is None)
        return min((one.run.since for one in mains if one.run.since), default=None)

    def merge_base(self, base: Commit, head: Commit) -> Commit | None:
        """The merge base; null when GitHub cannot say."""
        try:
            return self.pulls.merge_base(base, head)
        except GitHubError:
            return None

    def plan(
        self,
        decision: Decision,
        because: str,
        *,
        number: int | None = None,
        head: Commit | None = None,
        selection: Selection = NOTHING,
        reply: Reply | None = None,
    ) -> Plan:
        """A Plan that runs nothing."""
        return Plan(
            decision=decision,
            because=because,
            repository=self.repository,
            pull_request=number,
            head=head,
            base=None,
            consent=None,
            selection=selection,
            legs=(),
            reply=reply,
            run_url=self.run_url,
            attempt=self.attempt,
            product_commit=self.product_commit,
        )

    def run(
        self,
        *,
        number: int | None,
        base: Commit | None,
        consent: Consent,
        selection: Selection,
        model: LegModel | None,
        ask: str,
        reuse: bool = True,
    ) -> Plan:
        """A Plan that runs `selection` on the consented commit, without the legs that are proven there already."""
        legs = build_legs(
            self.catalogue,
            selection,
            bridge_repository=self.clone_url,
            bridge_commit=consent.commit,
            mcore_commit=None,
            model=model,
            bridge_base=base,
        )
        done = self._proven(legs, consent.commit) if reuse else ()
        legs = tuple(leg for leg in legs if leg.id not in {one.leg for one in done})
        names = ", ".join(leg.title for leg in legs)
        because = f"{names}: asked for by {consent.actor} through {consent.via}"
        if not legs:
            because = ", ".join(f"{one.suite.label} L{one.level}" for one in done) + " passed before on this commit"
        return Plan(
            decision=Decision.RUN if legs else Decision.PROVEN,
            because=because,
            repository=self.repository,
            pull_request=number,
            head=consent.commit,
            base=base,
            consent=consent,
            selection=selection,
            legs=legs,
            run_url=self.run_url,
            convergence=self.policy.convergence,
            attempt=self.attempt,
            product_commit=self.product_commit,
            ask=ask,
            proven=done,
        )

    def _proven(self, legs: tuple[Leg, ...], head: Commit) -> tuple[Proven, ...]:
        """What need not run again. Without an app of our own nothing is believed; without an answer everything runs."""
        if not authenticated(self.bot_login):
            return ()
        max_age = timedelta(hours=self.policy.proof_max_age_hours)
        try:
            board = self.board(head)
        except GitHubError:
            return ()
        return proven(legs, board, product_commit=self.product_commit, now=self.now(), max_age=max_age)
