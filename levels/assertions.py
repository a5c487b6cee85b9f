"""The suite's metric expressions, evaluated without `eval`: a small grammar over kept points. Thresholds are YAML.

`max(data["train/reward"]) > 0.03`, `mean(data["train/loss"], 2, ignore_top_p=0.05) < 1.5 * data["train/loss"]["1"]`.
The functions mean what tests/check_metrics.py means by them.

Source: NVIDIA-NeMo/RL: tests/check_metrics.py@7ea279abfbeb698b092856d0dab61e7cf39bc909.
"""

import ast
import math
import statistics
from collections.abc import Callable, Mapping
from typing import Final

from levels.errors import ConfigError

MAX_EXPRESSION: Final = 500
Points = Mapping[int, float]
Data = Mapping[str, Points]
Value = float | Points

_COMPARE: Final[Mapping[type[ast.cmpop], tuple[str, Callable[[float, float], bool]]]] = {
    ast.Lt: ("<", lambda a, b: a < b),
    ast.LtE: ("<=", lambda a, b: a <= b),
    ast.Gt: (">", lambda a, b: a > b),
    ast.GtE: (">=", lambda a, b: a >= b),
    ast.Eq: ("==", lambda a, b: a == b),
}
_ARITHMETIC: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
}


class Unevaluated(Exception):
    """A metric that is not there, a step that is not there, or a division by zero: the expression says nothing."""


class Expression:
    """One parsed expression: `left compare right`."""

    def __init__(self, text: str, *, path: str = "levels", key: str = "assertions") -> None:
        """Parse.

        Raises:
            ConfigError: for anything outside the grammar.

        """
        self.text = text
        self._where = (path, key)
        try:
            tree = ast.parse(text[: MAX_EXPRESSION + 1], mode="eval").body
        except (SyntaxError, ValueError, RecursionError) as error:
            raise self._bad(str(error)) from error
        if len(text) > MAX_EXPRESSION or not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
            raise self._bad("no single comparison")
        if type(tree.ops[0]) not in _COMPARE:
            raise self._bad(type(tree.ops[0]).__name__)
        self.bound, self._holds = _COMPARE[type(tree.ops[0])]
        self._sides = (tree.left, tree.comparators[0])
        self.metrics: tuple[str, ...] = tuple(dict.fromkeys(self._names(tree)))
        self._check(tree.left)
        self._check(tree.comparators[0])

    def evaluate(self, data: Data) -> tuple[bool, float]:
        """Whether it holds, and the value of its left side. NaN holds nothing.

        Raises:
            Unevaluated: naming what is missing.

        """
        left, right = (_number(self._value(side, data)) for side in self._sides)
        return self._holds(left, right) and not math.isnan(left) and not math.isnan(right), left

    def _value(self, node: ast.expr, data: Data) -> Value:
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -_number(self._value(operand, data))
            case ast.BinOp(left=left, op=operator, right=right):
                try:
                    return _ARITHMETIC[type(operator)](
                        _number(self._value(left, data)), _number(self._value(right, data))
                    )
                except ZeroDivisionError as error:
                    raise Unevaluated("division by zero") from error
            case ast.Subscript(value=ast.Name(id="data"), slice=ast.Constant(value=str(name))):
                return _points(data, name)
            case ast.Subscript(value=inner, slice=ast.Constant(value=str(step))):
                points = self._value(inner, data)
                if isinstance(points, float) or not step.isdecimal() or int(step) not in points:
                    raise Unevaluated(f"no step {step}")
                return points[int(step)]
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                numbers = [_number(self._value(arg, data)) for arg in args[1:]]
                named = {str(item.arg): _number(self._value(item.value, data)) for item in keywords}
                points = self._value(args[0], data)
                if isinstance(points, float):
                    raise Unevaluated(f"{name} of a number")
                return _call(name, points, numbers, named)
            case _:
                raise self._bad(type(node).__name__)

    def _check(self, node: ast.expr) -> None:
        """Refuse what the grammar does not have, before any data is there."""
        match node:
            case ast.Constant(value=bool()):
                raise self._bad("a truth value")
            case ast.Constant(value=int() | float()):
                return
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                self._check(operand)
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _ARITHMETIC:
                self._check(left)
                self._check(right)
            case ast.Subscript(value=ast.Name(id="data"), slice=ast.Constant(value=str())):
                return
            case ast.Subscript(value=inner, slice=ast.Constant(value=str())):
                self._check(inner)
            case ast.Call(func=ast.Name(id=name), args=[first, *rest], keywords=keywords) if name in _FUNCTIONS:
                self._check(first)
                for part in (*rest, *(item.value for item in keywords)):
                    self._check(part)
                if not {item.arg for item in keywords} <= set(_FUNCTIONS[name]) or len(rest) > len(_FUNCTIONS[name]):
                    raise self._bad(f"arguments of {name}")
            case _:
                raise self._bad(ast.unparse(node)[:80])

    @staticmethod
    def _names(tree: ast.expr) -> list[str]:
        return [
            node.slice.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str)
        ]

    def _bad(self, found: str) -> ConfigError:
        path, key = self._where
        return ConfigError(
            path=path,
            key=key,
            found=f"{self.text[:200]!r}: {found}",
            expected='one comparison of min, max, mean, median, ratio_above or len over data["metric"] with a number',
            next_step="write the expression as tests/check_metrics.py takes it",
        )


_FUNCTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "min": (),
    "max": (),
    "len": (),
    "mean": ("range_start", "range_end", "ignore_top_p"),
    "median": ("range_start", "range_end"),
    "ratio_above": ("threshold",),
}


def _points(data: Data, name: str) -> Points:
    points = data.get(name)
    if not points:
        raise Unevaluated(f"{name} was not logged")
    return points


def _number(value: Value) -> float:
    if isinstance(value, float):
        return value
    raise Unevaluated("a whole series where a number is needed")


def _call(name: str, points: Points, numbers: list[float], named: Mapping[str, float]) -> float:
    given = {**dict(zip(_FUNCTIONS[name], numbers, strict=False)), **named}
    values = list(points.values())
    match name:
        case "len":
            return float(len(values))
        case "min":
            return math.nan if any(map(math.isnan, values)) else min(values)
        case "max":
            return math.nan if any(map(math.isnan, values)) else max(values)
        case "ratio_above":
            return sum(value >= given.get("threshold", 0.0) for value in values) / len(values)
        case _:
            chosen = _range(points, int(given.get("range_start", 1)), int(given.get("range_end", 0)))
            if name == "mean" and (top := given.get("ignore_top_p", 0.0)) > 0:
                kept = int(len(chosen) * (1.0 - top))
                chosen = sorted(chosen)[:kept] if kept > 0 else sorted(chosen)[:1]
            if not chosen:
                raise Unevaluated(f"{name} of no step")
            return statistics.fmean(chosen) if name == "mean" else statistics.median(chosen)


def _range(points: Points, start: int, end: int) -> list[float]:
    """Values of the steps from `start` to before `end`, both 1-based; negative and 0 count from the end of the run."""
    offset = max(points) - len(points)
    if start < 0:
        start += len(points) + 1 + offset
    if end <= 0:
        end += len(points) + 1 + offset
    return [value for step, value in points.items() if start <= step < end]
