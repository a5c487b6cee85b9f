"""The levels as a plain-text table for a person at a terminal. Markdown never belongs here."""

from levels.catalogue import Catalogue


def levels_table(catalogue: Catalogue) -> str:
    """One line for each level and variant, with what it proves and does not prove below."""
    lines = [f"{'level':<16} {'GPUs':>4} {'min':>4}  title"]
    for level in catalogue.levels:
        opt_in = " (opt-in)" if level.opt_in else ""
        name = f"{level.suite.value} {level.number}"
        lines.append(f"{name:<16} {level.gpus:>4} {level.minutes:>4}  {level.title}{opt_in}")
        lines += [f"{'':<28}+ {text}" for text in level.proves]
        lines += [f"{'':<28}- not: {text}" for text in level.does_not_prove]
        lines += [
            f"{'':<28}variant {variant.id}: {variant.title}" + (f" ({variant.gpus} GPUs)" if variant.gpus else "")
            for variant in level.variants
        ]
    return "\n".join(lines)
