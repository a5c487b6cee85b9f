"""The child environment: an allow-list, PYTHONPATH in order, the traps of the wrappers."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from action import environment
from action.context import InPlace
from action.environment import (
    PASSED,
    base_env,
    find_program,
    interpreter,
    model_path,
    phase_argv,
    phase_env,
    placeholders,
    prepare_folders,
    probe_pythonpaths,
    pythonpath,
    settings_of,
)
from action.leftovers import TOKEN_VARIABLE
from action.site import OWNED
from levels.catalogue import load
from levels.errors import EnvironmentBlocked
from levels.model import Phase, Suite
from tests.action.miniature import SHORT, World


def test_the_parents_environment_does_not_leak(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_TOKEN", "HF_TOKEN", "PYTHONPATH", "ACTIONS_RUNTIME_TOKEN", "RAY_ADDRESS", "PYTHONHOME"):
        monkeypatch.setenv(name, "leak")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    monkeypatch.setenv("RUNNER_TRACKING_ID", "github_x")
    job = world.job()
    env = phase_env(job, job.planned_trees, job.leg.phases[0])
    assert "leak" not in env.values()
    assert (env["CUDA_VISIBLE_DEVICES"], env["RUNNER_TRACKING_ID"]) == ("3", "github_x")
    assert env[TOKEN_VARIABLE] == job.token


def test_every_cache_is_the_legs_own_and_ray_starts_its_own_cluster(world: World) -> None:
    job = world.job()
    env = base_env(job)
    for name in ("HOME", "HF_HOME", "XDG_CACHE_HOME"):
        assert env[name].startswith(str(job.work))
    assert env["TMPDIR"] == env["RAY_TMPDIR"] == str(job.tmp)
    assert env["RAY_ADDRESS"] == "local"
    other = world.job(msgspec.structs.replace(job.leg, id="another-leg"))
    assert (other.tmp, other.token) != (job.tmp, job.token)


def test_a_site_can_set_nothing_that_a_leg_sets(world: World) -> None:
    job = world.job()
    values = dict.fromkeys((*OWNED, *PASSED, "SITES_OWN"), "of the site")
    env = phase_env(
        msgspec.structs.replace(job, site=msgspec.structs.replace(job.site, env=values)),
        job.planned_trees,
        job.leg.phases[0],
    )
    assert {name for name in values if env[name] != "of the site"} == OWNED


def test_rays_sockets_fit(world: World) -> None:
    job = world.job(tmp=SHORT)
    longest = job.tmp / "ray" / "session_2026-11-30_21-57-12_123456_1234567" / "sockets" / "plasma_store"
    assert len(str(longest)) < 107


def test_pythonpath_order(world: World) -> None:
    job = world.job(pythonpath=["/site/extra"])
    trees = job.planned_trees
    assert pythonpath(job, trees).split(":") == [
        str(trees.bridge / "src"),
        str(trees.bridge / "3rdparty/Megatron-LM"),
        str(trees.suite),
        "/site/extra",
    ]


def test_a_path_that_the_wrapper_would_break_is_refused(world: World) -> None:
    job = world.job(in_place=InPlace(bridge=Path("/a b"), suite=Path("/s")))
    with pytest.raises(EnvironmentBlocked, match="unquoted"):
        pythonpath(job, job.planned_trees)


def level_phase(suite: Suite) -> Phase:
    return load().level(suite, 0).phases[0]


def test_verls_wrapper_puts_workspace_first_and_hands_workers_the_plain_path(world: World) -> None:
    job = world.job()
    driver, worker = probe_pythonpaths(job, job.planned_trees, level_phase(Suite.VERL))
    plain = pythonpath(job, job.planned_trees)
    assert driver == f"/workspace/Megatron-LM:{plain}"
    assert worker == plain


def test_nemo_rls_wrapper_puts_its_root_first_for_workers_too(world: World) -> None:
    job = world.job()
    driver, worker = probe_pythonpaths(job, job.planned_trees, level_phase(Suite.NEMO_RL))
    assert driver == worker == f"{job.planned_trees.suite}:{pythonpath(job, job.planned_trees)}"


def test_verls_traps_are_in_the_catalogue() -> None:
    env = level_phase(Suite.VERL).env
    assert (env["VERL_USE_UV"], env["NUM_GPUS"]) == ("0", "8")


def test_placeholders_are_filled_everywhere(world: World) -> None:
    job = world.job(model_stores=["/models"], data="/data", reward_model="/rm")
    values = placeholders(job, job.planned_trees)
    argv = phase_argv(level_phase(Suite.VERL), values)
    assert not any("@{" in part for part in argv)
    assert values["model_path"] == "/models/org/model"
    assert (values["data"], values["reward_model_path"]) == ("/data", "/rm")


@pytest.mark.parametrize(
    ("made", "revision", "expected"),
    [
        pytest.param("b/org/model", None, "b/org/model", id="second-store"),
        pytest.param(
            "a/models--org--model/snapshots/" + "f" * 40,
            "f" * 40,
            "a/models--org--model/snapshots/" + "f" * 40,
            id="hub-layout",
        ),
        pytest.param(
            "a/models--org--model/snapshots/" + "e" * 40,
            "f" * 40,
            "a/models--org--model/snapshots/" + "f" * 40,
            id="another-revision-does-not-count",
        ),
        pytest.param("elsewhere", None, "a/org/model", id="missing"),
    ],
)
def test_model_stores(world: World, tmp_path: Path, made: str, revision: str | None, expected: str) -> None:
    (tmp_path / made).mkdir(parents=True)
    model = msgspec.structs.replace(world.leg().model, revision=revision)
    job = world.job(world.leg(model=model), model_stores=[str(tmp_path / "a"), str(tmp_path / "b")])
    assert model_path(job) == tmp_path / expected


def test_the_legs_python_is_the_sites(world: World) -> None:
    job = world.job()
    prepare_folders(job)
    argv = [find_program("python3", base_env(job)), "-c", "import sys; print(sys.executable)"]
    done = subprocess.run(argv, env=base_env(job), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == sys.executable


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        pytest.param(["run", "script.py", "a b"], "script ['a b']", id="script"),
        pytest.param(["run", "--frozen", "--extra", "vllm", "python3", "script.py", "x"], "script ['x']", id="options"),
        pytest.param(["run", "bash", "-c", "echo from bash"], "from bash", id="program"),
    ],
)
def test_uv_direct(world: World, tmp_path: Path, arguments: list[str], printed: str) -> None:
    (tmp_path / "script.py").write_text("import sys; print('script', sys.argv[1:])")
    job = world.job(uv="direct")
    prepare_folders(job)
    uv = find_program("uv", base_env(job))
    done = subprocess.run([uv, *arguments], env=base_env(job), cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == printed
    assert "`uv run` was replaced" in settings_of(job)[0]


def test_uv_direct_does_nothing_else(world: World) -> None:
    job = world.job(uv="direct")
    prepare_folders(job)
    uv = find_program("uv", base_env(job))
    done = subprocess.run([uv, "pip", "install", "x"], env=base_env(job), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "replaces only 'uv run'" in done.stderr


def test_the_probe_uses_the_interpreter_that_the_level_will_use(world: World) -> None:
    through_uv = world.leg(phases=(level_phase(Suite.NEMO_RL),))
    assert interpreter(world.job(through_uv)) == ("uv", "run", "python")
    assert interpreter(world.job(through_uv, uv="direct")) == (sys.executable,)
    assert interpreter(world.job()) == (sys.executable,)
    assert interpreter(world.job(python=None)) == ("python3",)


def test_a_missing_uv_has_its_remedy(world: World) -> None:
    with pytest.raises(EnvironmentBlocked, match="uv: direct"):
        find_program("uv", {"PATH": str(world.root)})


def test_somebody_elses_tmpdir_is_refused(world: World, tmp_path: Path) -> None:
    job = world.job()
    (tmp_path / "elsewhere").mkdir()
    job.tmp.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EnvironmentBlocked, match="a link"):
        prepare_folders(job)


def test_our_own_venv_is_not_on_the_legs_path(world: World) -> None:
    own = str(Path(sys.prefix) / "bin")
    inherited = base_env(world.job(python=None))["PATH"].split(":")
    assert (own in inherited) == (sys.prefix == sys.base_prefix)
    assert environment.PASSED
