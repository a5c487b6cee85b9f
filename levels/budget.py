"""A Verdict that fits into a job output. What it says is decided elsewhere: here texts are only shortened, and say so.

What a leg writes (paths, settings, file names) reaches the verdict, so that its size is in a pull request's hands. A
line that is too long would lose the report job, and with it the check's answer.
"""

from typing import Final

import msgspec

from levels.documents import MAX_BYTES, MAX_LINE, encode, encode_line
from levels.verdict import FirstError, LegVerdict, Verdict

LADDER: Final = ((2_000, 100), (500, 40), (200, 20), (100, 10), (40, 5), (20, 2))
"""Characters of a text and number of items, from much to little."""


def within(verdict: Verdict, most: int = MAX_LINE) -> Verdict:
    """`verdict` with its texts as long as its line allows; outcomes, boundaries and criteria all stay."""
    for text, items in LADDER:
        if len(encode(verdict)) <= MAX_BYTES["verdict"] and len(encode_line(verdict)) <= most:
            return verdict
        legs = tuple(_shortened(leg, text, items) for leg in verdict.legs)
        verdict = msgspec.structs.replace(verdict, legs=legs)
    return verdict


def _shortened(leg: LegVerdict, text: int, items: int) -> LegVerdict:
    return msgspec.structs.replace(
        leg,
        sentence=_cut(leg.sentence, text),
        first_error=_error(leg.first_error, text, items) if leg.first_error else None,
        model=_cut(leg.model, text),
        requested=_cut(leg.requested, text),
        criteria=tuple(
            msgspec.structs.replace(item, found=_cut(item.found, text), source=_cut(item.source, text))
            for item in leg.criteria
        ),
        deliverables=tuple(msgspec.structs.replace(item, detail=_cut(item.detail, text)) for item in leg.deliverables),
        bridge_state=_cut(leg.bridge_state, text),
        suite_state=_cut(leg.suite_state, text),
        command=_cut(leg.command, text),
        key_lines=_some(leg.key_lines, text, items),
        limitations=_some(leg.limitations, text, items),
        residual_noise=_some(leg.residual_noise, text, items),
        follow_ups=_some(leg.follow_ups, text, items),
    )


def _error(error: FirstError, text: int, items: int) -> FirstError:
    frame = error.frame
    if frame is not None:
        frame = msgspec.structs.replace(frame, file=_cut(frame.file, text), function=_cut(frame.function, text))
    return msgspec.structs.replace(
        error, text=_cut(error.text, text), frame=frame, context=_some(error.context, text, items)
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _some(texts: tuple[str, ...], text: int, items: int) -> tuple[str, ...]:
    kept = tuple(_cut(item, text) for item in texts[:items])
    return (*kept, f"{len(texts) - items} more are left out here") if len(texts) > items else kept
