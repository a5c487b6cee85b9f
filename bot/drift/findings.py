"""What was looked at in a tree and what came of it. No looking here."""

import msgspec


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One fact of the levels against one tree."""

    suite: str
    kind: str
    """`script`, `env var`, `override`, `call`, `metric`, `metrics file`, `workaround`, `test`."""
    name: str
    where: str
    """Level and variants that state it first."""
    proof: str
    """The line that reads it, or what was found instead."""
    holds: bool


class Findings:
    """Findings, each fact once."""

    def __init__(self, suite: str) -> None:
        """Of one suite."""
        self.suite = suite
        self._found: dict[tuple[str, str], Finding] = {}

    def add(self, kind: str, name: str, where: str, proof: str, *, holds: bool) -> None:
        """Keep it; a broken one replaces a good one of the same name."""
        key = (kind, name)
        if key not in self._found or (self._found[key].holds and not holds):
            self._found[key] = Finding(suite=self.suite, kind=kind, name=name, where=where, proof=proof, holds=holds)

    def knows(self, kind: str, name: str) -> bool:
        """Whether that fact was looked at already."""
        return (kind, name) in self._found

    def all(self) -> tuple[Finding, ...]:
        """In the order in which they were looked at."""
        return tuple(self._found.values())
