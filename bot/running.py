"""The Plan of somebody whom the gate admitted. Who is admitted is the gate's business."""

from bot.choosing import Wish, choose
from bot.desk import Desk
from bot.phrases import how_to_ask, named, why_nothing
from levels.model import Commit
from levels.plan import Consent, Decision, LegModel, Plan, Reply, Selection


def admitted(  # noqa: PLR0913 - one keyword for each thing that a run is made of
    desk: Desk,
    *,
    number: int,
    base: Commit,
    consent: Consent,
    selection: Selection,
    wish: Wish,
    ask: str,
    model: LegModel | None = None,
    reuse: bool = True,
) -> Plan:
    """Run, not needed, not asked for what is needed, or void because the head moved meanwhile.

    The file list is of the pull request as it is, not of a commit: when the head is another one afterwards, the
    selection may belong to that one, so nothing runs.

    Raises:
        UsageError: when the wish names levels that do not exist.
        GitHubError: when GitHub does not say what the head is.

    """
    chosen = choose(selection, wish, desk.catalogue)
    head = consent.commit
    current = desk.pulls.pull(number).head
    if current != head:
        values = {"actor": consent.actor, "commit": head, "hint": how_to_ask(current)}
        reply = Reply(template="void", values=values)
        because = f"new commits arrived after {consent.via}"
        return desk.plan(Decision.VOID, because, number=number, head=head, selection=chosen, reply=reply)
    if not chosen.chosen:
        decision, because = _why_not_run(selection, chosen, wish, head)
        reply = Reply(template="not-needed", values={"actor": consent.actor, "because": because})
        return desk.plan(decision, because, number=number, head=head, selection=chosen, reply=reply)
    merge_base = desk.merge_base(base, head)
    return desk.run(
        number=number, base=merge_base, consent=consent, selection=chosen, model=model, ask=ask, reuse=reuse
    )


def _why_not_run(selection: Selection, chosen: Selection, wish: Wish, head: Commit) -> tuple[Decision, str]:
    """Not needed only where the rules ask for nothing: what a wish leaves out is needed all the same."""
    if selection.chosen:
        asked_too_little = f"{named(selection)} needed, and {wish.words} does not ask for that; {how_to_ask(head)}"
        return Decision.NOT_ASKED, asked_too_little
    return Decision.NOT_NEEDED, why_nothing(chosen)
