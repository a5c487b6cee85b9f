"""A log file with a size cap that keeps its start and its end. Reading logs never belongs here."""

import errno
import os
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import Final, Self

TAIL_BYTES: Final = 4 * 1024**2
"""What is kept of the end when the cap is reached: that is where a traceback stands."""
FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""A full disk, quota or file size limit."""


class LogSink:
    """Writes bytes as they come. Never raises for a full disk: it drops bytes, and `cut` says so."""

    def __init__(self, path: Path, limit_bytes: int) -> None:
        """Make `path` anew; a link in its place is refused."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd = os.open(path, flags, 0o644)
        self._head_limit = max(limit_bytes - TAIL_BYTES, limit_bytes // 2)
        self._tail_limit = limit_bytes - self._head_limit
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._written = 0
        self._dropped = 0
        self.full = False

    @property
    def cut(self) -> bool:
        """True when the file lacks bytes."""
        return self.full or self._dropped > 0

    def write(self, chunk: bytes) -> None:
        """Keep `chunk`: in the file below the cap, else in the tail."""
        room = self._head_limit - self._written
        if room > 0:
            self._put(chunk[:room])
            chunk = chunk[room:]
        if chunk:
            self._keep_tail(chunk)

    def _keep_tail(self, chunk: bytes) -> None:
        self._tail.append(chunk)
        self._tail_bytes += len(chunk)
        while self._tail_bytes - len(self._tail[0]) >= self._tail_limit:
            gone = self._tail.popleft()
            self._tail_bytes -= len(gone)
            self._dropped += len(gone)

    def _put(self, data: bytes) -> None:
        view = memoryview(data)
        while view and not self.full:
            try:
                count = os.write(self._fd, view)
            except OSError as error:
                if error.errno not in FULL:
                    raise
                self.full = True
                return
            self._written += count
            view = view[count:]

    def __enter__(self) -> Self:
        """The sink itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the tail and close."""
        if self._dropped:
            self._put(f"\n[bridge-e2e: {self._dropped} bytes left out here, the log reached its cap]\n".encode())
        for chunk in self._tail:
            self._put(chunk)
        os.close(self._fd)
