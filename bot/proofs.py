"""Which planned legs are proven already: an authenticated Pass, same commit, same key, not too old. Never artifacts.

Authenticated means written by a GitHub App of our own. Under the plain workflow token every workflow of the repository
writes as `github-actions[bot]`, so nothing that stands there under that name is proof.
"""

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from bot.board import Board, Entry
from bot.ports import CheckConclusion
from bot.settings import DEFAULT_LOGIN
from levels.model import Commit, Outcome
from levels.plan import Leg, Proven


def authenticated(bot_login: str) -> bool:
    """Whether what stands under this login was written by nobody but us."""
    return bot_login != DEFAULT_LOGIN


def key_of(leg: Leg, product_commit: Commit | None) -> str | None:
    """Digest of all that decides about a leg on its commit; null when our own commit is not known.

    The trees of Bridge and Megatron-LM are fixed by the commit; the image by its digest, or by its tag while pins.yaml
    has no digest: then the age limit is what bounds a tag that moves.
    """
    if product_commit is None:
        return None
    facts = (
        leg.bridge_repository,
        leg.bridge_commit,
        leg.mcore_repository,
        leg.suite_pin,
        leg.workarounds,
        leg.model,
        leg.variants,
        leg.gpus,
        leg.bridge_tests,
        leg.phases,
        leg.requirements,
        product_commit,
    )
    return hashlib.sha256(msgspec.json.encode(facts, order="sorted")).hexdigest()[:32]


def proven(
    legs: Iterable[Leg], board: Board, *, product_commit: Commit | None, now: datetime, max_age: timedelta
) -> tuple[Proven, ...]:
    """The legs that need not run again, each with the check that proves it."""
    found = []
    for leg in legs:
        key = key_of(leg, product_commit)
        proofs = [one for one in board.entries if key and _proves(one, leg, key) and _fresh(one, now, max_age)]
        if proofs:
            found.append(_said(leg, proofs[-1]))
    return tuple(found)


def _proves(entry: Entry, leg: Leg, key: str) -> bool:
    note = entry.note.leg if entry.note else None
    return (
        note is not None
        and (entry.mark.leg, note.leg, note.key) == (leg.id, leg.id, key)
        and (note.outcome, note.proof) == (Outcome.PASS, "full")
        and entry.done
        and entry.run.conclusion == CheckConclusion.SUCCESS
    )


def _fresh(entry: Entry, now: datetime, max_age: timedelta) -> bool:
    return entry.run.completed is not None and timedelta(0) <= now - entry.run.completed <= max_age


def _said(leg: Leg, entry: Entry) -> Proven:
    return Proven(
        leg=leg.id,
        suite=leg.suite,
        level=leg.level,
        title=leg.title,
        at=entry.run.completed.isoformat() if entry.run.completed else "",
        url=entry.run.url,
    )
