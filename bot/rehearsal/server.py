"""The embedded GitHub as an HTTP server on loopback. What an address means never belongs here."""

import hashlib
import json
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import format_datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import msgspec

from bot.rehearsal import routes
from bot.rehearsal.call import Answer, Problem
from bot.rehearsal.faults import Fault, Faults
from bot.rehearsal.state import State
from bot.rehearsal.views import Links

MAX_REQUEST_BYTES: Final = 4 * 1024 * 1024
RATE_WINDOW: Final = timedelta(hours=1)
JSON_TYPE: Final = "application/json; charset=utf-8"


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One request and what became of it."""

    index: int
    method: str
    path: str
    query: dict[str, str]
    body: Any
    login: str | None
    """Who asked; the token itself is not kept."""
    template: str | None
    """The operation's address in GitHub's description; null when this server has none for it."""
    status: int | None
    """null when no answer was sent."""
    headers: dict[str, str]
    answer: Any
    fault: Fault | None = None
    worked: bool = True
    """False when a fault came before the work."""


Observer = Callable[[Exchange], None]


@dataclass(kw_only=True)
class Server:
    """A running server. `journal` and `state` may be read at any time."""

    url: str
    state: State
    faults: Faults
    journal: list[Exchange] = field(default_factory=list)
    crashes: list[Exception] = field(default_factory=list)

    @property
    def unhandled(self) -> list[str]:
        """Requests for operations that this server does not have; a test asserts that there are none."""
        return [f"{one.method} {one.path}" for one in self.journal if one.template is None and one.fault is None]


# socketserver leaves open what a connection is; over TCP it is this.
_Connection = Any
_Address = Any


class _Listener(ThreadingHTTPServer):
    """Threads with one lock around the state, and connections that end with the server."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 64

    def __init__(self, server: Server, observer: Observer | None) -> None:
        self.facade = server
        self.observer = observer
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.started = 0
        self._open: set[_Connection] = set()
        super().__init__(("127.0.0.1", 0), _Handler)
        server.url = f"http://127.0.0.1:{self.server_address[1]}"

    def process_request(self, request: _Connection, client_address: _Address) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: _Connection) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: _Connection, client_address: _Address) -> None:  # noqa: ARG002  its signature
        """Keep our own bugs for `serve` to raise. A client that went away is none."""
        error = sys.exception()
        if isinstance(error, Exception) and not isinstance(error, ConnectionError):
            self.facade.crashes.append(error)

    def stop(self) -> None:
        self.stopping.set()
        self.shutdown()
        for connection in tuple(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # the client was faster
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body in one packet
    disable_nagle_algorithm = True
    server: _Listener

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's signature
        """Say nothing: the journal has it all."""

    def do_GET(self) -> None:
        """Every method is served alike."""
        self._serve()

    do_POST = do_PATCH = do_PUT = do_DELETE = do_GET  # noqa: N815  the base class finds them by these names

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        raw = self._read()
        with self.server.lock:
            index = self.server.started
            self.server.started += 1
            fault = self.server.facade.faults.strike(index, self.command, parts.path)
            exchange, body = self._exchange(index, parts.path, parts.query, raw, fault)
            self.server.facade.journal.append(exchange)
            if self.server.observer:
                self.server.observer(exchange)
        self._send(exchange, body, fault)

    def _read(self) -> bytes | None:
        """The request's body; null when it is too large. Clients of this API always send its length."""
        length = self.headers.get("Content-Length", "0")
        size = int(length) if length.isascii() and length.isdigit() else MAX_REQUEST_BYTES + 1
        if size > MAX_REQUEST_BYTES:
            self.close_connection = True
            return None
        return self.rfile.read(size)

    def _exchange(
        self, index: int, path: str, query: str, raw: bytes | None, fault: Fault | None
    ) -> tuple[Exchange, bytes]:
        """Do the work unless a fault forbids it; what to write down, and the bytes of the answer."""
        state = self.server.facade.state
        fields = dict(parse_qsl(query, keep_blank_values=True))
        parsed, readable = _parse(raw) if raw is not None else (None, False)
        request = routes.Request(self.command, path, fields, parsed, self.headers.get("Authorization"))
        worked = fault is None or fault.works
        if not worked:
            outcome = routes.Outcome(Answer(), None, None)
        elif raw is None:
            outcome = routes.Outcome(Problem(413, "Payload too big").answer, None, None)
        elif not readable:
            outcome = routes.Outcome(Problem(400, "Problems parsing JSON").answer, None, None)
        else:
            outcome = self._limited(request)
        answer = outcome.answer
        if fault and fault.kind == "answer":
            answer = Answer(status=fault.status, body={"message": fault.message}, headers=fault.headers)
        body = b"" if answer.body is None else json.dumps(answer.body, ensure_ascii=False).encode()
        headers = {**_standard_headers(state, self.command, answer, body), **answer.headers}
        unchanged = "ETag" in headers and self.headers.get("If-None-Match") == headers["ETag"]
        exchange = Exchange(
            index=index,
            method=self.command,
            path=path,
            query=fields,
            body=parsed,
            login=outcome.token.login if outcome.token else None,
            template=outcome.route.template if outcome.route else None,
            status=None if fault and fault.kind == "reset" else 304 if unchanged else answer.status,
            headers=headers,
            answer=None if unchanged else answer.body,
            fault=fault,
            worked=worked,
        )
        return exchange, b"" if unchanged else body

    def _limited(self, request: routes.Request) -> routes.Outcome:
        """The outcome, or the refusal of a client that has used up its requests."""
        facade = self.server.facade
        rate, now = facade.state.rate, facade.state.now()
        if rate.reset_at is None or now >= rate.reset_at:
            rate.used, rate.reset_at = 0, now + RATE_WINDOW
        if request.path != "/rate_limit":
            rate.used += 1
        if rate.used > rate.limit:
            message = "API rate limit exceeded for installation."
            found = routes.find(request.method, request.path)
            return routes.Outcome(Problem(403, message).answer, found[0] if found else None, None)
        return routes.answer(facade.state, Links(facade.url, facade.state.html_url), request)

    def _send(self, exchange: Exchange, body: bytes, fault: Fault | None) -> None:
        kind = fault.kind if fault else "answer"
        if kind == "reset":
            self._reset()
            return
        if fault and kind == "slow":
            self.server.stopping.wait(fault.seconds)
        self.send_response_only(exchange.status or 500)
        for name, value in exchange.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if kind == "cut" else body)
        self.wfile.flush()
        self.close_connection = self.close_connection or kind == "cut"

    def _reset(self) -> None:
        """Close without a goodbye, so that the client sees a reset."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        socket.close(self.connection.detach())


def _parse(raw: bytes) -> tuple[Any, bool]:
    """The body as JSON, and whether it is readable; no body is null."""
    if not raw:
        return None, True
    try:
        return json.loads(raw), True
    except (ValueError, RecursionError):
        return None, False


def _standard_headers(state: State, method: str, answer: Answer, body: bytes) -> dict[str, str]:
    rate, now = state.rate, state.now()
    headers = {
        "Date": format_datetime(now, usegmt=True),
        "Server": "github.com",
        "X-GitHub-Media-Type": "github.v3; format=json",
        "X-RateLimit-Limit": str(rate.limit),
        "X-RateLimit-Remaining": str(max(0, rate.limit - rate.used)),
        "X-RateLimit-Used": str(rate.used),
        "X-RateLimit-Reset": str(int((rate.reset_at or now).timestamp())),
        "X-RateLimit-Resource": "core",
    }
    if answer.body is not None:
        headers["Content-Type"] = JSON_TYPE
    if method == "GET" and answer.status == HTTPStatus.OK:
        headers["ETag"] = f'W/"{hashlib.sha256(body).hexdigest()}"'
    return headers


@contextmanager
def serve(state: State, *, observer: Observer | None = None, faults: Iterable[Fault] = ()) -> Iterator[Server]:
    """A server for `state` on a free port of loopback, as long as the block lasts.

    Args:
        state: read and changed by the requests.
        observer: called with every exchange, under the server's lock; it collects, it does not raise.
        faults: what goes wrong, in order of precedence.

    Raises:
        ExceptionGroup: at the end of the block, when the server itself crashed on a request.

    """
    server = Server(url="", state=state, faults=Faults(faults))
    listener = _Listener(server, observer)
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02}, name="embedded-github")
    thread.start()
    try:
        yield server
    finally:
        listener.stop()
        thread.join()
    if server.crashes:
        raise ExceptionGroup("the embedded GitHub crashed", server.crashes)
