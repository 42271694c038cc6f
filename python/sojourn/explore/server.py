"""Who is answered, and how: HTTP on this machine's loopback address.

What is refused, and why:

- Whoever does not have the address: it holds 256 random bits, compared in constant time. Other users of the machine
  can connect, and learn nothing.
- A page of somebody else's that a browser has open: it does not know the address. Should it have guessed a name that
  resolves to this machine (DNS rebinding), the Host header has that name and not ours. Requests that carry a body say
  where they are from (Origin), and that has to be us.
- Paths: none reaches the file system. A request names one of seven things, a run by its number, and a report by a name
  that is compared with those in the folder.
- Whatever the results hold: the page takes every text as text; its policy lets its own script run by its hash and
  nothing else, and lets it speak to nobody but us. Reports of the folder are shown without our origin, and the
  script that they may run is the one that this Sojourn writes.

The standard library's server has everything that seven routes on loopback need, and no other package comes with it.
It lacks files by path, many users and encryption, which we do not need.
"""

import hmac
import json
import resource
import secrets
import socket
import socketserver
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import unquote

from sojourn.errors import SojournError, UsageError
from sojourn.explore import page
from sojourn.explore.about import about
from sojourn.explore.catalogue import Catalogue, axis_json
from sojourn.explore.measuring import Measuring
from sojourn.explore.requests import MOST_BYTES, Measure, One, Series
from sojourn.explore.series import lines
from sojourn.plotting.kinds.across import Places
from sojourn.reporting import script

HOST: Final = "127.0.0.1"

_TOKEN_BYTES: Final = 32

_PATIENCE_S: Final = 30.0
"""For so long the server waits for a whole request, however its bytes drip."""

_MOST_CONNECTIONS: Final = 64
"""Connections at one time, before any has shown the token; fewer where the process may open few files."""


class RefusedError(Exception):
    """A request that is not answered, with its status."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


class Server(ThreadingHTTPServer):
    """The server of one folder."""

    daemon_threads = True

    def __init__(self, catalogue: Catalogue, port: int = 0) -> None:
        """Listen.

        Args:
            catalogue: the folder's runs.
            port: 0 for one that is free.

        Raises:
            UsageError: if the port is taken, or not ours to take.
        """
        self.catalogue = catalogue
        self.measuring = Measuring(catalogue)
        self.waiting: dict[Any, threading.Timer] = {}
        """By connection, the end of its patience."""
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        few = descriptors // 4 if descriptors > 0 else _MOST_CONNECTIONS
        self._free = threading.Semaphore(max(1, min(_MOST_CONNECTIONS, few)))
        try:
            super().__init__((HOST, port), Handler)
        except OSError as error:
            raise UsageError(
                f"port {port} cannot be listened on: {error.strerror}",
                help="name another --port, or none for a free one",
            ) from error

    @property
    def port(self) -> int:
        """The port."""
        return int(self.server_address[1])

    @property
    def address(self) -> str:
        """The address of the page; who has it may read the folder."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    def server_bind(self) -> None:
        """Take the port."""
        # The base class asks the name service what this machine is called, which nobody here wants to know.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.port

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - a socket and its address
        """Answer in a thread of its own, unless too many are answered already: then the connection is closed."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Answer one request."""
        deadline = threading.Timer(_PATIENCE_S, _hang_up, [request])
        deadline.daemon = True
        deadline.start()
        self.waiting[request] = deadline
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.read(request)
            self._free.release()

    def read(self, request: Any) -> None:  # noqa: ANN401
        """Note that a request was read as a whole."""
        if deadline := self.waiting.pop(request, None):
            deadline.cancel()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say what went wrong that is a mistake of ours."""
        # Whoever closes a tab closes its connections.
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type] # it prints the address


def _hang_up(request: socket.socket) -> None:
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class Handler(BaseHTTPRequestHandler):
    """One request. Each has a connection of its own."""

    server: Server
    server_version = "Sojourn"
    sys_version = ""
    timeout = _PATIENCE_S

    def do_GET(self) -> None:
        """Answer a request without a body."""
        self._answer({"": self._page, "runs": self._runs})

    def do_HEAD(self) -> None:
        """Answer the same without its content."""
        self.do_GET()

    def do_POST(self) -> None:
        """Answer a request in JSON."""
        self._answer({"measure": self._measure, "series": self._series, "run": self._run})

    # --- who is answered ----------------------------------------------------------------------------------------------

    def _answer(self, routes: Mapping[str, Callable[[], None]]) -> None:
        try:
            what = self._admitted()
            if self.command != "POST":
                self.server.read(self.connection)
            if what in routes:
                routes[what]()
            else:
                self._report(unquote(what.removeprefix("report/")) if what.startswith("report/") else "")
        except RefusedError as error:
            self._send(error.status, "text/plain; charset=utf-8", f"{error.why}\n".encode())
        except SojournError as error:
            self._json({"error": error.message, "help": error.help}, HTTPStatus.UNPROCESSABLE_ENTITY)

    def _admitted(self) -> str:
        """Return the path behind the token.

        Raises:
            RefusedError: if it is not ours to answer.
        """
        own = {f"{HOST}:{self.server.port}", f"localhost:{self.server.port}"}
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0].lower() not in own:
            raise RefusedError(HTTPStatus.MISDIRECTED_REQUEST, "this is another host")
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in own}:
            raise RefusedError(HTTPStatus.FORBIDDEN, "the request is from another page")
        token, slash, what = self.path.partition("?")[0].removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode("utf-8", "surrogateescape"), self.server.token.encode()) or not slash:
            raise RefusedError(
                HTTPStatus.NOT_FOUND, "there is no such page: take the address that sojourn explore printed"
            )
        return what

    def _body(self) -> bytes:
        """Return the body of a request.

        Raises:
            RefusedError: if it is no JSON, or too much of it.
        """
        kind = (self.headers.get("Content-Type") or "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a request is application/json")
        length = self.headers.get("Content-Length") or ""
        if not (length.isascii() and length.isdigit()):
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED, "a request says how long it is")
        if len(length) > len(str(MOST_BYTES)) or int(length) > MOST_BYTES:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has up to {MOST_BYTES} bytes")
        body = self.rfile.read(int(length))
        self.server.read(self.connection)
        return body

    # --- what is answered ---------------------------------------------------------------------------------------------

    def _page(self) -> None:
        self._send(HTTPStatus.OK, "text/html; charset=utf-8", page.html().encode(), page.policy())

    def _runs(self) -> None:
        catalogue = self.server.catalogue
        revision = catalogue.now()
        apart = catalogue.apart(revision)
        axes = [*revision.axes(), *([apart] if apart else [])]
        self._json(
            {
                "folder": str(catalogue.folder.path),
                "version": catalogue.folder.version,
                "command": catalogue.folder.command,
                "revision": revision.number,
                "runs": len(revision),
                "axes": [axis_json(own, Places.of(own.labels, own.name)) for own in axes],
                "damaged": revision.damaged,
                "reports": catalogue.pages(),
                "metrics": page.metrics(),
            }
        )

    def _measure(self) -> None:
        asked = Measure.read(self._body())
        revision = self.server.catalogue.at(asked.revision)
        self._lines(self.server.measuring.stream(revision, asked.expression, asked.runs))

    def _series(self) -> None:
        asked = Series.read(self._body())
        revision = self.server.catalogue.at(asked.revision)
        self._lines(self._overlaid(asked, [revision.name(index) for index in asked.runs]))

    def _overlaid(self, asked: Series, names: list[str]) -> Iterator[Mapping[str, Any]]:
        """Yield one run after another; a damaged run yields its error."""
        for index, name in zip(asked.runs, names, strict=True):
            try:
                found = lines(self.server.catalogue.record(name), asked.table, asked.column, asked.between)
            except SojournError as error:
                found = {"error": error.message, "help": error.help}
            yield {"index": index, **found}

    def _run(self) -> None:
        asked = One.read(self._body())
        self._json(about(self.server.catalogue, self.server.catalogue.at(asked.revision), asked.run))

    def _report(self, name: str) -> None:
        found = self.server.catalogue.page(name)
        if found is None:
            raise RefusedError(HTTPStatus.NOT_FOUND, "there is no such page")
        # Of its own it has no address to speak to: neither the network nor us.
        self._send(HTTPStatus.OK, *found, f"{script.policy()}; sandbox allow-scripts allow-downloads")

    # --- the way out --------------------------------------------------------------------------------------------------

    def _json(self, value: object, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send(status, "application/json", _text(value))

    def _lines(self, values: Iterator[Mapping[str, Any]]) -> None:
        """Send a line of JSON for each value as it comes; the end of the connection is the end."""
        first = next(values, {})  # what is wrong with the request is wrong before its first line
        self._head(HTTPStatus.OK, "application/x-ndjson")
        self.end_headers()
        self.wfile.write(_text(first) + b"\n")
        for value in values:
            self.wfile.write(_text(value) + b"\n")

    def _send(self, status: HTTPStatus, kind: str, content: bytes, policy: str = "default-src 'none'") -> None:
        self._head(status, kind, policy)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _head(self, status: HTTPStatus, kind: str, policy: str = "default-src 'none'") -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", f"{policy}; frame-ancestors 'none'")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse unknown HTTP; the answer repeats nothing of the request."""
        del message, explain
        self.close_connection = True
        if not hasattr(self, "command") or self.command is None:
            self.command = "GET"
        if getattr(self, "request_version", "HTTP/0.9") == "HTTP/0.9":
            self.request_version = "HTTP/1.0"
        self._send(HTTPStatus(code), "text/plain; charset=utf-8", f"{HTTPStatus(code).phrase}\n".encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        """Say nothing: a log would have the address in it."""


_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Connection": "close",
}


def _text(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")
