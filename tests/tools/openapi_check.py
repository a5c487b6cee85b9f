"""Holds exchanges of the embedded GitHub against GitHub's own published description.

The fixture is made by `trim_openapi.py`. OpenAPI 3.0 becomes JSON Schema here: `nullable` becomes a type, and an object
that lists its properties may have no others, so that neither a client nor our server invents fields.
"""

import gzip
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError, best_match
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from bot.rehearsal.server import Exchange

FIXTURE = Path(__file__).parents[1] / "fixtures" / "openapi" / "github-rest.json.gz"
Json = Any
"""Any JSON value."""
BASE = "urn:github-rest"
UNDOCUMENTED_ERRORS = {301, 400, 401, 403, 404, 409, 410, 422, 429}
"""GitHub answers these everywhere (301 for a renamed repository); its description names them only here and there."""

_FORMATS = FormatChecker(formats=())


@_FORMATS.checks("date-time")
def _is_time(value: object) -> bool:
    return not isinstance(value, str) or bool(
        re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", value)
    )


@_FORMATS.checks("uri")
def _is_uri(value: object) -> bool:
    return not isinstance(value, str) or (bool(urlsplit(value).scheme) and " " not in value)


def as_json_schema(node: Json, *, strict: bool = True, inside: bool = False) -> Json:
    """The same description with JSON Schema's keywords.

    With `strict` an object has no properties but those listed. Members of `anyOf` (`inside`) stay open, since they say
    only a part; GitHub uses `allOf` in payloads alone, which are therefore read without `strict`.
    """
    if isinstance(node, list):
        return [as_json_schema(item, strict=strict, inside=inside) for item in node]
    if not isinstance(node, dict):
        return node
    out = {key: as_json_schema(value, strict=strict, inside=key == "anyOf") for key, value in node.items()}
    if strict and isinstance(node.get("properties"), dict) and not inside:
        out.setdefault("additionalProperties", False)
    if node.get("nullable") is True:
        del out["nullable"]
        if "enum" in out and None not in out["enum"]:
            out["enum"] = [*out["enum"], None]
        if "type" in out:
            out["type"] = [out["type"], "null"]
        elif {"anyOf", "oneOf", "allOf"} & out.keys():
            out = {"anyOf": [out, {"type": "null"}]}
    return out


def pointer(*parts: str) -> str:
    """A reference into the description."""
    return f"{BASE}#/" + "/".join(quote(part.replace("~", "~0").replace("/", "~1"), safe="~") for part in parts)


@cache
def read(fixture: Path, *, strict: bool = True) -> dict[str, Any]:
    """The description as JSON Schema."""
    description: dict[str, Any] = as_json_schema(json.loads(gzip.decompress(fixture.read_bytes())), strict=strict)
    return description


def errors(description: dict[str, Any], reference: str, instance: Json) -> Iterator[ValidationError]:
    """What the schema at `reference` says against `instance`."""
    resource = Resource.from_contents(description, default_specification=DRAFT202012)
    registry: Registry[Any] = Registry().with_resource(BASE, resource)
    return Draft202012Validator({"$ref": reference}, registry=registry, format_checker=_FORMATS).iter_errors(instance)


def payload_findings(schema: str, payload: Json, fixture: Path = FIXTURE) -> list[str]:
    """What GitHub's description of an event says against a payload, one line each."""
    found = errors(read(fixture, strict=False), pointer("components", "schemas", schema), payload)
    return [f"{inner.json_path}: {inner.message[:300]}" for error in found for inner in [best_match([error])]]


class Checker:
    """An observer that keeps what it finds wrong in `findings`, one line each."""

    def __init__(self, fixture: Path = FIXTURE) -> None:
        self.description = read(fixture)
        self.findings: list[str] = []
        self.checked: set[tuple[str, str, int]] = set()

    def __call__(self, exchange: Exchange) -> None:
        """Check one exchange; an answer that a fault has spoilt is not looked at."""
        self.findings += [
            f"{exchange.method} {exchange.path} {exchange.status}: {text}" for text in self._check(exchange)
        ]

    def _check(self, exchange: Exchange) -> Iterator[str]:
        if exchange.template is None:
            if exchange.fault is None:
                yield "no such operation in the embedded GitHub"
            return
        operation = self.description["paths"].get(exchange.template, {}).get(exchange.method.lower())
        if operation is None:
            yield f"no {exchange.method} {exchange.template} in GitHub's description"
            return
        place = ("paths", exchange.template, exchange.method.lower())
        refused = exchange.fault is None and exchange.status is not None and exchange.status >= 400
        if not refused:
            yield from self._query(operation, exchange)
            yield from self._request(operation, place, exchange)
        if exchange.fault is None or exchange.fault.kind == "slow":
            yield from self._answer(operation, place, exchange)

    def _query(self, operation: dict[str, Any], exchange: Exchange) -> Iterator[str]:
        known: dict[str, Any] = {}
        for parameter in operation.get("parameters", []):
            name = parameter.get("$ref", "").rpartition("/")[2]
            found = self.description["components"]["parameters"][name] if name else parameter
            if found["in"] == "query":
                known[found["name"]] = found["schema"]
        for name, text in exchange.query.items():
            if name not in known:
                yield f"query {name}: not a parameter of this operation"
                continue
            value: Any = int(text) if known[name].get("type") == "integer" and text.isdigit() else text
            validator = Draft202012Validator(known[name], format_checker=_FORMATS)
            yield from (f"query {name}: {error.message}" for error in validator.iter_errors(value))

    def _request(self, operation: dict[str, Any], place: tuple[str, ...], exchange: Exchange) -> Iterator[str]:
        declared = operation.get("requestBody")
        if declared is None:
            if exchange.body is not None:
                yield "a body where none is taken"
            return
        if exchange.body is None:
            if declared.get("required"):
                yield "no body where one is needed"
            return
        schema = pointer(*place, "requestBody", "content", "application/json", "schema")
        yield from (f"request {text}" for text in self._texts(schema, exchange.body, exchange))

    def _answer(self, operation: dict[str, Any], place: tuple[str, ...], exchange: Exchange) -> Iterator[str]:
        status = exchange.status or 0
        self.checked.add((exchange.method, exchange.template or "", status))
        declared = operation["responses"].get(str(status))
        if declared is None:
            if status not in UNDOCUMENTED_ERRORS:
                yield "a status that GitHub's description does not have"
                return
            kind = "validation-error" if status == 422 else "basic-error"
            yield from self._texts(pointer("components", "schemas", kind), exchange.answer, exchange)
            return
        target = (*place, "responses", str(status))
        if "$ref" in declared:
            target = tuple(declared["$ref"].removeprefix("#/").split("/"))
            declared = self.description["components"]["responses"][target[-1]]
        if "content" not in declared:
            if exchange.answer is not None:
                yield "a body where none is sent"
            return
        schema = pointer(*target, "content", "application/json", "schema")
        yield from (f"answer {text}" for text in self._texts(schema, exchange.answer, exchange))

    def _texts(self, schema: str, instance: Json, exchange: Exchange) -> Iterator[str]:
        for error in errors(self.description, schema, instance):
            inner = best_match([error])
            if not known_deviation(exchange, inner):
                text = inner.message
                yield f"{inner.json_path}: {text if len(text) < 400 else text[:150] + ' ... ' + text[-150:]}"


def known_deviation(exchange: Exchange, error: ValidationError) -> bool:
    """True where GitHub is known to do other than its description says."""
    path = [str(part) for part in error.absolute_path]
    # A deleted head repository is null; the webhook description has it so.
    if path == ["head", "repo"] and error.instance is None and (exchange.template or "").endswith("{pull_number}"):
        return True
    # "You can also pass an array of labels directly", says the description's own text of this operation.
    adds_labels = (exchange.method, (exchange.template or "").rpartition("/")[2]) == ("POST", "labels")
    return (
        adds_labels
        and not path
        and isinstance(error.instance, list)
        and all(isinstance(x, str) for x in error.instance)
    )
