"""The trust zones: `action` and `bot` import `levels`; nothing else crosses."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ALLOWED = {"levels": {"levels"}, "action": {"action", "levels"}, "bot": {"bot", "levels"}}
ZONES = set(ALLOWED)


def imported_packages(path: Path) -> set[str]:
    """Top-level names imported anywhere in the file, inside functions too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            names |= {str(arg.value).partition(".")[0] for arg in node.args if isinstance(arg, ast.Constant)}
    return names


def sources(zone: str) -> list[Path]:
    return [path for path in sorted((ROOT / zone).rglob("*.py")) if "miniatures" not in path.parts]


@pytest.mark.parametrize("zone", sorted(ZONES))
def test_a_zone_imports_only_what_it_may(zone: str) -> None:
    crossings = {
        str(path.relative_to(ROOT)): sorted(imported_packages(path) & (ZONES - ALLOWED[zone]))
        for path in sources(zone)
        if imported_packages(path) & (ZONES - ALLOWED[zone])
    }
    assert crossings == {}


@pytest.mark.parametrize("zone", sorted(ZONES))
def test_no_relative_import_hides_a_crossing(zone: str) -> None:
    relative = [
        str(path.relative_to(ROOT))
        for path in sources(zone)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []


def test_probe_scripts_import_nothing_of_ours() -> None:
    scripts = sorted((ROOT / "action" / "probe_scripts").glob("*.py"))
    assert {path.name: imported_packages(path) & ZONES for path in scripts} == {path.name: set() for path in scripts}


@pytest.mark.parametrize(
    "source",
    [
        "import bot.github",
        "from bot import gate",
        "def f():\n    import bot",
        "import importlib\nimportlib.import_module('bot.x')",
    ],
)
def test_the_rule_sees_every_form_of_import(source: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(source)
    assert "bot" in imported_packages(path)
