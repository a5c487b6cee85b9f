"""Several writes of which one may fail: the others still happen. What is written never stands here."""

from collections.abc import Callable, Sequence

from levels.errors import GitHubError


def do_all(steps: Sequence[Callable[[], object]]) -> None:
    """Every step, in order, whatever becomes of the others.

    Raises:
        GitHubError: the first one, with the others as notes.

    """
    errors: list[GitHubError] = []
    for step in steps:
        try:
            step()
        except GitHubError as error:
            errors.append(error)
    if errors:
        for other in errors[1:]:
            errors[0].add_note(f"also: {other}")
        raise errors[0]
