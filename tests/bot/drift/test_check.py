"""`catalogue check` on small trees of the suites' shape: what holds, and each kind of planted fault."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from bot.drift.check import check, trees_of
from bot.drift.cli import main
from bot.drift.findings import Finding
from levels import catalogue
from levels.errors import ExitCode, UsageError
from levels.model import Level, Phase, Suite

SHIPPED = catalogue.load()

VERL = {
    "tests/e2e/run.sh": """\
set -xeuo pipefail
STEPS=${TOTAL_STEPS:-1}
# COMMENTED is gone
LAUNCH=(python3)
[ "${USE_UV:-1}" = 0 ] || LAUNCH=(uv run --frozen python3)
device=$("${LAUNCH[@]}" - <<'EOF'
print("the suite's own question")
EOF
)
[ "$device" = cuda ]
"${LAUNCH[@]}" -m verl.main --config-path=config --config-name='ppo.yaml' trainer.steps="$STEPS" $@
""",
    "verl/__init__.py": "",
    "verl/main.py": """\
import hydra

@hydra.main(config_path="config", config_name="other", version_base=None)
def main(config):
    print(config.trainer.steps, config.rollout.eager)
    ray.init(**config.ray_kwargs.ray_init)
    build(**config.actor.override_transformer_config)
    log({"training/global_step": 1})
""",
    "verl/config/ppo.yaml": """\
trainer: {steps: 1, unread: 3}
rollout: {eager: false}
ray_kwargs: {ray_init: {}}
actor: {override_transformer_config: {}}
""",
    "prepare/gsm8k.py": "",
}
NEMO_RL = {
    "tests/functional/grpo.sh": """\
SCRIPT_DIR=$( cd -- "$( dirname -- "${BASH_SOURCE[0]}" )" &> /dev/null && pwd)
ROOT=$(realpath $SCRIPT_DIR/../..)
set -eou pipefail
rm -rf $SCRIPT_DIR/grpo && mkdir -p $SCRIPT_DIR/grpo
cd $ROOT
uv run coverage run $ROOT/examples/run_grpo.py policy.model_name=default $@ 2>&1 | tee $SCRIPT_DIR/grpo/run.log
uv run tests/dump.py logs --output_path $SCRIPT_DIR/grpo/metrics.json
""",
    "examples/run_grpo.py": """\
from nemo_rl.utils.config import load_config, parse_hydra_overrides
config = os.path.join(os.path.dirname(__file__), "configs", "grpo.yaml")
""",
    "examples/configs/grpo.yaml": "defaults: base.yaml\npolicy: {model_name: a}\n",
    "examples/configs/base.yaml": "policy: {model_name: b, enabled: false}\n",
    "nemo_rl/__init__.py": "raise ImportError('torch')\n",
    "nemo_rl/utils/config.py": """\
from omegaconf import OmegaConf
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from pathlib import Path

def load_config(path):
    config = OmegaConf.load(path)
    parent = config.pop("defaults", None)
    return OmegaConf.merge(load_config(Path(path).parent / parent), config) if parent else config

def parse_hydra_overrides(cfg, overrides):
    OmegaConf.set_struct(cfg, True)
    ConfigLoaderImpl._apply_overrides_to_config(overrides=OverridesParser.create().parse_overrides(overrides), cfg=cfg)
    return cfg
""",
    "nemo_rl/policy.py": """\
def setup(config):
    name = config["policy"]["model_name"]
    metrics = {"loss": 1.0}
""",
}


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def level(suite: Suite, **changes: object) -> Level:
    plain = SHIPPED.level(suite, 0)
    wrapper = "tests/e2e/run.sh" if suite is Suite.VERL else "tests/functional/grpo.sh"
    start: tuple[str, ...] = ("bash",) if suite is Suite.VERL else ("uv", "run", "bash")
    phase = Phase(
        id="train",
        command=(*start, wrapper),
        steps=1,
        minutes=1,
        env={"TOTAL_STEPS": "2", "USE_UV": "0"} if suite is Suite.VERL else {},
        overrides=("rollout.eager=True",) if suite is Suite.VERL else ("policy.model_name=@{model_path}",),
        metrics=None if suite is Suite.VERL else "tests/functional/grpo/metrics.json",
    )
    kept = {"metrics-logged", "learning-signal"} if suite is Suite.VERL else set()
    criteria = tuple(item for item in plain.criteria if item.id in kept)
    bare = msgspec.structs.replace(
        plain, variants=(), requirements=(), bridge_tests=(), suite_tests=(), criteria=criteria
    )
    return msgspec.structs.replace(bare, phases=(msgspec.structs.replace(phase, **changes),))


def broken(tmp_path: Path, suite: Suite, files: dict[str, str], **changes: object) -> list[tuple[str, str]]:
    return [(item.kind, item.name) for item in found(tmp_path, suite, files, **changes) if not item.holds]


def found(tmp_path: Path, suite: Suite, files: dict[str, str], **changes: object) -> tuple[Finding, ...]:
    root = tree(tmp_path / suite.value, files)
    pins = msgspec.structs.replace(SHIPPED.pins, workarounds=())
    checked = msgspec.structs.replace(SHIPPED, levels=(level(suite, **changes),), pins=pins)
    verl, nemo_rl = (root, None) if suite is Suite.VERL else (None, root)
    return check(
        checked, trees_of(verl, nemo_rl, None, tree(tmp_path / "mcore", {"core/config.py": "    fuse: bool\n"}))
    )


@pytest.mark.parametrize("suite", list(Suite))
def test_levels_that_fit_have_a_proof_for_each_fact(tmp_path: Path, suite: Suite) -> None:
    files = VERL if suite is Suite.VERL else NEMO_RL
    facts = found(tmp_path, suite, files)
    assert all(item.holds for item in facts), [item for item in facts if not item.holds]
    proofs = {item.name: item.proof for item in facts}
    if suite is Suite.VERL:
        assert proofs["rollout.eager"] == "read at verl/main.py:5"
        assert proofs["TOTAL_STEPS of tests/e2e/run.sh"] == "tests/e2e/run.sh:2"
        assert proofs["training/global_step"] == "verl/main.py:8"
    else:
        assert proofs["policy.model_name"] == "read at nemo_rl/policy.py:2"
        assert proofs["tests/functional/grpo/metrics.json"] == "written by the wrapper"


@pytest.mark.parametrize(
    ("suite", "changes", "expected"),
    [
        pytest.param(
            Suite.VERL, {"overrides": ("rollout.eagre=True",)}, ("call", "verl/0, phase train"), id="misspelt-key"
        ),
        pytest.param(
            Suite.VERL, {"overrides": ("++rollout.eagre=True",)}, ("override", "rollout.eagre"), id="misspelt-added-key"
        ),
        pytest.param(Suite.VERL, {"overrides": ("trainer.unread=4",)}, ("override", "trainer.unread"), id="unread-key"),
        pytest.param(
            Suite.NEMO_RL,
            {"overrides": ("policy.modle_name=x",)},
            ("call", "nemo-rl/0, phase train"),
            id="other-loader",
        ),
        pytest.param(
            Suite.VERL,
            {"env": {"TOTAL_STEP": "2", "USE_UV": "0"}},
            ("env var", "TOTAL_STEP of tests/e2e/run.sh"),
            id="dead-env-var",
        ),
        pytest.param(
            Suite.VERL,
            {"env": {"COMMENTED": "2", "USE_UV": "0"}},
            ("env var", "COMMENTED of tests/e2e/run.sh"),
            id="env-var-in-a-comment",
        ),
        pytest.param(
            Suite.VERL, {"command": ("bash", "tests/e2e/runs.sh")}, ("script", "tests/e2e/runs.sh"), id="renamed-script"
        ),
        pytest.param(
            Suite.NEMO_RL,
            {"metrics": "tests/functional/other/metrics.json"},
            ("metrics file", "tests/functional/other/metrics.json"),
            id="metrics-elsewhere",
        ),
        pytest.param(
            Suite.NEMO_RL,
            {"assertions": ('max(data["train/lose"]) < 1',)},
            ("metric", "train/lose"),
            id="no-such-metric",
        ),
    ],
)
def test_each_planted_fault_is_caught(
    tmp_path: Path, suite: Suite, changes: dict[str, object], expected: tuple[str, str]
) -> None:
    assert expected in broken(tmp_path, suite, VERL if suite is Suite.VERL else NEMO_RL, **changes)


@pytest.mark.parametrize(
    ("override", "proof"),
    [
        pytest.param(
            "++ray_kwargs.ray_init.num_cpus=4", "hands ray_kwargs.ray_init on: keyword arguments", id="declared"
        ),
        pytest.param("++actor.override_transformer_config.fuse=False", "mcore/core/config.py:1", id="field-of-mcore"),
    ],
)
def test_a_mapping_that_is_handed_on_names_who_takes_it(tmp_path: Path, override: str, proof: str) -> None:
    facts = [item for item in found(tmp_path, Suite.VERL, VERL, overrides=(override,)) if item.kind == "override"]
    assert [item.holds for item in facts] == [True]
    assert proof in facts[0].proof


def test_a_wrapper_that_drops_its_arguments_is_caught(tmp_path: Path) -> None:
    files = {**VERL, "tests/e2e/run.sh": VERL["tests/e2e/run.sh"].replace(" $@", "")}
    facts = [item for item in found(tmp_path, Suite.VERL, files) if item.kind == "override"]
    assert [(item.holds, item.proof) for item in facts] == [(False, "tests/e2e/run.sh does not hand it on")]


def test_a_wrapper_that_calls_nothing_is_caught(tmp_path: Path) -> None:
    files = {**VERL, "tests/e2e/run.sh": "echo no device; exit 1"}
    (fact,) = [item for item in found(tmp_path, Suite.VERL, files) if item.kind == "call"]
    assert not fact.holds
    assert "no entry point of verl was called (exit code 1, no device)" in fact.proof


def test_the_tree_is_left_as_it_was(tmp_path: Path) -> None:
    found(tmp_path, Suite.NEMO_RL, NEMO_RL)
    root = tmp_path / "nemo-rl"
    assert sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()) == sorted(NEMO_RL)


def test_a_link_that_the_wrapper_removes_is_only_the_shadow_s(tmp_path: Path) -> None:
    files = {**NEMO_RL, "tests/functional/grpo/run.log": "somebody's"}
    found(tmp_path, Suite.NEMO_RL, files)
    assert (tmp_path / "nemo-rl/tests/functional/grpo/run.log").read_text() == "somebody's"


@pytest.mark.parametrize(
    "named",
    [
        pytest.param(lambda _: (None, None), id="nothing"),
        pytest.param(lambda root: (root / "absent", None), id="no-folder"),
    ],
)
def test_what_cannot_be_checked_is_refused(tmp_path: Path, named: Callable[[Path], tuple[Path | None, None]]) -> None:
    with pytest.raises(UsageError, match="checking the catalogue"):
        trees_of(*named(tmp_path), None, None)


def test_the_command_lists_what_does_not_hold(tmp_path: Path) -> None:
    """Our own levels against a tree that is not verl: nothing fits, and the exit code says so."""
    root = tree(tmp_path / "verl", VERL)
    out = io.StringIO()
    assert main(["--verl", str(root)], out=out) == ExitCode.USAGE
    assert (
        "BAD verl script tests/special_e2e/run_ppo_trainer_megatron.sh (verl/0): no such file in the tree"
        in out.getvalue()
    )
    listed = io.StringIO()
    assert main(["--verl", str(root), "--json"], out=listed) == ExitCode.USAGE
    facts = json.loads(listed.getvalue())
    assert {item["suite"] for item in facts} == {"verl"}
    err = io.StringIO()
    assert main([], err=err) == ExitCode.USAGE
    assert "neither --verl nor --nemo-rl" in err.getvalue()
