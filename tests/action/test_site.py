"""Site files: found in order, strict, and unable to undo a leg's isolation."""

from pathlib import Path

import pytest

from action.launch.host import HOST
from action.site import Site, load_site, mirror_of
from levels.errors import ConfigError
from levels.model import Phase
from tests.action.miniature import World


def test_argument_then_variable_then_default(tmp_path: Path) -> None:
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text("version: 1\ntmp: /one\n")
    two.write_text("version: 1\ntmp: /two\n")
    assert load_site(str(one), {"BRIDGE_E2E_SITE": str(two)}).tmp == "/one"
    assert load_site(None, {"BRIDGE_E2E_SITE": str(two)}).tmp == "/two"
    assert load_site(None, {}) == Site()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("version: 1\nlabel: x\n", "unknown field `label`", id="unknown-field"),
        pytest.param("version: 2\n", "<= 1", id="version"),
        pytest.param("version: 1\npython: venv/bin/python\n", "python", id="relative-path"),
        pytest.param("version: 1\ndata: /a\ndata: /b\n", "stands twice", id="duplicate"),
        pytest.param("version: 1\nenv: {X: 1}\n", "quote the value", id="unquoted"),
        pytest.param("version: 1\nenv: {PYTHONPATH: /x}\n", "env.PYTHONPATH", id="pythonpath"),
        pytest.param("version: 1\nenv: {PATH: /x}\n", "env.PATH", id="path"),
        pytest.param("version: 1\nenv: {RAY_ADDRESS: auto}\n", "env.RAY_ADDRESS", id="ray-address"),
        pytest.param("version: 1\nmirrors: {'https://u:p@host/x': /m}\n", "mirrors", id="credential"),
        pytest.param("version: 1\nuv: maybe\n", "uv", id="enum"),
    ],
)
def test_a_wrong_site_file_is_refused_with_its_key(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "site.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_site(str(path))
    assert says in str(caught.value)
    assert "site.yaml" in str(caught.value)


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="readable site file"):
        load_site(str(tmp_path / "none.yaml"))


@pytest.mark.parametrize("asked", ["https://h/o/r", "https://h/o/r.git", "https://h/o/R.git/"])
def test_mirrors_with_and_without_git(asked: str) -> None:
    assert mirror_of(Site(mirrors={"https://h/o/r.git": "/m"}), asked) == "/m"
    assert mirror_of(Site(mirrors={"https://h/o/r.git": "/m"}), "https://h/o/other") is None


@pytest.mark.parametrize(
    ("phase_seconds", "expected"),
    [
        pytest.param(None, 3600, id="the-levels-own"),
        pytest.param(40, 40, id="shorter"),
        pytest.param(9999, 3600, id="never-longer"),
    ],
)
def test_a_site_may_shorten_a_phase(world: World, phase_seconds: int | None, expected: int) -> None:
    phase = Phase(id="train", command=("true",), steps=1, minutes=60)
    job = world.job(world.leg(phases=(phase,)), phase_seconds=phase_seconds)
    assert HOST.request(job, job.planned_trees, phase).seconds == expected
