"""From many errors to the first cause, its boundary and who must act. Verdict words never belong here."""

import re
from typing import Final

from levels.log_errors import LogError, LogFrame
from levels.log_stages import Found, Launch
from levels.model import Attribution, Boundary, Outcome, Record
from levels.signatures import Built, Knowledge, Signature, Weight
from levels.verdict import Frame

BRIDGE_FACING: Final = frozenset(
    {
        Boundary.PROVIDER_BUILD,
        Boundary.HF_IMPORT,
        Boundary.PEFT_WRAP,
        Boundary.DDP_WRAP,
        Boundary.FSDP_WRAP,
        Boundary.OPTIMIZER,
        Boundary.ROLLOUT,
        Boundary.TRAIN_STEP,
        Boundary.CHECKPOINT_SAVE,
        Boundary.CHECKPOINT_LOAD,
        Boundary.REFIT,
    }
)
"""Stages in which even a printed and survived exception is a failure of the run."""
ENVIRONMENT_CLASS: Final = frozenset(
    {
        Boundary.ENVIRONMENT,
        Boundary.CONTAINER,
        Boundary.DEPENDENCY,
        Boundary.CONFIG,
        Boundary.DATA,
        Boundary.MODEL_DOWNLOAD,
        Boundary.RAY,
        Boundary.ROLLOUT_ENGINE_START,
        Boundary.REWARD,
    }
)
_AFTER_THE_END: Final = frozenset({Boundary.METRICS, Boundary.CHECKPOINT_SAVE})
UNKNOWN: Final = "unknown failure"
MAX_CHAIN: Final = 120
"""Lines within which a chained exception belongs to the one before it."""
_REMOTE: Final = re.compile(r"(?:.*\.)?(?:RayTaskError|ActorDiedError|RayActorError)")
_HEADER_OF_REMOTE: Final = "ray.exceptions.RayTaskError"
"""Ray prints it above the remote traceback: it says only which method failed."""
_PROGRAM_ERRORS: Final = frozenset(
    {
        "AssertionError",
        "AttributeError",
        "IndexError",
        "KeyError",
        "NameError",
        "NotImplementedError",
        "PicklingError",
        "TypeError",
        "UnboundLocalError",
    }
)
"""What a program raises about itself: neither the machine nor the job's files are at fault."""
_PROGRAMS: Final = frozenset({Boundary.REWARD, Boundary.ROLLOUT_ENGINE_START})
"""Boundaries whose code is downstream's, though breaks there are mostly the environment's."""
_SYNTAX: Final = frozenset({"SyntaxError", "IndentationError", "TabError"})
_NO_MODULE: Final = re.compile(r"No module named '([\w.]+)'")
_NO_NAME: Final = re.compile(
    r"cannot import name '\w+' from (?:partially initialized module )?'([\w.]+)'(?: .*)? \(([^)]*)\)"
)
_NO_ATTRIBUTE: Final = re.compile(r"(?:partially initialized )?module '([\w.]+)' (?:\(.*\) )?has no attribute")


class Cause(Record, frozen=True, kw_only=True):
    """The error that everything else followed from."""

    error: LogError
    boundary: Boundary
    attribution: Attribution
    category: str
    remedy: str
    built: Built
    outcome: Outcome | None = None
    """Set where the boundary's usual meaning does not hold: the checkout's own code is broken."""
    frame: Frame | None = None
    signature: str = ""
    consequence: bool = False
    """Nothing but the end of something else is known, such as the interrupt that ended the run."""


class _Candidate(Record, frozen=True, kw_only=True):
    found: Found
    signature: Signature | None
    weight: Weight
    strength: int


def first_cause(
    launch: Launch, knowledge: Knowledge, *, done_line: int | None, bridge_root: str | None
) -> Cause | None:
    """The first cause of a run that did not end well; None when the log shows none.

    Args:
        launch: the last start of the program.
        knowledge: signatures and stages.
        done_line: the line that shows the last asked step, None when it was not reached.
        bridge_root: the checkout's `src`, when known.

    """
    candidates = [
        candidate
        for found in launch.errors
        if (candidate := _weigh(found, launch, knowledge)) and not _recovered(candidate, launch, done_line)
    ]
    if not candidates:
        return None
    strongest = max(candidate.strength for candidate in candidates)
    chosen = next(candidate for candidate in candidates if candidate.strength == strongest)
    return _explain(chosen, launch, knowledge, done_line, bridge_root)


def swallowed(launch: Launch, knowledge: Knowledge, *, done_line: int | None, bridge_root: str | None) -> Cause | None:
    """A failure in a Bridge-facing stage that the program printed and survived; None when there is none."""
    for found in launch.errors:
        candidate = _weigh(found, launch, knowledge)
        if (
            candidate is None
            or candidate.weight is Weight.WAITING
            or (candidate.signature is None and found.error.bare)
        ):
            continue
        if candidate.weight is Weight.SWALLOWED or (
            found.error.exception and _late_or_facing(found, knowledge, done_line)
        ):
            return _explain(candidate, launch, knowledge, None, bridge_root)
    return None


def _late_or_facing(found: Found, knowledge: Knowledge, done_line: int | None) -> bool:
    boundary = knowledge.frame_boundary(found.error.frames)
    if done_line is not None and found.error.number > done_line:
        return boundary is Boundary.CHECKPOINT_SAVE
    return boundary in BRIDGE_FACING


def _weigh(found: Found, launch: Launch, knowledge: Knowledge) -> _Candidate | None:
    """`found` with what is known about it; None for residual noise."""
    error = found.error
    if error.ignored:
        return None
    signature = knowledge.by_id[error.signature] if error.signature else _name(found, launch, knowledge)
    weight = signature.weight if signature else Weight.CAUSE
    if weight is Weight.NOISE:
        return None
    if error.chained and weight is Weight.CAUSE:
        weight = Weight.CONSEQUENCE
    if error.signature and signature and not _applies(signature, found):
        signature = None
        weight = Weight.CONSEQUENCE
    header = error.exception.startswith(_HEADER_OF_REMOTE)
    strength = (not header) if weight is Weight.CONSEQUENCE else 2 if error.bare and not signature else 3
    return _Candidate(found=found, signature=signature, weight=weight, strength=strength)


def _name(found: Found, launch: Launch, knowledge: Knowledge) -> Signature | None:
    frames = _all_frames(found.error, launch)
    for signature in knowledge.on_exception(found.error.said):
        if not _applies(signature, found):
            continue
        if signature.needs_frames and not knowledge.in_group(signature.needs_frames, frames):
            continue
        if signature.unless_frames and knowledge.in_group(signature.unless_frames, frames):
            continue
        return signature
    return None


def _applies(signature: Signature, found: Found) -> bool:
    if signature.until == "construction":
        return found.built is Built.NO
    if signature.until == "built":
        return found.built is not Built.YES
    return True


def _recovered(candidate: _Candidate, launch: Launch, done_line: int | None) -> bool:
    """Whether the run went on after this error."""
    error = candidate.found.error
    if candidate.weight is Weight.SWALLOWED:
        return False
    if candidate.weight is Weight.WAITING:
        name = candidate.signature.id if candidate.signature else ""
        last = max(
            (other.error.number for other in launch.errors if other.error.signature == name), default=error.number
        )
        return last < max(launch.alive.values(), default=0) or (done_line is not None and last < done_line)
    if error.number < launch.progress_line:
        return True
    return launch.alive.get(error.source, 0) > error.number


def _explain(
    candidate: _Candidate, launch: Launch, knowledge: Knowledge, done_line: int | None, bridge_root: str | None
) -> Cause:
    found, signature = candidate.found, candidate.signature
    error = found.error
    frames = _all_frames(error, launch)
    imported = _import_failure(error, knowledge, bridge_root)
    if imported is not None:
        boundary, outcome, attribution = imported
    else:
        outcome = None
        boundary = _boundary(found, signature, frames, launch, knowledge)
        attribution = _attribution(error, signature, boundary, knowledge)
        if candidate.weight is Weight.CONSEQUENCE and not (signature and signature.attribution):
            attribution = Attribution.ENVIRONMENT if boundary in ENVIRONMENT_CLASS else Attribution.UNDETERMINED
    if done_line is not None and error.number > done_line and boundary not in _AFTER_THE_END:
        boundary = Boundary.SHUTDOWN
        attribution = _attribution(error, None, boundary, knowledge)
    return Cause(
        error=_with_chain(error, launch),
        boundary=boundary,
        attribution=attribution,
        category=signature.category if signature else _category(error, boundary),
        remedy=(signature.remedy if signature else "") or _unknown(error, _raising_frame(error, knowledge)),
        built=launch.built,
        outcome=outcome,
        frame=_raising_frame(error, knowledge),
        signature=signature.id if signature else "",
        consequence=candidate.weight is Weight.CONSEQUENCE,
    )


def _unknown(error: LogError, frame: Frame | None) -> str:
    """What to do about an error that no signature knows."""
    where = f"{frame.file}:{frame.line} ({frame.function})" if frame else f"line {error.number} of the log"
    return f"no signature knows this error: look at {where}, and add one to levels/signatures.yaml"


def _category(error: LogError, boundary: Boundary) -> str:
    """Category of an error that no signature knows: a kind of its own, with where it struck and its class."""
    name = f": {error.exception.rpartition('.')[2]}" if error.exception else ""
    return f"{UNKNOWN} at {boundary.value}{name}"


def _with_chain(error: LogError, launch: Launch) -> LogError:
    """`error` with the exception lines that Python chained to it, so that the reader sees both."""
    following = [
        found.error.message[0]
        for found in launch.errors
        if found.error.chained
        and found.error.source == error.source
        and 0 < found.error.number - error.number < MAX_CHAIN
    ]
    last = launch.errors[-1].error
    if last.exception and last.number > error.number and not _REMOTE.match(last.exception):
        following.append(last.message[0])
    following = [text for text in dict.fromkeys(following) if text not in error.message]
    if not following:
        return error
    return LogError(
        number=error.number,
        text=error.text,
        message=(*error.message, *following[:3]),
        exception=error.exception,
        frames=error.frames,
        outer=error.outer,
        source=error.source,
    )


def _all_frames(error: LogError, launch: Launch) -> tuple[LogFrame, ...]:
    """Its own frames and wrappers, and those of other processes that said the same."""
    frames = error.outer + error.frames
    for other in launch.errors:
        same = other.error.message[0].rstrip() == error.message[0].rstrip()
        if other.error is not error and error.exception and same:
            frames += other.error.outer + other.error.frames
    return frames


def _boundary(
    found: Found, signature: Signature | None, frames: tuple[LogFrame, ...], launch: Launch, knowledge: Knowledge
) -> Boundary:
    if signature and signature.boundary:
        return signature.boundary
    own = knowledge.frame_boundary(found.error.frames) or knowledge.frame_boundary(frames)
    if own is not None:
        return _engine_or_rollout(own, found)
    if signature and signature.before and found.built is Built.NO:
        return signature.before
    driver = tuple(
        frame for other in launch.errors if not other.role for frame in other.error.outer + other.error.frames
    )
    waited = not found.role or found.stage in _STEP_STAGES
    if not found.error.frames and waited and (shown := knowledge.frame_boundary(driver)):
        return _engine_or_rollout(shown, found)
    return found.stage or Boundary.ENVIRONMENT


def _engine_or_rollout(boundary: Boundary, found: Found) -> Boundary:
    """Engines use the same functions to start and to generate: what was up decides."""
    if boundary is Boundary.ROLLOUT_ENGINE_START and found.engine_up and found.stage in _STEP_STAGES:
        return Boundary.ROLLOUT
    return boundary


_STEP_STAGES: Final = frozenset({Boundary.ROLLOUT, Boundary.TRAIN_STEP, Boundary.REWARD})


def _attribution(error: LogError, signature: Signature | None, boundary: Boundary, knowledge: Knowledge) -> Attribution:
    if signature and signature.attribution:
        undecided = signature.attribution is Attribution.UNDETERMINED and boundary in ENVIRONMENT_CLASS
        return Attribution.ENVIRONMENT if undecided else signature.attribution
    owners = [owner for frame in reversed(error.frames) if (owner := knowledge.owner(frame.file)) != "elsewhere"]
    innermost = owners[0] if owners else ""
    if boundary in ENVIRONMENT_CLASS:
        of_the_suite = boundary is Boundary.CONFIG and innermost == "suite"
        programs = boundary in _PROGRAMS and error.exception.rpartition(".")[2] in _PROGRAM_ERRORS
        return Attribution.DOWNSTREAM if of_the_suite or programs else Attribution.ENVIRONMENT
    engine = boundary is Boundary.ROLLOUT and error.exception.startswith(("vllm.", "torch.", "sglang."))
    bridge = innermost == "bridge" or (innermost == "mcore" and boundary is Boundary.PROVIDER_BUILD)
    suite = innermost == "suite" or (boundary in (Boundary.REFIT, Boundary.SHUTDOWN) and innermost != "mcore")
    if bridge:
        return Attribution.BRIDGE_SIDE
    foreign = boundary is Boundary.TRAIN_STEP and bool(owners) and knowledge.owner(error.frames[-1].file) == "elsewhere"
    if suite and not engine and not foreign:
        return Attribution.DOWNSTREAM
    return Attribution.BRIDGE_SIDE if boundary in (Boundary.HF_IMPORT, Boundary.PEFT_WRAP) else Attribution.UNDETERMINED


def _raising_frame(error: LogError, knowledge: Knowledge) -> Frame | None:
    if not error.frames:
        return None
    frame = error.frames[-1]
    return Frame(file=frame.file, line=frame.line, function=frame.function, owner=knowledge.owner(frame.file))


def _import_failure(
    error: LogError, knowledge: Knowledge, bridge_root: str | None
) -> tuple[Boundary, Outcome, Attribution] | None:
    """What a failed import means: the checkout's own code, or a package beside it; None for other errors."""
    name = error.exception.rpartition(".")[2]
    module, path = _imported_module(error.said)
    importing = any(
        frame.function in ("<module>", "") and knowledge.owner(frame.file) == "bridge" for frame in error.frames
    )
    broken = (Boundary.BRIDGE_IMPORT, Outcome.FAIL, Attribution.BRIDGE_SIDE)
    package = (Boundary.DEPENDENCY, Outcome.BLOCKED, Attribution.ENVIRONMENT)
    if name in ("ImportError", "ModuleNotFoundError", "AttributeError") and module.startswith("megatron.bridge."):
        return broken if importing else (Boundary.BRIDGE_IMPORT, Outcome.FAIL, Attribution.UNDETERMINED)
    if not importing:
        return None
    if bridge_root and path.startswith(bridge_root.removesuffix("/src").rstrip("/") + "/3rdparty/"):
        return broken
    if module:
        return package
    last = error.frames[-1]
    if knowledge.owner(last.file) == "bridge" or (name in _SYNTAX and "/megatron/bridge/" in last.file):
        return broken
    return package


def _imported_module(said: str) -> tuple[str, str]:
    """Module and file that an import error names; empty when it names none."""
    for pattern in (_NO_NAME, _NO_MODULE, _NO_ATTRIBUTE):
        if match := pattern.search(said):
            groups = match.groups()
            return groups[0], groups[1] if len(groups) > 1 else ""
    return "", ""
