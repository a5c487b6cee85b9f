"""Planned misbehaviour of the embedded GitHub, so that a test can try every place. Real refusals never belong here."""

import re
import threading
from collections.abc import Iterable
from typing import Literal

import msgspec


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that goes wrong, once per `times`.

    It strikes the request with number `at` (0 is the first of the session), or else the requests that match `method`
    and `path`, after `skip` of them have passed. Without any of these it strikes the next request.
    """

    kind: Literal["answer", "reset", "cut", "slow"] = "answer"
    """answer `status`; reset the connection; send half of the body and close; wait `seconds` before answering."""
    work: bool = False
    """Do what was asked first. `slow` and `cut` always do."""
    at: int | None = None
    method: str | None = None
    path: str | None = None
    """A regular expression, searched for in the path."""
    skip: int = 0
    times: int = 1
    status: int = 500
    headers: dict[str, str] = {}
    message: str = "Server Error"
    seconds: float = 0.0

    @property
    def works(self) -> bool:
        """True when the state is changed although the client does not see a proper answer."""
        return self.work or self.kind in {"slow", "cut"}

    def matches(self, index: int, method: str, path: str) -> bool:
        """True when this request is one of those meant."""
        if self.at is not None:
            return index == self.at
        return self.method in {None, method} and (self.path is None or re.search(self.path, path) is not None)


class Faults:
    """A plan of faults and how much of it has happened."""

    def __init__(self, plan: Iterable[Fault] = ()) -> None:
        """The first fault of the plan that still applies to a request is the one that strikes it."""
        self.plan = tuple(plan)
        self._seen = [0] * len(self.plan)
        self._lock = threading.Lock()

    def strike(self, index: int, method: str, path: str) -> Fault | None:
        """The fault for this request, counted as done; null for an undisturbed one."""
        with self._lock:
            for number, fault in enumerate(self.plan):
                if not fault.matches(index, method, path) or self._seen[number] >= fault.skip + fault.times:
                    continue
                self._seen[number] += 1
                if self._seen[number] > fault.skip:
                    return fault
        return None

    @property
    def left(self) -> tuple[Fault, ...]:
        """Faults that have not struck as often as planned."""
        return tuple(
            fault for fault, seen in zip(self.plan, self._seen, strict=True) if seen < fault.skip + fault.times
        )
