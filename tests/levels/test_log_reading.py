"""Lines, settings, errors, metrics and signatures, each by itself; and the time and memory of a long log."""

import io
import time
import tracemalloc

import pytest

from levels.errors import ConfigError
from levels.log_lines import MAX_LINE_BYTES, Tail, parse_line, read_lines
from levels.logs import read_log
from levels.metrics import number, read_metrics
from levels.model import Aggregate, Suite
from levels.signatures import PatternSet, Weight
from tests.levels.judging import facts, knowledge


@pytest.mark.parametrize(
    ("data", "actor", "pid", "label", "text", "repeated"),
    [
        pytest.param(b"plain", "", "", "", "plain", 0, id="plain"),
        pytest.param(b"(WorkerDict pid=3) x", "WorkerDict", "3", "", "x", 0, id="ray"),
        pytest.param(b"\x1b[36m(WorkerDict pid=3)\x1b[0m   x", "WorkerDict", "3", "", "  x", 0, id="colour"),
        pytest.param(b"(W[rank=1] pid=3, ip=192.0.2.1) x", "W", "3", "", "x", 0, id="rank-and-ip"),
        pytest.param(b"(pid=3) x", "", "3", "", "x", 0, id="pid-only"),
        pytest.param(b"(raylet) x", "raylet", "", "", "x", 0, id="raylet"),
        pytest.param(b"(autoscaler +35s) x", "autoscaler", "", "", "x", 0, id="autoscaler"),
        pytest.param(b"0: (W pid=3) x", "W", "3", "0: ", "x", 0, id="srun"),
        pytest.param(b"[mcore 2step] (W pid=3) x", "W", "3", "[mcore 2step] ", "x", 0, id="phase-word"),
        pytest.param(b"(W pid=3) x [repeated 7x across cluster]", "W", "3", "", "x", 7, id="repeated"),
        pytest.param(b"(an aside) x", "", "", "", "(an aside) x", 0, id="aside"),
        pytest.param(b"[prompt] system", "", "", "", "[prompt] system", 0, id="sample"),
        pytest.param(b"a\x00b\xff", "", "", "", "a b\ufffd", 0, id="control"),
    ],
)  # fmt: skip
def test_a_line_has_a_writer(data: bytes, actor: str, pid: str, label: str, text: str, repeated: int) -> None:
    line = parse_line(data, 1)
    assert (line.actor, line.pid, line.label, line.text, line.repeated) == (actor, pid, label, text, repeated)


class Drip(io.RawIOBase):
    """Hands out a few bytes at a time, so that every boundary falls inside a line."""

    def __init__(self, data: bytes, size: int) -> None:
        self.data, self.size = data, size

    def read(self, _: int = -1) -> bytes:
        part, self.data = self.data[: self.size], self.data[self.size :]
        return part


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("data", [b"", b"a", b"a\n", b"a\nbb\n\nc", b"\n\n", b"a\rb\rc\nd\r\n"])
def test_chunks_do_not_matter(data: bytes, size: int) -> None:
    tail = Tail()
    lines = [line.raw for line in read_lines(Drip(data, size), tail)]  # type: ignore[arg-type] # a reader of bytes
    whole = [line.raw for line in read_lines(io.BytesIO(data), Tail())]
    assert lines == whole
    assert tail.size_bytes == len(data)
    assert tail.ends_with_newline == (data.endswith(b"\n") or not data)


def test_redraws_are_lines_of_one_number() -> None:
    lines = list(read_lines(io.BytesIO(b"x 0%\rx 50%\rx 100%\ny\n"), Tail()))
    assert [(line.number, line.raw) for line in lines] == [(1, "x 0%"), (1, "x 50%"), (1, "x 100%"), (2, "y")]


def test_thousands_of_redraws_keep_both_ends() -> None:
    data = b"\r".join(b"%d" % index for index in range(5000))
    raws = [line.raw for line in read_lines(io.BytesIO(data), Tail())]
    assert len(raws) == 64
    assert (raws[0], raws[-1]) == ("0", "4999")


def test_a_line_without_end_is_cut() -> None:
    lines = list(read_lines(io.BytesIO(b"x" * (3 * MAX_LINE_BYTES) + b"\ny\n"), Tail()))
    assert [len(line.raw) for line in lines] == [MAX_LINE_BYTES, 1]
    assert lines[0].cut


@pytest.mark.parametrize(
    ("log", "name", "value"),
    [
        pytest.param("+ VANILLA_MBRIDGE=False", "VANILLA_MBRIDGE", "False", id="trace"),
        pytest.param("+ export A='b c'", "A", "b c", id="export"),
        pytest.param("+ python3 -m verl.trainer.main_ppo a.b=1 ++c.d=x", "c.d", "x", id="command"),
        pytest.param("Overrides: ['a.b=1', '++c.d=[1,2]']", "c.d", "[1,2]", id="overrides"),
        pytest.param("Final config:\n{'a': {'b': [1, {'c': True}],\n 'd': 'x: y'}}", "a.d", "x: y", id="dict"),
        pytest.param("Final config:\n{'a': {'b': [1, {'c': True}]}}", "a.b.c", "True", id="list"),
        pytest.param(
            "MasterConfig(policy={'m': {'enabled': True}}, g=Cls(n=2))", "policy.m.enabled", "True", id="master-config"
        ),
        pytest.param("MasterConfig(policy={'m': {'enabled': True}}, g=Cls(n=2))", "g.n", "2", id="master-class"),
    ],
)
def test_settings_are_read(log: str, name: str, value: str) -> None:
    shown = facts(log, Suite.NEMO_RL).last.settings.values
    assert [item.value for item in shown[name]] == [value]


def test_a_dump_without_end_is_given_up() -> None:
    log = "{'a': {'b': 1,\n" + "'c': {\n" * 60_000
    assert facts(log, Suite.VERL).last.settings.dumped


GROUP = """  + Exception Group Traceback (most recent call last):
  |   File "a.py", line 1, in f
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "b.py", line 2, in g
    | ValueError: the cause
    +------------------------------------
"""
CHAIN = """Traceback (most recent call last):
  File "a.py", line 1, in f
    x
KeyError: 'a'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "b.py", line 2, in g
    y
RuntimeError: wrapped
"""


@pytest.mark.parametrize(
    ("log", "wanted"),
    [
        pytest.param(GROUP, [("ExceptionGroup", "f", False), ("ValueError", "g", False)], id="group"),
        pytest.param(CHAIN, [("KeyError", "f", False), ("RuntimeError", "g", True)], id="chain"),
        pytest.param(
            '  File "a.py", line 1\n    x (\n      ^\nSyntaxError: bad\n', [("SyntaxError", "", False)], id="syntax"
        ),
        pytest.param(
            "Exception ignored in: <f>\n" + CHAIN.split("\n\n", maxsplit=1)[0], [("KeyError", "f", False)], id="ignored"
        ),
        pytest.param("Traceback (most recent call last):\nhm\nhm\nhm\nhm\nhm\nhm\n", [], id="no-exception"),
        pytest.param("just words: nothing\nError without colon\n", [], id="words"),
    ],
)
def test_tracebacks_are_read(log: str, wanted: list[tuple[str, str, bool]]) -> None:
    errors = [found.error for found in facts(log, Suite.VERL).last.errors if found.error.exception]
    assert [(e.exception, e.frames[-1].function if e.frames else "", e.chained) for e in errors] == wanted


def test_interleaved_workers_do_not_mix() -> None:
    one = [f"(W pid=1) {line}" for line in CHAIN.split("\n\n", maxsplit=1)[0].splitlines()]
    two = [
        f"(W pid=2) {line}"
        for line in CHAIN.split("\n\n", maxsplit=1)[0].replace("KeyError: 'a'", "OSError: b").splitlines()
    ]
    log = "\n".join(line for pair in zip(one, two, strict=True) for line in pair)
    errors = {found.error.exception: found.error.source[2] for found in facts(log, Suite.VERL).last.errors}
    assert errors == {"KeyError": "1", "OSError": "2"}


def test_a_deep_traceback_keeps_both_ends() -> None:
    frames = "".join(f'  File "f{index}.py", line 1, in f{index}\n    x\n' for index in range(500))
    errors = facts("Traceback (most recent call last):\n" + frames + "RecursionError: deep\n", Suite.VERL).last.errors
    assert len(errors[0].error.frames) == 60
    assert (errors[0].error.frames[0].function, errors[0].error.frames[-1].function) == ("f0", "f499")


def test_what_a_model_wrote_is_no_error() -> None:
    inside = "[prompt] x\n" + CHAIN + "[score] 1.0\n"
    assert facts(inside, Suite.VERL).last.errors == []
    endless = "[prompt] x\n" + "words\n" * 300 + CHAIN
    assert facts(endless, Suite.VERL).last.errors


def test_a_second_start_is_a_launch_of_its_own() -> None:
    log = "+ A=1\nray init kwargs: {}\n+ A=2\nray init kwargs: {}\n"
    launches = facts(log, Suite.VERL).launches
    assert [[item.value for item in launch.settings.values["A"]] for launch in launches] == [["1"], ["2"]]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1.0), ("np.float64(0.5)", 0.5), ("np.float64(nan)", None), ("tensor(2.0, device='cuda')", 2.0), ("x", None)],
)
def test_numbers_are_read(text: str, value: float | None) -> None:
    found = number(text)
    assert found == value if value is not None else found is None or found != found  # noqa: PLR0124 - NaN


def test_series_keep_what_matters() -> None:
    series = read_metrics(b'{"a": {"1": 0.0, "2": 3.0, "10": 1}, "b": {"1": 0}, "c": 3, "d": {"x": 1}}').series
    assert set(series) == {"a", "b"}
    a = series["a"]
    assert (a.count, a.first_step, a.last_step, a.low, a.high, a.last) == (3, 1, 10, 0.0, 3.0, 1.0)
    assert [a.value(kind) for kind in (Aggregate.MIN, Aggregate.MAX, Aggregate.LAST)] == [0.0, 3.0, 1.0]
    assert series["b"].zero
    assert not a.constant


@pytest.mark.parametrize(
    ("data", "says"),
    [
        pytest.param(None, "no metrics file", id="none"),
        pytest.param(b"{", "not JSON", id="not-json"),
        pytest.param(b"3", "instead of an object", id="number"),
        pytest.param(b"{}", "no metric", id="empty"),
        pytest.param(b" " * (32 * 1024**2 + 1), "bytes, more than", id="too-large"),
        pytest.param(b"{" + b",".join(b'"m%d":{"1":1}' % i for i in range(5000)) + b"}", "more than 1000", id="many"),
    ],
)
def test_metrics_that_cannot_be_read_say_why(data: bytes | None, says: str) -> None:
    assert says in (read_metrics(data).problem or "")


def test_a_pattern_that_is_not_linear_is_refused() -> None:
    with pytest.raises(ConfigError, match="RE2 syntax"):
        PatternSet([r"(a)\1"], key="x")
    assert PatternSet([], key="x").hits("a") == []


@pytest.mark.parametrize("suite", list(Suite))
def test_every_signature_is_written_for_a_reader(suite: Suite) -> None:
    known = knowledge(suite).by_id.values()
    assert len({item.id for item in known}) == len(list(known))
    for item in known:
        assert item.source
        assert item.remedy or item.weight is Weight.NOISE, item.id


def test_hostile_lines_are_read_in_linear_time() -> None:
    lines = [
        "x" * 60_000,
        "(" * 60_000,
        "\x1b[" * 30_000,
        'File "' * 10_000,
        "a." * 30_000 + "Error",
        "=" * 60_000,
        "'a': " * 12_000,
    ]
    log = "\n".join(lines * 5).encode()
    start = time.perf_counter()
    facts(log, Suite.VERL)
    facts(log, Suite.NEMO_RL)
    assert time.perf_counter() - start < 20


class Flood(io.RawIOBase):
    """A log of `size` bytes that is never in memory as a whole."""

    def __init__(self, size: int) -> None:
        self.left = size
        self.block = self._block()

    def _block(self) -> bytes:
        lines = (
            f"(WorkerDict pid={index % 97}) INFO step {index} of the flood, with some words behind it"
            for index in range(4000)
        )
        return "\n".join(lines).encode() + b"\n"

    def read(self, _: int = -1) -> bytes:
        part = self.block[: max(self.left, 0)]
        self.left -= len(part)
        return part


def test_a_long_log_needs_no_more_memory_than_a_short_one() -> None:
    knowledge(Suite.VERL)
    peaks = []
    for size in (400_000, 2_000_000):
        tracemalloc.start()
        read_log(Flood(size), knowledge(Suite.VERL))  # type: ignore[arg-type] # a reader of bytes
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 1_000_000
