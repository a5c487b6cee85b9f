"""Writes tests/fixtures/openapi/github-rest.json.gz: what the embedded GitHub answers and sends, with the schemas.

    npm pack @octokit/openapi@23.0.2 && tar xzf octokit-openapi-23.0.2.tgz
    python tests/tools/trim_openapi.py package

Examples and descriptions are left out; nothing else is changed. Run it again when a route is added.
"""

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

Json = Any
"""Any JSON value."""
ROOT = Path(__file__).parents[2]
TARGET = ROOT / "tests" / "fixtures" / "openapi" / "github-rest.json.gz"
PROSE = {"description", "example", "examples", "externalDocs", "summary", "tags", "title"}
# Keys of these objects are names of things, not keywords.
NAMESPACES = {"properties", "schemas", "responses", "parameters", "headers", "paths", "mapping", "patternProperties"}


def without_prose(node: Json, *, names: bool = False) -> Json:
    """The description without texts and vendor extensions; `names` when the keys of `node` are names."""
    if isinstance(node, list):
        return [without_prose(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {k: v for k, v in node.items() if names or (k not in PROSE and not k.startswith("x-"))}
    return {key: without_prose(value, names=not names and key in NAMESPACES) for key, value in kept.items()}


def references(node: Json) -> set[str]:
    """Every `#/components/...` that the node mentions."""
    return set(re.findall(r'"(#/components/[^"]+)"', json.dumps(node)))


def trim(description: dict[str, Any], operations: set[tuple[str, str]], events: set[str]) -> dict[str, Any]:
    """The named operations and event payloads with all that they refer to.

    Raises:
        SystemExit: when GitHub's description has no such operation.

    """
    missing = sorted(f"{m} {p}" for m, p in operations if m.lower() not in description["paths"].get(p, {}))
    if missing:
        sys.exit(f"not in GitHub's description: {missing}")
    paths: dict[str, Any] = {}
    for method, path in sorted(operations):
        operation = description["paths"][path][method.lower()]
        fields = {"operationId", "parameters", "requestBody", "responses"}
        paths.setdefault(path, {})[method.lower()] = without_prose({k: v for k, v in operation.items() if k in fields})
    components: dict[str, Any] = {}
    todo = references(paths) | {f"#/components/schemas/{event}" for event in events}
    done: set[str] = set()
    while todo:
        reference = todo.pop()
        done.add(reference)
        _, _, kind, name = reference.split("/")
        part = without_prose(description["components"][kind][name])
        components.setdefault(kind, {})[name] = part
        todo |= references(part) - done
    return {"openapi": description["openapi"], "paths": paths, "components": components}


def events() -> set[str]:
    """Schemas of the payloads that bot/rehearsal/payloads.py makes."""
    from bot.rehearsal.payloads import PULL_ACTIONS  # noqa: PLC0415  needs the path that `main` sets

    pulls = {f"webhook-pull-request-{action.replace('_', '-')}" for action in PULL_ACTIONS}
    return pulls | {"webhook-issue-comment-created", "webhook-merge-group-checks-requested"}


def main(package: Path) -> None:
    """Trim the unpacked npm package in `package`."""
    sys.path.insert(0, str(ROOT))
    from bot.rehearsal.routes import ROUTES  # noqa: PLC0415  the path is set just before

    facts = json.loads((package / "package.json").read_text())
    description = json.loads((package / "generated" / "api.github.com.json").read_text())
    trimmed = trim(description, {(route.method, route.template) for route in ROUTES}, events())
    origin = {"package": facts["name"], "version": facts["version"], "file": "generated/api.github.com.json"}
    data = json.dumps({"x-origin": {**origin, "license": facts["license"]}, **trimmed}, sort_keys=True)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_bytes(gzip.compress(data.encode(), mtime=0))
    sys.stdout.write(f"{TARGET}: {TARGET.stat().st_size} bytes\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
