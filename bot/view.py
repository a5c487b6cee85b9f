"""One planned leg with its verdict and its level, ready to print. Escaping and layout never belong here."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from levels.catalogue import Catalogue, limitations_of, variants_of
from levels.errors import UsageError
from levels.model import Outcome
from levels.plan import Leg, Plan
from levels.rows import OWNERS
from levels.verdict import LegVerdict, Met, Verdict


@dataclass(frozen=True, kw_only=True)
class LegView:
    """What the templates say about one leg. Without a verdict it counts as Blocked."""

    leg: Leg
    verdict: LegVerdict | None
    proves: tuple[str, ...]
    does_not_prove: tuple[str, ...]
    limitations: tuple[str, ...]
    text: str
    """The plain-text summary; empty without a verdict."""
    pull_request: int | None

    @property
    def title(self) -> str:
        """Suite, level and variants."""
        return " + ".join((self.leg.title, *self.leg.variants))

    @property
    def outcome(self) -> str:
        """The word of the verdict."""
        return self.verdict.outcome.value if self.verdict else Outcome.BLOCKED.value

    @property
    def passed(self) -> bool:
        """Whether the level passed."""
        return self.verdict is not None and self.verdict.outcome is Outcome.PASS

    @property
    def no_evidence_against(self) -> bool:
        """Whether the sentence about no evidence against the provider must stand here."""
        return self.outcome == Outcome.BLOCKED.value

    @property
    def sentence(self) -> str:
        """What was validated, or why not."""
        return self.verdict.sentence if self.verdict else "There is no verdict for this level."

    @property
    def boundary(self) -> str:
        """Where it broke; empty when it did not."""
        return self.verdict.boundary.value if self.verdict and self.verdict.boundary else ""

    @property
    def attribution(self) -> str:
        """Who must act; empty when nobody must."""
        if self.verdict is None or self.verdict.attribution is None:
            return ""
        shared = self.verdict.comparison == "shared-with-base"
        return self.verdict.attribution.value + (", the same on the base" if shared else "")

    @property
    def first_error(self) -> str:
        """The line that matters; empty when there is none."""
        return self.verdict.first_error.text if self.verdict and self.verdict.first_error else ""

    @property
    def frame(self) -> str:
        """The frame that raised, `file:line in function`."""
        error = self.verdict.first_error if self.verdict else None
        return f"{error.frame.file}:{error.frame.line} in {error.frame.function}" if error and error.frame else ""

    @property
    def owner(self) -> str:
        """On which side the raising frame lies: Bridge, Megatron-LM, the suite, or another package."""
        error = self.verdict.first_error if self.verdict else None
        return OWNERS[error.frame.owner] if error and error.frame else ""

    @property
    def met(self) -> int:
        """Number of criteria that are met or do not apply."""
        good = {Met.MET, Met.NOT_APPLICABLE}
        return sum(criterion.met in good for criterion in self.verdict.criteria) if self.verdict else 0

    @property
    def follow_ups(self) -> tuple[str, ...]:
        """What the reader should do."""
        return self.verdict.follow_ups if self.verdict else ("look at the workflow run, then ask for it again",)

    def context(self, count: int) -> str:
        """The first error with up to `count` lines of the log around it, else with what belongs to it."""
        error = self.verdict.first_error if self.verdict else None
        if error is None:
            return ""
        lines = error.around or error.context or (error.text,)
        if len(lines) <= count:
            return "\n".join(line[:500] for line in lines)
        middle = next((index for index, line in enumerate(lines) if error.text in line), 0)
        start = min(max(middle - count // 2, 0), len(lines) - count)
        return "\n".join(line[:500] for line in lines[start : start + count])

    def summary(self, count: int) -> str:
        """Up to `count` lines of the plain-text summary."""
        lines = self.text.splitlines()
        rest = [f"({len(lines) - count} more lines)"] if len(lines) > count else []
        return "\n".join([line[:1000] for line in lines[:count]] + rest)

    @property
    def reproduce(self) -> str:
        """Commands for a GPU machine that repeat this leg."""
        leg = self.leg
        suite = leg.suite.value
        fetched = f"pull/{self.pull_request}/head" if self.pull_request else leg.bridge_commit
        variants = "".join(f" --variant {variant}" for variant in leg.variants)
        trees = f"--bridge Megatron-Bridge --suite-repo {suite}"
        return "\n".join(
            (
                f"git clone {leg.bridge_repository} Megatron-Bridge",
                f"git -C Megatron-Bridge fetch origin {fetched}",
                f"git -C Megatron-Bridge checkout --detach {leg.bridge_commit}",
                "git -C Megatron-Bridge submodule update --init 3rdparty/Megatron-LM",
                f"git clone {leg.suite_pin.repository} {suite}",
                f"git -C {suite} checkout --detach {leg.suite_pin.commit}",
                f"bridge-e2e run --suite {suite} --level {leg.level}{variants} {trees} --out evidence",
            )
        )


Summarize = Callable[[LegVerdict], str]
"""The plain-text summary of a leg's verdict."""


def views(plan: Plan, verdict: Verdict | None, catalogue: Catalogue, summarize: Summarize) -> tuple[LegView, ...]:
    """Every planned leg, in order, with or without a verdict."""
    judged = {leg.leg: leg for leg in verdict.legs} if verdict else {}
    return tuple(_view(leg, judged.get(leg.id), plan.pull_request, catalogue, summarize) for leg in plan.legs)


def _view(
    leg: Leg,
    judged: LegVerdict | None,
    pull_request: int | None,
    catalogue: Catalogue,
    summarize: Summarize,
) -> LegView:
    proves: tuple[str, ...] = ()
    does_not_prove: tuple[str, ...] = ()
    limitations: tuple[str, ...] = ()
    # A re-run on a newer commit of ours may meet a plan whose level is gone: the verdict still gets out.
    with suppress(UsageError):
        level = catalogue.level(leg.suite, leg.level)
        variants = variants_of(level, leg.variants)
        proves = (*level.proves, *(text for variant in variants for text in variant.proves))
        does_not_prove = (*level.does_not_prove, *(text for variant in variants for text in variant.does_not_prove))
        limitations = limitations_of(level, variants, leg.phases)
    return LegView(
        leg=leg,
        verdict=judged,
        proves=proves,
        does_not_prove=does_not_prove,
        limitations=judged.limitations if judged else limitations,
        text=summarize(judged) if judged else "",
        pull_request=pull_request,
    )
