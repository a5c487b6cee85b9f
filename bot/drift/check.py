"""Every script, env var, override, metric and workaround of the levels against the trees that must read them."""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from bot.drift.compose import Composed, compose
from bot.drift.entries import entry_of
from bot.drift.findings import Finding, Findings
from bot.drift.reads import Sources
from bot.drift.shadow import Recording, make, record
from levels.assertions import Expression
from levels.catalogue import Catalogue, criteria_of, fill, resolve_phases, variants_of
from levels.errors import UsageError
from levels.model import (
    PLACEHOLDERS,
    Criterion,
    LearningSignal,
    Level,
    MetricBound,
    MetricsLogged,
    Phase,
    Suite,
    TransferTimings,
)

_FILE_ENDINGS: Final = (".sh", ".py", ".yaml", ".yml")
_VALUES: Final = {name: f"/filled/{name}" for name in PLACEHOLDERS}


class Trees(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's checkouts. Without Bridge and Megatron-LM their own fields and tests are not looked up."""

    suites: dict[Suite, Path]
    bridge: Path | None = None
    mcore: Path | None = None


def check(catalogue: Catalogue, trees: Trees) -> tuple[Finding, ...]:
    """All findings, good and bad, suite by suite."""
    found: list[Finding] = []
    for suite, root in trees.suites.items():
        found += _Suite(catalogue, suite, root, trees).run()
    return tuple(found)


class _Suite:
    """One suite's levels against its tree."""

    def __init__(self, catalogue: Catalogue, suite: Suite, root: Path, trees: Trees) -> None:
        self.catalogue = catalogue
        self.suite = suite
        self.root = root.resolve()
        self.sources = Sources(self.root)
        self.others = [Sources(tree.resolve()) for tree in (trees.mcore, trees.bridge) if tree is not None]
        self.trees = trees
        self.found = Findings(suite.value)
        self._composed: dict[str, Composed] = {}

    def run(self) -> tuple[Finding, ...]:
        with tempfile.TemporaryDirectory(prefix="bridge-e2e-check-") as folder:
            self.folder = Path(folder)
            self.shadow = make(self.root, self.folder)
            for level in self.catalogue.of(self.suite):
                for names in combinations(level):
                    self._leg(level, names)
                self._files(level)
            self._workarounds()
        return self.found.all()

    def _leg(self, level: Level, names: tuple[str, ...]) -> None:
        where = " + ".join((f"{level.suite.value}/{level.number}", *names))
        variants = variants_of(level, names)
        phases = resolve_phases(level, variants)
        for phase in phases:
            self._scripts(phase, where)
            for name in phase.env:
                self._env_var(name, phase, where)
            if phase.kind == "train":
                self._called(phase, where)
        for metric in metrics_of(phases, criteria_of(level, variants)):
            line = self.sources.metric(metric)
            self.found.add("metric", metric, where, line or "no line of the tree names it", holds=line is not None)

    def _scripts(self, phase: Phase, where: str) -> None:
        for part in (*phase.command, *phase.arguments, *(item.partition("=")[2] for item in phase.overrides)):
            if part.startswith(("/", "@{", "-")) or not part.endswith(_FILE_ENDINGS) or "/" not in part:
                continue
            there = (self.root / part).is_file()
            self.found.add("script", part, where, "there" if there else "no such file in the tree", holds=there)

    def _env_var(self, name: str, phase: Phase, where: str) -> None:
        if self.found.knows("env var", f"{name} of {script_of(phase)}"):
            return
        script = script_of(phase)
        line = self.sources.env_var(name, self.root / script if script else None)
        foreign = self.catalogue.foreign_env[self.suite].get(name)
        proof = line or (f"read by another program: {foreign}" if foreign else "nothing reads it")
        self.found.add("env var", f"{name} of {script}", where, proof, holds=line is not None or foreign is not None)

    def _called(self, phase: Phase, where: str) -> None:
        argv = tuple(fill(part, _VALUES) for part in (*phase.command, *phase.overrides, *phase.arguments))
        env = {name: fill(value, _VALUES) for name, value in phase.env.items()}
        name = f"{where}, phase {phase.id}"
        try:
            recording = record(argv, env, shadow=self.shadow, folder=self.folder)
        except OSError as error:
            self.found.add("call", name, where, f"could not be started: {error.strerror}", holds=False)
            return
        self._entry(recording, phase, name, where)
        self._metrics_file(recording, phase, where)

    def _entry(self, recording: Recording, phase: Phase, name: str, where: str) -> None:
        entries = [entry for call in recording.calls if (entry := entry_of(call, self.shadow))]
        if not entries:
            said = recording.output.splitlines()[-1:] or ["nothing"]
            proof = f"no entry point of {self.suite.label} was called (exit code {recording.exit_code}, {said[0]})"
            self.found.add("call", name, where, proof, holds=False)
            return
        keys = 0
        base: frozenset[str] = frozenset()
        for entry in entries:
            key = msgspec.json.encode(entry).decode()
            composed = self._composed.get(key) or compose(entry)
            self._composed[key] = composed
            if composed.error is not None:
                self.found.add("call", name, where, f"{entry.program} refuses it: {composed.error}", holds=False)
                return
            keys, base = len(composed.keys), composed.base
        self.found.add("call", name, where, f"{entries[-1].program}: {keys} keys", holds=True)
        handed = {item for entry in entries for item in entry.overrides}
        for override in phase.overrides:
            if fill(override, _VALUES) not in handed:
                self.found.add("override", override, where, f"{script_of(phase)} does not hand it on", holds=False)
                continue
            self._key(override, base, where)

    def _key(self, override: str, base: frozenset[str], where: str) -> None:
        key = override.lstrip("+~").partition("=")[0]
        if self.found.knows("override", key):
            return
        line = self.sources.key(key) or self._handed_on(key)
        added = "" if key in base else "added; "
        self.found.add(
            "override", key, where, f"{added}read at {line}" if line else "no line reads it", holds=bool(line)
        )

    def _handed_on(self, key: str) -> str | None:
        """A key of a mapping that the suite hands on whole: the line that reads the mapping, and the field it fills."""
        *parents, last = key.split(".")
        for prefix, taker in self.catalogue.handed_on[self.suite].items():
            line = self.sources.key(prefix) if key.startswith(f"{prefix}.") else None
            if line is not None:
                return f"{line}, which hands {prefix} on: {taker}"
        for index in range(len(parents), 0, -1):
            whole = self.sources.key(".".join(parents[:index]))
            if whole is None:
                continue
            for other in self.others:
                if field := other.field(last):
                    return f"{whole}, which hands {'.'.join(parents[:index])} on to {other.root.name}/{field}"
            return None
        return None

    def _metrics_file(self, recording: Recording, phase: Phase, where: str) -> None:
        if phase.metrics is None:
            return
        written = [str(call.cwd / part) for call in recording.calls for part in call.argv if part.endswith(".json")]
        wanted = str(self.shadow / phase.metrics)
        proof = "written by the wrapper" if wanted in written else f"not among {', '.join(written) or 'no file'}"
        self.found.add("metrics file", phase.metrics, where, proof, holds=wanted in written)

    def _files(self, level: Level) -> None:
        where = f"{level.suite.value}/{level.number}"
        needs = (*level.requirements, *(item for variant in level.variants for item in variant.requirements))
        for part in (part for item in needs for part in item.prepare if part.endswith(".py")):
            there = (self.root / part).is_file()
            self.found.add("script", part, where, "there" if there else "no such file in the tree", holds=there)
        for test in level.bridge_tests if self.trees.bridge else ():
            there = self.trees.bridge is not None and (self.trees.bridge / test).exists()
            self.found.add("test", test, where, "there" if there else "no such file in Bridge", holds=there)

        for test in level.suite_tests:
            there = (self.root / test).is_file()
            self.found.add("test", test, where, "there" if there else "no such file in the tree", holds=there)

    def _workarounds(self) -> None:
        for item in self.catalogue.pins.workarounds_for(self.catalogue.pins.suite(self.suite)):
            for change in item.replacements:
                path = self.root / change.file
                count = path.read_text(encoding="utf-8").count(change.old) if path.is_file() else 0
                proof = f"{change.file} holds the text {count} times, {change.count} expected"
                self.found.add("workaround", item.id, "pins.yaml", proof, holds=count == change.count)


def combinations(level: Level) -> Iterator[tuple[str, ...]]:
    """The level's own legs, and each variant by itself."""
    seen: set[tuple[str, ...]] = set()
    for names in (*(shape.variants for shape in level.legs), *((variant.id,) for variant in level.variants)):
        if names not in seen:
            seen.add(names)
            yield names


def script_of(phase: Phase) -> str:
    """The shell script or program of the phase's command, relative to the suite's root."""
    return next((part for part in phase.command if part.endswith((".sh", ".py"))), "")


def metrics_of(phases: Iterable[Phase], criteria: Iterable[Criterion]) -> Iterator[str]:
    """Every metric name that is asserted."""
    for phase in phases:
        for text in phase.assertions:
            yield from Expression(text).metrics
    for item in criteria:
        match item:
            case MetricsLogged(keys=keys):
                yield from keys
            case MetricBound(metric=metric):
                yield metric
            case LearningSignal(moving=moving, nonzero=nonzero):
                yield from (*moving, *nonzero)
            case TransferTimings():
                yield from (item.total, item.transfer, *item.broadcast, *item.load)
            case _:
                pass


def trees_of(verl: Path | None, nemo_rl: Path | None, bridge: Path | None, mcore: Path | None) -> Trees:
    """The checkouts that were named.

    Raises:
        UsageError: when none was, or one is no folder.

    """
    given = {Suite.VERL: verl, Suite.NEMO_RL: nemo_rl}
    suites = {suite: path for suite, path in given.items() if path is not None}
    for path in (*suites.values(), bridge, mcore):
        if path is not None and not path.is_dir():
            raise UsageError(
                doing="checking the catalogue",
                found=str(path),
                expected="a folder with a checkout",
                next_step="clone the pinned commit of `bridge-e2e catalogue` and name its folder",
            )
    if not suites:
        raise UsageError(
            doing="checking the catalogue",
            found="neither --verl nor --nemo-rl",
            expected="at least one suite's checkout",
            next_step="name one: bridge-e2e catalogue check --verl DIR",
        )
    if mcore is None and bridge is not None and (bridge / "3rdparty/Megatron-LM/megatron").is_dir():
        mcore = bridge / "3rdparty/Megatron-LM"
    return Trees(suites=suites, bridge=bridge, mcore=mcore)
