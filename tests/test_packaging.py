"""The three folders belong to exactly our distribution, and the wheel holds no tests."""

import subprocess
import sys
import zipfile
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("zone", ["action", "bot", "levels"])
def test_a_zone_belongs_to_our_distribution_alone(zone: str) -> None:
    # An editable install is one path and lists no packages; a second distribution of that name would.
    assert set(packages_distributions().get(zone, [])) <= {"bridge-e2e"}
    found = find_spec(zone)
    assert found is not None
    assert found.origin == str(ROOT / zone / "__init__.py")


def test_the_wheel_holds_the_zones_and_no_tests(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == {"action", "bot", "levels"}
    assert {"levels/verl.yaml", "levels/nemo_rl.yaml", "levels/pins.yaml", "levels/rules.yaml"} <= set(names)
    assert not [name for name in names if name.startswith("tests/")]
