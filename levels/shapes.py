"""Which legs a level asks for, and what a leg must not be: refusals before any machine is asked for. No selection."""

from collections.abc import Mapping

from levels.catalogue import Catalogue, override_values
from levels.errors import UsageError
from levels.model import Boundary, LegShape, Level, Phase, Record, Suite, Trait, Variant
from levels.pins import SuitePin


class NotStarted(Record, frozen=True, kw_only=True):
    """Why a planned leg cannot start: it is Blocked before any machine is asked for."""

    boundary: Boundary
    found: str
    expected: str
    next_step: str


def shapes_for(level: Level, traits: frozenset[Trait]) -> tuple[LegShape, ...]:
    """The legs that `level` asks for with a family of `traits`; at least one (a test holds that for every family)."""
    return tuple(shape for shape in level.legs if set(shape.traits) <= traits and not set(shape.unless) & traits)


def refuse_traits(level: Level, variants: tuple[Variant, ...], traits: frozenset[Trait], model: str) -> None:
    """Refuse a variant that the model's family cannot exercise.

    Raises:
        UsageError: naming the first one.

    """
    for variant in variants:
        missing = sorted(trait.value for trait in set(variant.needs_traits) - traits)
        if missing:
            raise UsageError(
                doing=f"planning {level.suite.label} {level.number} with variant {variant.id}",
                found=f"{model}, which has no {' and no '.join(missing)}",
                expected=f"a model with {', '.join(trait.value for trait in variant.needs_traits)}",
                next_step="name a model of such a family with `model=`, or leave the variant out",
            )


def refuse_hollow(level: Level, names: tuple[str, ...]) -> None:
    """Refuse variants without any that the level is about, where every leg has one: a leg's, or one that asks for more.

    Raises:
        UsageError: naming those variants.

    """
    own = {name for shape in level.legs for name in shape.variants}
    own |= {variant.id for variant in level.variants if variant.adds_criteria}
    if names and not own & set(names) and all(shape.variants for shape in level.legs):
        raise UsageError(
            doing=f"planning {level.suite.label} {level.number} {level.title}",
            found=f"only {', '.join(names)}",
            expected=f"one of {', '.join(sorted(own))} as well: without it the level would test nothing of its own",
            next_step="add one of them, or leave the variants out to get the level's own legs",
        )


def sizes_of(phase: Phase, names: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """Parallel sizes that `phase` sets, by short name (`tp`, `pp`, ...); what it leaves to the wrapper is not in it."""
    values = {**phase.env, **override_values(phase)}
    found = {short: values[name] for short, known in names.items() for name in known if name in values}
    return {short: int(value) for short, value in found.items() if value.isdecimal()}


def refuse_sizes(suite: Suite, title: str, phases: tuple[Phase, ...], gpus: int, catalogue: Catalogue) -> None:
    """Refuse parallel sizes that do not fit on `gpus`.

    Raises:
        UsageError: naming the product and the number of GPUs.

    """
    for phase in phases:
        if phase.kind == "helper":
            continue
        sizes = sizes_of(phase, catalogue.sizes[suite])
        dense = [name for name in ("tp", "pp", "cp") if name in sizes]
        expert = [name for name in ("etp", "ep", "pp") if name in sizes]
        for names in (dense, expert, [name for name in ("infer_tp",) if name in sizes]):
            product = 1
            for name in names:
                product *= sizes[name]
            if gpus % product:
                words = " x ".join(f"{name.upper()} {sizes[name]}" for name in names)
                raise UsageError(
                    doing=f"planning {title}, phase {phase.id}",
                    found=f"{words} = {product} on {gpus} GPUs",
                    expected=f"a product that divides {gpus}",
                    next_step="ask for more GPUs with `--gpus`, or for a variant with smaller sizes",
                )


def refuse_guarded(suite: Suite, title: str, phases: tuple[Phase, ...], catalogue: Catalogue) -> None:
    """Refuse what the suite itself would refuse after the machine was asked for.

    Raises:
        UsageError: naming the guard and the settings that differ.

    """
    for phase in phases:
        sizes, values = sizes_of(phase, catalogue.sizes[suite]), override_values(phase)
        for guard in catalogue.guards[suite]:
            if sizes.get(guard.size, 0) < guard.at_least:
                continue
            given = [values.get(name) for name in guard.equal]
            if None in given or len(set(given)) > 1:
                raise UsageError(
                    doing=f"planning {title}, phase {phase.id}",
                    found=", ".join(f"{name}={value}" for name, value in zip(guard.equal, given, strict=True)),
                    expected=f"one value for all of them: {guard.because}",
                    next_step="set them equal, or choose a smaller size; the guard itself is never switched off",
                )


def gpus_of(level: Level, variants: tuple[Variant, ...]) -> int:
    """How many GPUs the leg has when nobody says another number."""
    return max((variant.gpus for variant in variants if variant.gpus is not None), default=level.gpus)


def min_gpus_of(level: Level, variants: tuple[Variant, ...]) -> int:
    """Fewest GPUs on which the leg still tests what it says."""
    return max((level.min_gpus, *(variant.min_gpus for variant in variants if variant.min_gpus is not None)))


def too_few_gpus(level: Level, variants: tuple[Variant, ...], gpus: int) -> NotStarted | None:
    """Why the leg cannot run on `gpus` GPUs: it is never made smaller. Null when it can."""
    fewest = min_gpus_of(level, variants)
    if gpus >= fewest:
        return None
    named = " with " + ", ".join(variant.id for variant in variants) if variants else ""
    return NotStarted(
        boundary=Boundary.ENVIRONMENT,
        found=f"{gpus} GPU{'s' if gpus > 1 else ''} for {level.suite.label} {level.number}{named}",
        expected=f"at least {fewest}: on fewer it would not test what it says",
        next_step="run it on a machine with more GPUs; level 0 and its variant one-gpu need only one",
    )


def problem_of(level: Level, variants: tuple[Variant, ...], pin: SuitePin) -> NotStarted | None:
    """Why the leg cannot run with the suite at its pin; null when it can."""
    lifted = {name for variant in variants for name in variant.lifts}
    needed = [name for name in (*level.needs, *(n for v in variants for n in v.needs)) if name not in lifted]
    for lack in pin.lacks:
        if lack.feature in needed:
            return NotStarted(
                boundary=lack.boundary,
                found=f"{pin.suite.label} {pin.commit[:9]}: {lack.reason}",
                expected=f"a {pin.suite.label} with {lack.feature}",
                next_step=lack.remedy,
            )
    engine = next((variant.engine for variant in variants if variant.engine is not None), level.engine)
    if pin.image.engine != engine:
        image = f"{pin.image.repository}:{pin.image.tag}"
        return NotStarted(
            boundary=Boundary.CONTAINER,
            found=f"image {image} with rollout engine {pin.image.engine}",
            expected=f"an image with {engine}, which {level.suite.label} {level.number} asks for",
            next_step=f"pin an image with {engine}; another engine may break before Bridge, which proves nothing",
        )
    return None
