"""The vocabulary: suites, boundaries, verdict words, and the shape of a level. Loading never belongs here.

Every Struct is frozen, keyword-only and refuses unknown fields.
"""

from enum import StrEnum
from typing import Annotated, Final, Literal

import msgspec

# `$` alone also matches before a final newline.
COMMIT_PATTERN: Final = r"^[0-9a-f]{40}$(?!\n)"
ID_PATTERN: Final = r"^[a-z0-9][a-z0-9-]{0,62}$(?!\n)"
OVERRIDE_PATTERN: Final = r"^(\+\+?|~)?[A-Za-z_][A-Za-z0-9_.@/-]*=[^\n]*$(?!\n)"

PLACEHOLDERS: Final = frozenset(
    {"model_path", "model_id", "reward_model_path", "data", "scratch", "pythonpath", "suite_root", "bridge_root"}
)
"""Names that phases may use as `@{name}`; the GPU machine fills them from its site settings."""

Commit = Annotated[str, msgspec.Meta(pattern=COMMIT_PATTERN)]
"""40 lower-case hex digits; never a branch, a tag or an abbreviation."""
Id = Annotated[str, msgspec.Meta(pattern=ID_PATTERN)]
"""Safe in artifact, check and Slurm job names."""
Override = Annotated[str, msgspec.Meta(pattern=OVERRIDE_PATTERN, max_length=1000)]
"""One Hydra assignment with its `+`/`++` kept."""
EnvName = Annotated[str, msgspec.Meta(pattern=r"^[A-Z_][A-Z0-9_]*$")]


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every document and catalogue type.

    msgspec does not inherit `kw_only`, mypy does not inherit `frozen`: each class says both.
    """


class Suite(StrEnum):
    """The downstream framework that a level exercises."""

    VERL = "verl"
    NEMO_RL = "nemo-rl"

    @property
    def label(self) -> str:
        """The name as its own project writes it."""
        return {"verl": "verl", "nemo-rl": "NeMo-RL"}[self.value]


class Boundary(StrEnum):
    """The stage at which a leg broke, in the order of a run. Source: cases/TAXONOMY.md, *Boundaries*."""

    BRIDGE_CHECKS = "bridge-checks"
    ENVIRONMENT = "environment"
    CONTAINER = "container"
    DEPENDENCY = "dependency"
    CONFIG = "config"
    DATA = "data"
    MODEL_DOWNLOAD = "model-download"
    RAY = "ray"
    ROLLOUT_ENGINE_START = "rollout-engine-start"
    BRIDGE_IMPORT = "bridge-import"
    PROVIDER_BUILD = "provider-build"
    HF_IMPORT = "hf-import"
    PEFT_WRAP = "peft-wrap"
    DDP_WRAP = "ddp-wrap"
    FSDP_WRAP = "fsdp-wrap"
    OPTIMIZER = "optimizer"
    ROLLOUT = "rollout"
    REWARD = "reward"
    TRAIN_STEP = "train-step"
    CHECKPOINT_SAVE = "checkpoint-save"
    CHECKPOINT_LOAD = "checkpoint-load"
    REFIT = "refit"
    METRICS = "metrics"
    SHUTDOWN = "shutdown"


class Outcome(StrEnum):
    """The overall word of a leg or a run."""

    PASS = "Pass"
    FAIL = "Fail"
    BLOCKED = "Blocked"


class Status(StrEnum):
    """The word beside one deliverable."""

    PASS = "Pass"
    FAIL = "Fail"
    BLOCKED = "Blocked"
    SKIPPED = "Skipped"
    NOT_REQUESTED = "Not requested"


class Attribution(StrEnum):
    """Who must act."""

    BRIDGE_SIDE = "bridge-side"
    DOWNSTREAM = "downstream"
    ENVIRONMENT = "environment"
    UNDETERMINED = "undetermined"


class Process(StrEnum):
    """A kind of process whose imports are probed."""

    DRIVER = "driver"
    RAY_WORKER = "ray-worker"


class Deliverable(StrEnum):
    """Rows of the procedures' *Summary Format*, in order."""

    BRIDGE_CHECKS = "bridge-checks"
    BRIDGE_IMPORT = "bridge-import"
    RUN = "run"
    VARIANTS = "variants"
    CAPTURE = "capture"


class Trait(StrEnum):
    """What a model family has beside plain dense text layers."""

    MOE = "moe"
    VLM = "vlm"
    AUDIO = "audio"
    MTP = "mtp"
    """Next-token-prediction or draft layers."""
    QUANTIZATION = "quantization"


class SkipWhen(StrEnum):
    """When something left out takes the Pass away. Explained on top of skips.yaml."""

    ALWAYS = "always"
    RESUME = "resume"
    TRAINING = "training"
    STATED = "stated"


class Bound(StrEnum):
    """How a metric is compared with a number."""

    AT_LEAST = ">="
    ABOVE = ">"
    AT_MOST = "<="
    BELOW = "<"


class Aggregate(StrEnum):
    """Which value of a metric series is compared."""

    MIN = "min"
    MAX = "max"
    LAST = "last"


class CriterionBase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="check"):
    """One pass condition. The judge has one function per subclass; the YAML says which apply to a level."""

    id: Id
    says: str
    """The sentence that this criterion holds the run to."""
    source: str
    """Procedure and section, or `repo: path@commit`."""
    deliverable: Deliverable
    boundary: Boundary
    """Where a run that breaks only this criterion is said to have broken."""
    unmet: Outcome
    """`Fail` or `Blocked`."""
    remedy: str
    """What the reader should do when it is not met; shown as a Follow-up."""
    phase: Id | None = None
    """The one phase that must meet it; null: every phase."""
    log_may_omit: bool = False
    """A log by itself may leave this unverified and still read Pass (`judge --log`). Never for a leg with evidence."""


class ImportPath(CriterionBase, frozen=True, kw_only=True, tag="import-path"):
    """`module` was imported in `process` from below `root` (a root of `Roots`)."""

    process: Process
    module: str
    root: Annotated[str, msgspec.Meta(pattern="^(bridge-src|mcore)$")]


class TreesAsPlanned(CriterionBase, frozen=True, kw_only=True, tag="trees-as-planned"):
    """Bridge, Megatron-LM and suite were at the planned commits and clean."""


class BridgeChecksPassed(CriterionBase, frozen=True, kw_only=True, tag="bridge-checks"):
    """The focused Bridge tests ran and passed."""


class SuiteChecksPassed(CriterionBase, frozen=True, kw_only=True, tag="suite-checks"):
    """The suite's own unit tests of the exercised surface ran with this Bridge, and passed."""


class LogFlag(CriterionBase, frozen=True, kw_only=True, tag="log-flag"):
    """The log shows setting `name` with `value`, and with no other value."""

    name: str
    value: str
    required: bool = True
    """False: not shown at all is fine, another value is not."""


class ReachedStage(CriterionBase, frozen=True, kw_only=True, tag="stage"):
    """The log shows that the run got past each boundary of `stages`."""

    stages: tuple[Boundary, ...]


class StagesShown(CriterionBase, frozen=True, kw_only=True, tag="stages-shown"):
    """The log shows each marker of `shown` (stages.yaml) and none of `hidden`."""

    shown: tuple[Id, ...]
    hidden: tuple[Id, ...] = ()


class WeightsImported(CriterionBase, frozen=True, kw_only=True, tag="weights-imported"):
    """Every mapped weight was found and copied, except names listed as normal."""

    missing_allowed: tuple[str, ...] = ()
    mismatch_allowed: tuple[str, ...] = ()


class NothingSkipped(CriterionBase, frozen=True, kw_only=True, tag="nothing-skipped"):
    """No line of the log says that something was left out while the run went on (skips.yaml)."""

    when: tuple[SkipWhen, ...]


class AdaptersAttached(CriterionBase, frozen=True, kw_only=True, tag="adapters-attached"):
    """PEFT attached to at least one module: adapter parameters above 0."""


class LastStep(CriterionBase, frozen=True, kw_only=True, tag="last-step"):
    """Every phase's progress reached the step that the phase asks for, out of that total."""


class Resumed(CriterionBase, frozen=True, kw_only=True, tag="resumed"):
    """The phase `phase` loaded the checkpoint of step `from_step` and trained the next one."""

    phase: Id
    from_step: int


class MetricsLogged(CriterionBase, frozen=True, kw_only=True, tag="metrics-logged"):
    """Each metric of `keys` was logged at the phase's last step."""

    keys: tuple[str, ...]


class MetricsFinite(CriterionBase, frozen=True, kw_only=True, tag="metrics-finite"):
    """No value of a metric whose name contains one of `words` is NaN or infinite."""

    words: tuple[str, ...]


class MetricBound(CriterionBase, frozen=True, kw_only=True, tag="metric-bound"):
    """`aggregate(metric) bound value`; the metric must be present."""

    metric: str
    aggregate: Aggregate
    bound: Bound
    value: float
    threshold_source: str
    """Where the number comes from."""


class AssertionsPassed(CriterionBase, frozen=True, kw_only=True, tag="assertions"):
    """Each of the phase's `assertions` holds for its metrics file, and no row of the suite's own check failed."""


class LearningSignal(CriterionBase, frozen=True, kw_only=True, tag="learning-signal"):
    """The rule of levels/learning.py holds for these series. Called learning signal, never convergence."""

    moving: tuple[str, ...]
    """Metrics that must take more than one value."""
    nonzero: tuple[str, ...]
    """Metrics that must not stay at zero."""
    gradients: tuple[str, ...] = ()
    """Gradient norms: not 0 several steps in a row, and not exploding."""
    continuous: tuple[str, ...] = ()
    """Entropy and log-probabilities: neither stuck at one value nor collapsing to nothing."""
    rising: tuple[str, ...] = ()
    """Rewards: they must not fall against the start by more than noise. That they do not rise is no failure."""
    logged: tuple[str, ...] = ()
    """Losses and rewards that must be logged at `min_steps` steps or more; one that is absent is not verified."""
    min_steps: int
    trend: tuple[str, ...] = ()
    """Beginnings of metric names: the first that was logged twice is compared with its start, and the two are reported.
    Its direction decides nothing; that nothing can be compared is not met."""


class TransferTimings(CriterionBase, frozen=True, kw_only=True, tag="transfer-timings"):
    """The time of handing weights to the rollout engine is told, and which part of it took longest.

    What a tree does not log is said to be unknown. It decides nothing: no time is wrong.
    """

    total: str
    """Metric of the whole, in seconds."""
    transfer: str
    """Metric of the part between the first export and the last weight loaded."""
    broadcast: tuple[str, ...] = ()
    """Metrics of sending, within `transfer`."""
    load: tuple[str, ...] = ()
    """Metrics of the receiver, within `transfer`; what is left of it is export and encoding."""


class NoException(CriterionBase, frozen=True, kw_only=True, tag="no-exception"):
    """No unrecovered exception, fatal signal or swallowed failure in a Bridge-facing stage."""


class ExitZero(CriterionBase, frozen=True, kw_only=True, tag="exit-zero"):
    """Every phase's command exited with code 0, inside its time limit."""


class LogCaptured(CriterionBase, frozen=True, kw_only=True, tag="log-captured"):
    """The log was kept, whole, and is not empty."""


Criterion = (
    ImportPath
    | TreesAsPlanned
    | BridgeChecksPassed
    | SuiteChecksPassed
    | LogFlag
    | ReachedStage
    | WeightsImported
    | NothingSkipped
    | StagesShown
    | AdaptersAttached
    | LastStep
    | Resumed
    | MetricsLogged
    | MetricsFinite
    | MetricBound
    | AssertionsPassed
    | LearningSignal
    | TransferTimings
    | NoException
    | ExitZero
    | LogCaptured
)


class Limitation(Record, frozen=True, kw_only=True):
    """A sentence about what a Pass did not show, printed when the effective settings match.

    With no condition it is always printed. Env and override conditions must all hold in at least one phase.
    """

    says: str
    when_env: dict[EnvName, str] = {}
    when_override: dict[str, str] = {}
    """Key without `+`/`++` to value."""
    unless_override: dict[str, str] = {}
    """Not printed for a phase that sets one of these."""


class Fallback(Record, frozen=True, kw_only=True):
    """A phase that runs only when another one broke in a known way: a diagnosis, never a replacement."""

    of: Id
    """The phase that must have broken."""
    signature: Id
    """Its first error must be this entry of signatures.yaml."""
    label: str
    """What a good end is called: `reduced-optimization pass`."""


class Phase(Record, frozen=True, kw_only=True):
    """One call of a wrapper. Text may hold the placeholders of `PLACEHOLDERS`, written `@{name}`."""

    id: Id
    kind: Literal["train", "helper"] = "train"
    """A helper dumps or checks what a phase before it wrote; it trains nothing."""
    command: tuple[str, ...]
    """argv, run in the suite's root."""
    arguments: tuple[str, ...] = ()
    """Appended after the overrides: what is no Hydra assignment."""
    env: dict[EnvName, str] = {}
    overrides: tuple[Override, ...] = ()
    """Appended to `command`."""
    steps: int
    """Training step (1-based, counted over all phases) that this phase must reach; 0 for a helper."""
    minutes: int
    """Time limit."""
    fallback: Fallback | None = None
    assertions: tuple[str, ...] = ()
    """Expressions over `metrics`, as the suite's own check takes them: `max(data["train/loss"]) < 1.05`."""
    must_not_exist: tuple[str, ...] = ()
    """Fixed paths that the wrapper writes or removes in any case; one that is there is somebody else's."""
    metrics: str | None = None
    """Path, relative to the suite's root, of a metrics file that the wrapper writes."""
    remove_before: tuple[str, ...] = ()
    """Paths, relative to the suite's root, of stale output to remove first."""
    pythonpath_prefix: tuple[str, ...] = ()
    """Directories that the wrapper itself puts before PYTHONPATH; the probes imitate it. Placeholders allowed."""
    gpus_env: EnvName | None = None
    """Env var that tells the wrapper how many GPUs to use; `run --gpus` sets it."""
    gpus_override: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*$(?!\n)")] | None = None
    """Override key with the same meaning."""


class Requirement(Record, frozen=True, kw_only=True):
    """A data set or model that a level needs before anything starts."""

    id: Id
    kind: Annotated[str, msgspec.Meta(pattern="^(dataset|model)$")]
    path: str
    """Where it must be readable; placeholders allowed."""
    prepare: tuple[str, ...] = ()
    """argv, run in the suite's root, that makes it when it is missing; empty means: never made by a leg."""
    unless_variant: tuple[Id, ...] = ()
    """Variants that make it unnecessary."""
    remedy: str


class Variant(Record, frozen=True, kw_only=True):
    """A named change of a level. Env and overrides apply to every train phase, after the phase's own."""

    id: Id
    title: str
    why: str
    phases: tuple[Phase, ...] = ()
    """Replace the level's phases: another wrapper."""
    extra_phases: tuple[Phase, ...] = ()
    """Come after the level's own phases."""
    requirements: tuple[Requirement, ...] = ()
    drops_requirements: tuple[Id, ...] = ()
    default_model: str | None = None
    needs_traits: tuple[Trait, ...] = ()
    """The model's family must have all of these, or the variant is refused at plan time."""
    needs: tuple[Id, ...] = ()
    """Features that the suite's pin must not lack."""
    lifts: tuple[Id, ...] = ()
    """Features of `Level.needs` that this variant does without."""
    excludes: tuple[Id, ...] = ()
    """Variants that cannot be combined with it."""
    env: dict[EnvName, str] = {}
    overrides: tuple[Override, ...] = ()
    proves: tuple[str, ...] = ()
    does_not_prove: tuple[str, ...] = ()
    limitations: tuple[Limitation, ...] = ()
    adds_criteria: tuple[Criterion, ...] = ()
    drops_criteria: tuple[Id, ...] = ()
    gpus: int | None = None
    min_gpus: int | None = None
    minutes: int | None = None
    minutes_source: str | None = None
    engine: str | None = None
    """Rollout engine that it asks for, when it is not the level's."""


class CheckGroup(Record, frozen=True, kw_only=True):
    """Tests of Bridge that a change calls for, beside the focused ones of its level."""

    id: Id
    title: str
    tests: tuple[str, ...]
    """Glob patterns relative to the Bridge root; `**` is any folders. One that matches no file is passed over."""
    needed: bool
    """Without a passing run there is no Pass; else it is listed as run or not run."""
    because: str


class LegShape(Record, frozen=True, kw_only=True):
    """One leg that a level asks for: which variants it takes, and for which families."""

    variants: tuple[Id, ...] = ()
    traits: tuple[Trait, ...] = ()
    """The family must have all of these; empty: any family."""
    unless: tuple[Trait, ...] = ()
    """Not for a family with one of these."""
    because: str
    """Why the leg is there; one sentence."""


class Level(Record, frozen=True, kw_only=True):
    """A numbered coverage step of a suite."""

    suite: Suite
    number: int
    id: Id
    title: str
    required_when: str
    proves: tuple[str, ...]
    does_not_prove: tuple[str, ...]
    source: str
    gpus: int
    min_gpus: int
    """Fewest GPUs on which the level still tests what it says."""
    minutes: int
    """Expected wall time of the whole leg; an estimate unless `minutes_source` names a run."""
    minutes_source: str
    engine: str = "vllm"
    """Rollout engine; the image of the suite's pin must have it."""
    needs: tuple[Id, ...] = ()
    """Features that the suite's pin must not lack (`lacks` in pins.yaml)."""
    legs: tuple[LegShape, ...]
    opt_in: bool = False
    """Only when asked or directly touched; left out of `level=all`."""
    default_model: str
    bridge_tests: tuple[str, ...] = ()
    """Focused Bridge tests, relative to the Bridge root."""
    suite_tests: tuple[str, ...] = ()
    """The suite's own unit tests of the surface, relative to its root."""
    suite_test_options: tuple[str, ...] = ()
    """Of pytest, before `suite_tests`."""
    requirements: tuple[Requirement, ...] = ()
    phases: tuple[Phase, ...]
    criteria: tuple[Criterion, ...]
    variants: tuple[Variant, ...] = ()
    limitations: tuple[Limitation, ...] = ()


class Guard(Record, frozen=True, kw_only=True):
    """What a suite refuses by itself from a parallel size on: such a leg is refused before a machine is asked for."""

    size: str
    """Short name of `SuiteCatalogue.sizes`."""
    at_least: int
    equal: tuple[str, ...]
    """Override keys that the phase must set, all to one value."""
    because: str
    source: str


class SuiteCatalogue(Record, frozen=True, kw_only=True):
    """One suite's levels, after `extends` and `like` were expanded."""

    version: Annotated[int, msgspec.Meta(ge=1, le=1)]
    suite: Suite
    sizes: dict[str, tuple[str, ...]]
    """Parallel sizes by short name (`tp`, `pp`, `infer_tp`, ...): its env vars and override keys."""
    foreign_env: dict[EnvName, str] = {}
    """Env vars that no file of the suite reads: which program does, with its source."""
    handed_on: dict[str, str] = {}
    """Configuration keys whose whole mapping goes to another program: to which, with its source."""
    never_set: dict[str, str] = {}
    """Env vars and override keys that no level may set, and why."""
    guards: tuple[Guard, ...] = ()
    levels: tuple[Level, ...]
