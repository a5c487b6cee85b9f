"""Seeded synthetic runs of 20 steps: what a healthy run looks like, and each way of not learning."""

import math
import random
from collections.abc import Callable

from levels.metrics import Series, add_point

STEPS = 20
Run = dict[str, list[float]]


def healthy(chance: random.Random, *, slope: float = 0.015) -> Run:
    """Noise on a slow rise; entropy and gradients wander."""
    entropy, entropies = 0.4, []
    for _ in range(STEPS):
        entropy = max(0.05, entropy + 0.15 * (0.32 - entropy) + chance.gauss(0, 0.03))
        entropies.append(entropy)
    return {
        "critic/score/mean": [min(1, max(0, 0.2 + slope * step + chance.gauss(0, 0.06))) for step in range(STEPS)],
        "actor/entropy": entropies,
        "actor/grad_norm": [chance.lognormvariate(-0.5, 0.5) for _ in range(STEPS)],
        "actor/pg_loss": [chance.gauss(0, 0.02) for _ in range(STEPS)],
        "actor/lr": [1e-6 * min(1, step / 5) for step in range(STEPS)],
    }


def slow(chance: random.Random) -> Run:
    """No rise to see in so few steps."""
    return healthy(chance, slope=0)


def spiky(chance: random.Random) -> Run:
    """Now and then a gradient thirty times as large."""
    run = healthy(chance)
    run["actor/grad_norm"] = [x * 30 if chance.random() < 0.1 else x for x in run["actor/grad_norm"]]
    return run


def sparse(chance: random.Random) -> Run:
    """Rewards of eight answers, so that many steps have the same; a step without any advantage has no gradient."""
    run = healthy(chance)
    run["critic/score/mean"] = [sum(chance.random() < 0.15 for _ in range(8)) / 8 for _ in range(STEPS)]
    run["actor/grad_norm"] = [0.0 if chance.random() < 0.05 else x for x in run["actor/grad_norm"]]
    return run


def _late(name: str, change: Callable[[float, random.Random], float]) -> Callable[[random.Random], Run]:
    def make(chance: random.Random) -> Run:
        run = healthy(chance)
        start = chance.randrange(STEPS // 4, STEPS // 2)
        run[name] = [change(x, chance) if step >= start else x for step, x in enumerate(run[name])]
        return run

    return make


def _whole(name: str, value: float) -> Callable[[random.Random], Run]:
    return lambda chance: {**healthy(chance), name: [value] * STEPS}


HEALTHY: dict[str, Callable[[random.Random], Run]] = {
    "healthy": healthy,
    "slow": slow,
    "spiky": spiky,
    "sparse": sparse,
}
UNHEALTHY: dict[str, Callable[[random.Random], Run]] = {
    "nan-late": _late("actor/grad_norm", lambda _, __: math.nan),
    "infinite-loss-late": _late("actor/pg_loss", lambda _, __: math.inf),
    "zero-gradients": _whole("actor/grad_norm", 0.0),
    "zero-gradients-late": _late("actor/grad_norm", lambda _, __: 0.0),
    "frozen-adapters": lambda chance: {
        **healthy(chance),
        "actor/grad_norm": [chance.uniform(0, 1e-12) for _ in range(STEPS)],
    },
    "zero-learning-rate": _whole("actor/lr", 0.0),
    "collapse-of-reward": _late("critic/score/mean", lambda _, chance: abs(chance.gauss(0, 0.01))),
    "collapse-of-entropy": _late("actor/entropy", lambda _, chance: abs(chance.gauss(0, 0.003))),
    "constant-logprobs": _whole("actor/entropy", 0.4173),
    "constant-logprobs-late": _late("actor/entropy", lambda _, __: 0.4173),
    "exploding-gradients": _late("actor/grad_norm", lambda x, _: x * 1000),
}


def as_series(run: Run) -> dict[str, Series]:
    """The run as the reader of a log makes it."""
    found: dict[str, Series] = {}
    for name, values in run.items():
        for step, value in enumerate(values, start=1):
            add_point(found, name, step, value, f"{name}:{value}", step)
    return found
