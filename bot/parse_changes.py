"""The child process that reads hostile patches: a Request on standard input, an Analysis on standard output.

Started by bot/sandbox.py only. Limits are set before the first byte is read; whatever goes wrong ends the process, and
the parent widens.
"""

import resource
import sys
from typing import Final

import msgspec

from levels.changes import Change, Patch, Source, from_source, parse_diff
from levels.model import Record
from levels.units import change_of

CPU_SECONDS: Final = 20
MEMORY_BYTES: Final = 3 << 30
MAX_REQUEST_BYTES: Final = 160_000_000


class Request(Record, frozen=True, kw_only=True):
    """What is to be read: entries of a file list, a whole diff, or both: the diff then adds patches to the entries."""

    sources: tuple[Source, ...] = ()
    diff: str | None = None


class Analysis(Record, frozen=True, kw_only=True):
    """What was read. `doubts` says why it may not be all."""

    changes: tuple[Change, ...]
    doubts: tuple[str, ...] = ()


def analyse(request: Request) -> Analysis:
    """The Changes of `request`, in its order; a listed file that the diff does not show keeps its path only."""
    patches, doubt = parse_diff(request.diff) if request.diff is not None else ((), None)
    by_path = {patch.path: patch for patch in patches}
    listed = [_of_source(source, by_path.pop(source.path, None)) for source in request.sources]
    changes = (*listed, *(change_of(patch) for patch in by_path.values() if patch.path))
    unreadable = [patch.doubt for patch in patches if not patch.path and patch.doubt]
    return Analysis(changes=changes, doubts=tuple(text for text in (doubt, *unreadable) if text))


def _of_source(source: Source, patch: Patch | None) -> Change:
    if patch is None:
        return change_of(from_source(source))
    return change_of(
        msgspec.structs.replace(
            patch,
            previous_path=source.previous_path or patch.previous_path,
            gitlink=source.gitlink or patch.gitlink,
        )
    )


def limit(cpu_seconds: int = CPU_SECONDS) -> None:
    """From here on this process has little processor time and memory, writes no file and leaves no core."""
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def main() -> None:
    """Answer the Request on standard input."""
    limit()
    request = msgspec.json.decode(sys.stdin.buffer.read(MAX_REQUEST_BYTES), type=Request)
    sys.stdout.buffer.write(msgspec.json.encode(analyse(request)))


if __name__ == "__main__":
    main()
