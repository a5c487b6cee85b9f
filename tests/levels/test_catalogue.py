"""The catalogue's own YAML loads; YAML that is not right fails with its key path."""

from pathlib import Path
from shutil import copy

import pytest

from levels import catalogue
from levels.catalogue import Catalogue, criteria_of, limitations_of, load, override_values, resolve_phases, variants_of
from levels.errors import ConfigError, UsageError
from levels.model import Suite

LEVELS = Path(catalogue.__file__).parent


@pytest.fixture(scope="module")
def shipped() -> Catalogue:
    return load()


def broken(tmp_path: Path, name: str, old: str, new: str) -> Path:
    """A copy of the shipped YAML files with one text changed."""
    for path in LEVELS.glob("*.yaml"):
        copy(path, tmp_path)
    text = (tmp_path / name).read_text()
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new, 1))
    return tmp_path


def test_level_zero_of_both_suites_is_complete(shipped: Catalogue) -> None:
    for suite in Suite:
        level = shipped.level(suite, 0)
        assert level.proves
        assert level.does_not_prove
        assert all(criterion.source for criterion in level.criteria)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        pytest.param('COMMON_VPP: "null"', "COMMON_VPP: null", "phases[0].env[...]", id="unquoted-null"),
        pytest.param('VANILLA_MBRIDGE: "False"', "VANILLA_MBRIDGE: False", "got `bool`", id="unquoted-false"),
        pytest.param('LORA_RANK: "4"', "LORA_RANK: 4", "quote the value", id="unquoted-number"),
        pytest.param('LORA_RANK: "4"', 'LORA_RANK: "4"\n          LORA_RANK: "8"', "stands twice", id="duplicate-key"),
        pytest.param("version: 1", "version: &a 1", "anchors", id="anchor"),
        pytest.param("version: 1", "version: 1\nsurprise: 2", "unknown field `surprise`", id="unknown-field"),
        pytest.param("check: exit-zero", "check: exit-one", "exit-one", id="unknown-check"),
        pytest.param("@{model_id}", "@{modelid}", "@{modelid}", id="unknown-placeholder"),
        pytest.param("id: exit-zero", "id: last-step", "each id once", id="two-criteria-of-one-id"),
        pytest.param('- "++ray_kwargs', '- "++ray kwargs', "at levels[0].phases[0].overrides[0]", id="bad-override"),
    ],
)
def test_wrong_yaml_is_refused_with_its_place(tmp_path: Path, old: str, new: str, says: str) -> None:
    root = broken(tmp_path, "verl.yaml", old, new)
    with pytest.raises(ConfigError) as caught:
        load(root)
    assert says.replace("got ", "found ") in str(caught.value).replace("got ", "found ")
    assert "verl.yaml" in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_variant_changes_phases_and_limitations(shipped: Catalogue) -> None:
    level = shipped.level(Suite.VERL, 0)
    variants = variants_of(level, ["rule-reward"])
    phases = resolve_phases(level, variants)
    assert override_values(phases[0])["reward.reward_model.enable"] == "False"
    assert any("reward-model serving" in text for text in limitations_of(level, variants, phases))
    assert not any("reward-model serving" in text for text in limitations_of(level, (), resolve_phases(level, ())))
    assert criteria_of(level, variants) == level.criteria


@pytest.mark.parametrize(
    ("call", "found"),
    [
        pytest.param(lambda c: c.level(Suite.VERL, 9), "level 9", id="level"),
        pytest.param(lambda c: variants_of(c.level(Suite.VERL, 0), ["rule-rewards"]), "rule-rewards", id="variant"),
    ],
)
def test_an_unknown_name_lists_the_known_ones(shipped: Catalogue, call: object, found: str) -> None:
    with pytest.raises(UsageError, match=found) as caught:
        call(shipped)  # type: ignore[operator] # a table of lambdas
    assert "expected" in str(caught.value)
