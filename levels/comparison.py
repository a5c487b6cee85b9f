"""Whether two legs may be compared, and how their metrics stand beside each other. No verdicts, no thresholds.

Candidate and baseline differ in the Bridge commit (and the Megatron-LM that it names): whatever else differs makes the
comparison worthless, so every other setting must be equal, by digest.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from levels.catalogue import override_values
from levels.evidence import Evidence, PhaseRun
from levels.metrics import Series
from levels.model import Phase, Record
from levels.plan import Leg

PER_LEG: Final = ("scratch", "pythonpath", "suite_root", "bridge_root")
"""Placeholders whose values are a leg's own by design: they stay unfilled in what is compared."""
_OWN: Final = re.compile(r"@\{(?:" + "|".join(PER_LEG) + r")\}")
MAX_SHOWN: Final = 5


class Side(NamedTuple):
    """One leg with what it left behind; `series` are the metrics of its last training phase."""

    leg: Leg
    evidence: Evidence | None
    series: Mapping[str, Series]


class Comparison(Record, frozen=True, kw_only=True):
    """Candidate and baseline side by side, or why not."""

    comparable: bool
    sentence: str
    """`no comparison: …` when the settings differ or one side has no evidence."""
    differs: tuple[str, ...] = ()
    """Settings that are not equal, by name."""
    candidate: str | None = None
    """Digest of the settings."""
    baseline: str | None = None
    metrics: dict[str, tuple[float, float]] = {}
    """Last values, candidate first; only of metrics that both have, and that are finite."""


def settings_of(leg: Leg, evidence: Evidence) -> dict[str, str]:
    """Effective settings by name: rollout, reward, data, batch and checkpoint as the phases ran with them, and pins."""
    found = {
        "suite": leg.suite.value,
        "level": str(leg.level),
        "variants": ",".join(sorted(leg.variants)),
        "gpus": str(leg.gpus),
        "model": f"{leg.model.name}@{leg.model.revision or 'no revision'}",
        "suite pin": msgspec.json.encode(leg.suite_pin, order="sorted").decode(),
        "workarounds": ",".join(sorted(item.id for item in leg.workarounds)),
        "launcher": evidence.launcher,
        "site changes": "\n".join(evidence.settings),
        "phases": ",".join(run.id for run in evidence.phases),
    }
    for item in evidence.preparations:
        found[f"prepared {item.id}"] = f"{item.path} {'found' if item.found else 'missing'}"
    if evidence.host is not None:
        found |= {f"package {name}": version for name, version in evidence.host.packages.items()}
        found["GPU"] = ",".join(sorted({gpu.name for gpu in evidence.host.gpus}))
    runs = {run.id: run for run in evidence.phases}
    for phase in leg.phases:
        if run := runs.get(phase.id):
            found |= _phase_settings(phase, run)
    return found


def _phase_settings(phase: Phase, run: PhaseRun) -> dict[str, str]:
    """What the phase ran with; where the plan holds a value of the leg's own, the plan's text."""
    found = {
        f"{phase.id} {name}": planned if _OWN.search(planned) else run.env.get(name, "not set")
        for name, planned in phase.env.items()
    }
    planned_values = override_values(phase)
    other: list[str] = []
    for token in run.command:
        name, equals, value = token.lstrip("+~").partition("=")
        if equals and name in planned_values:
            planned = planned_values[name]
            found[f"{phase.id} {name}"] = planned if _OWN.search(planned) else value
        else:
            other.append(token)
    found[f"{phase.id} command"] = " ".join(_without_own(other, (*phase.command, *phase.arguments)))
    return found


def _without_own(ran: Iterable[str], planned: tuple[str, ...]) -> Iterable[str]:
    """Tokens of the command; one that stands where the plan has a value of the leg's own is the plan's text."""
    for index, token in enumerate(ran):
        own = index < len(planned) and _OWN.search(planned[index])
        yield planned[index] if own else token


def settings_digest(leg: Leg, evidence: Evidence) -> str:
    """SHA-256 of the effective settings, 64 hex digits: equal exactly where two legs may be compared."""
    return hashlib.sha256(msgspec.json.encode(settings_of(leg, evidence), order="sorted")).hexdigest()


def compare(candidate: Side, baseline: Side) -> Comparison:
    """Both sides' metrics where their settings hash equal; else `no comparison`, with what differs."""
    if candidate.evidence is None or baseline.evidence is None:
        who = "the candidate" if candidate.evidence is None else "the baseline"
        return Comparison(comparable=False, sentence=f"no comparison: no evidence of {who}")
    digests = [settings_digest(side.leg, side.evidence) for side in (candidate, baseline) if side.evidence]
    if digests[0] != digests[1]:
        ours, theirs = (settings_of(side.leg, side.evidence) for side in (candidate, baseline) if side.evidence)
        differs = tuple(sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)))
        more = f" and {len(differs) - MAX_SHOWN} more" if len(differs) > MAX_SHOWN else ""
        return Comparison(
            comparable=False,
            sentence=f"no comparison: not equal are {', '.join(differs[:MAX_SHOWN])}{more}",
            differs=differs,
            candidate=digests[0],
            baseline=digests[1],
        )
    both = {
        name: (series.last, baseline.series[name].last)
        for name, series in candidate.series.items()
        if name in baseline.series and series.finite and baseline.series[name].finite
    }
    return Comparison(
        comparable=True,
        sentence=f"compared with the baseline under equal settings ({digests[0][:12]}), {len(both)} metrics",
        candidate=digests[0],
        baseline=digests[1],
        metrics=both,
    )
