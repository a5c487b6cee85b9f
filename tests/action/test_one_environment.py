"""One interpreter for every process: what it cannot import decides. Nothing is asked where each worker has its own."""

import sys
from typing import Any

import pytest

from action.checkout import checkout
from action.prepare import prepare
from action.store import open_recorder
from levels.errors import EnvironmentBlocked
from levels.model import Boundary
from levels.pins import Lack
from tests.action.miniature import World


def lack(module: str | None) -> Lack:
    return Lack(
        feature="mcore-with-vllm",
        boundary=Boundary.DEPENDENCY,
        unless_module=module,
        reason="its extras exclude each other",
        remedy="run the variant megatron-generation",
        source="x",
    )


@pytest.mark.parametrize(
    ("module", "site", "blocked"),
    [
        pytest.param("no_such_engine", {"uv": "direct"}, True, id="one-interpreter-without-it"),
        pytest.param("json", {"uv": "direct"}, False, id="one-interpreter-with-it"),
        pytest.param("no_such_engine", {}, False, id="uv-makes-one-for-each-worker"),
        pytest.param("no_such_engine", {"uv": "direct", "worker_python": sys.executable}, False, id="two-interpreters"),
        pytest.param(None, {"uv": "direct"}, False, id="the-plan-has-decided"),
    ],
)
def test_the_interpreter_is_asked(world: World, module: str | None, site: dict[str, Any], *, blocked: bool) -> None:
    job = world.job(world.leg(lacks=(lack(module),)), **site)
    recorder = open_recorder(job, write=print)
    checkout(job, recorder)
    if not blocked:
        prepare(job, recorder)
        return
    with pytest.raises(EnvironmentBlocked, match="has no no_such_engine: its extras exclude each other") as caught:
        prepare(job, recorder)
    assert caught.value.boundary is Boundary.DEPENDENCY
    assert caught.value.next_step == "run the variant megatron-generation"
