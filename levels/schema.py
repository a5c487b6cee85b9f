"""JSON Schemas of the documents, made from the Structs. Writing files belongs to the caller."""

from typing import Final

import msgspec

from levels.deliverables import Words
from levels.evidence import Evidence
from levels.model import SuiteCatalogue
from levels.pins import Pins
from levels.plan import Plan
from levels.reruns import Reruns
from levels.signatures import Signatures, Stages
from levels.skips import Skips
from levels.verdict import LogVerdict, Verdict

DOCUMENTS: Final[dict[str, type[msgspec.Struct]]] = {
    "plan": Plan,
    "evidence": Evidence,
    "verdict": Verdict,
    "log-verdict": LogVerdict,
    "catalogue": SuiteCatalogue,
    "pins": Pins,
    "signatures": Signatures,
    "stages": Stages,
    "deliverables": Words,
    "skips": Skips,
    "reruns": Reruns,
}


def schemas() -> dict[str, bytes]:
    """File name to content, canonical: the same Structs give the same bytes."""
    return {f"{name}.json": _encode(kind) for name, kind in DOCUMENTS.items()}


def _encode(kind: type[msgspec.Struct]) -> bytes:
    schema = msgspec.json.schema(kind)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return msgspec.json.format(msgspec.json.encode(schema, order="sorted"), indent=2) + b"\n"
