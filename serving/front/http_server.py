"""HTTP/1.1 on the standard library: keep-alive, gzip and chunked bodies, and a drain that answers what has arrived."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import logging
import select
import socket
import socketserver
import ssl
import string
import threading
import time
import zlib
from collections.abc import Iterator
from email.errors import MissingHeaderBodySeparatorDefect
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from seqattn_tf.serving.api.exchange import Handle, Reply, Request

LOG = logging.getLogger(__name__)
_PIECE = 1 << 20  # bytes read at once
UNPACKED = 1 << 29  # bytes of a body in gzip, where no limit is set: a megabyte could unpack to a gigabyte
_HEARD_OUT = 2.0  # seconds that a client may go on sending a request that was refused


class DrainingHttpServer(ThreadingHTTPServer):
    """Listens at once, answers in threads after `start`, and can stop without cutting a request short.

    Args:
        host: the address to listen on.
        port: its port; 0 lets the system choose.
        handle: answers a request; must not raise.
        tls: speaks HTTPS with these certificates; None speaks HTTP.
        max_body: the most bytes of a body, unpacked; 0 for any number, or `UNPACKED` of one in gzip.
    """

    daemon_threads = True
    block_on_close = False  # `drain` waits, for a bounded time
    request_queue_size = 128

    def __init__(self, host: str, port: int, handle: Handle, tls: ssl.SSLContext | None = None, max_body: int = 0):
        self.answer = handle
        self.max_body = max_body
        self._tls = tls
        self.draining = False
        self._changed = threading.Condition()
        self._connections: set[socket.socket] = set()
        self._busy: set[socket.socket] = set()
        super().__init__((host, port), _Handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), name="rest", daemon=True)

    def start(self) -> None:
        """Answers requests in the background."""
        self._thread.start()

    def drain(self, grace_seconds: float) -> None:
        """Accepts nothing more, answers what has arrived, then closes; what is not done in time is cut."""
        self.draining = True
        self.shutdown()
        while select.select([self.socket], [], [], 0)[0]:  # connections that wait to be accepted
            self._handle_request_noblock()  # type: ignore[attr-defined]  # typeshed leaves it out
        self.server_close()
        with self._changed:
            for connection in self._connections - self._busy:
                _shutdown(connection, socket.SHUT_RD)  # ends an idle one; bytes that have arrived are still read
            if not self._changed.wait_for(lambda: not self._connections, grace_seconds):
                for connection in self._connections:
                    _shutdown(connection, socket.SHUT_RDWR)

    @contextlib.contextmanager
    def busy(self, connection: socket.socket) -> Iterator[None]:
        """Marks a connection that is in the middle of a request."""
        with self._changed:
            self._busy.add(connection)
        try:
            yield
        finally:
            with self._changed:
                self._busy.discard(connection)

    def server_bind(self) -> None:
        """Binds without the name lookup of the standard library, which may wait for a resolver."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.socket.getsockname()[:2]

    def get_request(self) -> tuple[socket.socket, tuple]:
        """Accepts a connection; the handshake is left to its own thread, where a slow client holds up nobody."""
        connection, address = super().get_request()
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def process_request(self, request: Any, client_address: tuple) -> None:
        """Counts a connection from the moment it is accepted."""
        with self._changed:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forgets a connection when its thread ends."""
        super().shutdown_request(request)
        with self._changed:
            self._connections.discard(request)
            self._changed.notify_all()

    def handle_error(self, request: Any, client_address: tuple) -> None:
        """Logs instead of printing a trace: nearly always a client that went away."""
        LOG.debug("a connection ended early", exc_info=True)


class _TooLarge(ValueError):
    """A body beyond the limit."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave in one piece
    timeout = 300  # seconds that an idle connection is kept
    server_version = "seqattn"
    sys_version = ""
    server: DrainingHttpServer

    def _answer(self) -> None:
        with self.server.busy(self.connection):
            try:
                body = self._read_body()
            except (ValueError, EOFError, OSError, zlib.error) as error:
                if isinstance(error, (ConnectionError, TimeoutError)):
                    raise
                if isinstance(error, _TooLarge):
                    self.send_error(413, str(error))
                    return
                self.send_error(400, f"expected a readable request body. Received: {error}")
                return
            self._send(self.server.answer(Request(self.command, self.path, body, self.headers)))

    # Every method reaches the API, whose answer to a wrong one is its own.
    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _answer

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        if reply.status != 304:  # which stands for a body that the client has
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(reply.body)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if self.server.draining or self.close_connection:
            self.close_connection = True
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)
        self.wfile.flush()

    def _read_body(self) -> bytes:
        if any(isinstance(defect, MissingHeaderBodySeparatorDefect) for defect in self.headers.defects):
            raise ValueError("a header without a colon")  # what follows it was not read as headers
        lengths = set(self.headers.get_all("Content-Length", []))
        chunked = self.headers.get_all("Transfer-Encoding", [])
        if len(lengths) + len(chunked) > 1:  # where a proxy and we could see two different requests
            raise ValueError("more than one length")
        if chunked:
            if chunked[0].lower() != "chunked":
                raise ValueError("a transfer encoding other than chunked")
            body = b"".join(self._chunks())
        else:
            body = self._read_exactly(_length(lengths.pop() if lengths else "0", 10))
        if self.headers.get("Content-Encoding", "").lower() != "gzip":
            return body
        limit = self.server.max_body or UNPACKED
        unpacked = gzip.GzipFile(fileobj=io.BytesIO(body)).read(limit + 1)
        if len(unpacked) > limit:
            raise _TooLarge(f"expected a body of at most {limit} bytes. Received: more")
        return unpacked

    def _check_size(self, size: int) -> None:
        if 0 < self.server.max_body < size:
            raise _TooLarge(f"expected a body of at most {self.server.max_body} bytes. Received: more")

    def _chunks(self) -> Iterator[bytes]:
        total = 0
        while size := _length(self.rfile.readline(1024).split(b";")[0].decode("ascii").strip(), 16):
            total += size
            self._check_size(total)
            yield self._read_exactly(size)
            if self.rfile.readline(3).strip():
                raise ValueError("a chunk longer than its size")
        while self.rfile.readline(65536).strip():  # trailers
            pass

    def _read_exactly(self, size: int) -> bytes:
        self._check_size(size)
        body = bytearray()
        while len(body) < size:  # piece by piece: a length that is only claimed takes no memory
            piece = self.rfile.read(min(size - len(body), _PIECE))
            if not piece:
                raise EOFError(f"{len(body)} bytes of {size}")
            body += piece
        return bytes(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """A request that cannot be read; the body is JSON as everywhere. Where the next one begins is not known."""
        self.close_connection = True
        self.request_version = self.protocol_version  # else an unreadable request line gets no status line
        self._send(_error(code, message or self.responses[code][0]))
        self._hear_out()

    def _hear_out(self) -> None:
        """Reads on for a while: closing on what is still coming would take the answer from the client."""
        _shutdown(self.connection, socket.SHUT_WR)
        end = time.monotonic() + _HEARD_OUT
        while (left := end - time.monotonic()) > 0:
            self.connection.settimeout(left)
            if not self.connection.recv(_PIECE):
                break

    def handle_expect_100(self) -> bool:
        """Tells a client that waits for it to send its body."""
        going_on = super().handle_expect_100()
        self.wfile.flush()  # the standard library writes to a buffer here
        return going_on

    def log_message(self, format: str, *args: object) -> None:
        """No access log."""


def _length(digits: str, base: int) -> int:
    if not set(digits) <= set(string.hexdigits):  # Python would also read signs, prefixes and underscores
        raise ValueError(f"a length of {digits[:20]!r}")
    return int(digits, base)


def _error(status: int, message: str) -> Reply:
    return Reply(status, json.dumps({"error": message}).encode())


def _shutdown(connection: socket.socket, how: int) -> None:
    with contextlib.suppress(OSError):  # the other side may have closed it already
        socket.socket.shutdown(connection, how)  # of a TLS socket too: it must still answer what it has read
