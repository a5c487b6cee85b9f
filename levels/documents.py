"""Schema names and strict JSON reading and writing, shared by Plan, Evidence and Verdict.

What a field means never belongs here.
"""

import base64
import binascii
import hashlib
import zlib
from typing import Final, TypeVar

import msgspec

from levels.errors import DocumentError

MAX_BYTES: Final = {"plan": 900_000, "evidence": 4_000_000, "verdict": 900_000}
"""A job output holds 1 MB. Source: GITHUB.md section 6."""

MAX_LINE: Final = 130_000
"""A job output reaches the next job's shell in a variable, and Linux allows 131,072 bytes for one (MAX_ARG_STRLEN)."""
MAX_PLAIN_LINE: Final = 100_000
"""A longer document is packed."""
PACKED: Final = b"zlib:"

T = TypeVar("T", bound=msgspec.Struct)


def encode(document: msgspec.Struct) -> bytes:
    """Canonical JSON: sorted keys, two-space indent, final newline. Two equal documents give equal bytes."""
    return msgspec.json.format(msgspec.json.encode(document, order="sorted"), indent=2) + b"\n"


def encode_line(document: msgspec.Struct) -> str:
    """The same JSON on one line, for a job output; a long one is packed, and `decode` unpacks it."""
    raw = msgspec.json.encode(document, order="sorted")
    if len(raw) <= MAX_PLAIN_LINE:
        return raw.decode()
    return (PACKED + base64.b64encode(zlib.compress(raw, 9))).decode()


def _unpacked(raw: bytes, limit: int) -> bytes:
    """What a packed line holds, at most one byte more than `limit`; anything that is not one comes back as it is."""
    if not raw.startswith(PACKED):
        return raw
    try:
        return zlib.decompressobj().decompress(base64.b64decode(raw[len(PACKED) :].strip(), validate=True), limit + 1)
    except (binascii.Error, zlib.error):
        return raw


def digest(document: msgspec.Struct) -> str:
    """SHA-256 of the canonical JSON, 64 hex digits."""
    return hashlib.sha256(msgspec.json.encode(document, order="sorted")).hexdigest()


def decode(data: bytes | str, kind: type[T], *, what: str) -> T:
    """The document in `data`, checked against `kind`.

    Args:
        data: JSON text.
        kind: a document Struct with a `schema` field.
        what: names the document in messages, for example `the Plan in $PLAN`.

    Raises:
        DocumentError: with the key path, when the text is empty, too long, not JSON, or of another shape.

    """
    name = kind.__name__.lower()
    limit = MAX_BYTES.get(name, max(MAX_BYTES.values()))
    raw = _unpacked(data.encode() if isinstance(data, str) else data, limit)
    if not raw.strip():
        raise DocumentError(
            doing=f"reading {what}",
            found="no text at all",
            expected=f"a {name} document",
            next_step="look at the job that wrote it: GitHub drops a job output that looks like a secret",
        )
    if len(raw) > limit:
        raise DocumentError(
            doing=f"reading {what}",
            found=f"{len(raw)} bytes",
            expected=f"at most {limit} bytes",
            next_step="treat it as hostile or broken; it is not read",
        )
    try:
        return msgspec.json.decode(raw, type=kind)
    except RecursionError:
        found = "nesting too deep to read"
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        found = str(error)
    raise DocumentError(
        doing=f"reading {what}",
        found=found[:500],
        expected=f"a {name} document as in levels/schemas/{name}.json",
        next_step="write it with the same bridge-e2e commit that reads it",
    )
