"""An HTTP/1.1 server based on the standard library, with keep-alive, gzip, chunked bodies and graceful shutdown."""

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
# Limit in bytes for the content of a gzip body if no limit is set: a megabyte could contain a gigabyte.
UNPACKED = 1 << 29
_HEARD_OUT = 2.0  # seconds for which the rest of a rejected request is read


class DrainingHttpServer(ThreadingHTTPServer):
    """A server that listens at once, handles requests after `start`, and stops without cutting requests short.

    Args:
        host: The address to listen on.
        port: The port; 0 lets the system choose one.
        handle: A function from a request to a reply; must not raise.
        tls: The TLS context for HTTPS; None for HTTP.
        max_body: The maximum size of a decompressed body in bytes; 0 for no limit, except `UNPACKED` for gzip.
    """

    daemon_threads = True
    block_on_close = False  # `drain` waits instead, for a limited time
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
        """Handle requests in the background."""
        self._thread.start()

    def drain(self, grace_seconds: float) -> None:
        """Stop accepting connections, finish requests that have arrived, and close; abort what takes too long."""
        self.draining = True
        self.shutdown()
        while select.select([self.socket], [], [], 0)[0]:  # connections waiting to be accepted
            self._handle_request_noblock()  # type: ignore[attr-defined]  # typeshed leaves it out
        self.server_close()
        with self._changed:
            for connection in self._connections - self._busy:
                _shutdown(connection, socket.SHUT_RD)  # ends idle connections; bytes that have arrived are still read
            if not self._changed.wait_for(lambda: not self._connections, grace_seconds):
                for connection in self._connections:
                    _shutdown(connection, socket.SHUT_RDWR)

    @contextlib.contextmanager
    def busy(self, connection: socket.socket) -> Iterator[None]:
        """Mark a connection as busy with a request."""
        with self._changed:
            self._busy.add(connection)
        try:
            yield
        finally:
            with self._changed:
                self._busy.discard(connection)

    def server_bind(self) -> None:
        """Bind without the name lookup of the standard library, which may wait for a DNS resolver."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.socket.getsockname()[:2]

    def get_request(self) -> tuple[socket.socket, tuple]:
        """Accept a connection; its own thread handles the TLS handshake, so that slow clients do not block others."""
        connection, address = super().get_request()
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def process_request(self, request: Any, client_address: tuple) -> None:
        """Register a connection as soon as it is accepted."""
        with self._changed:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Unregister a connection when its thread ends."""
        super().shutdown_request(request)
        with self._changed:
            self._connections.discard(request)
            self._changed.notify_all()

    def handle_error(self, request: Any, client_address: tuple) -> None:
        """Log an error instead of printing a traceback: nearly always, a client has disconnected."""
        LOG.debug("a connection ended early", exc_info=True)


class _TooLarge(ValueError):
    """The error for a body that exceeds the limit."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # buffered, so that headers and body are sent together
    timeout = 300  # seconds after which an idle connection is closed
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

    # All methods are passed to the API, which returns its own error for unsupported ones.
    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _answer

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        if reply.status != 304:  # a 304 has no body
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
            raise ValueError("a header without a colon")  # the lines after it were not parsed as headers
        lengths = set(self.headers.get_all("Content-Length", []))
        chunked = self.headers.get_all("Transfer-Encoding", [])
        if len(lengths) + len(chunked) > 1:  # a proxy could interpret such a request differently
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
        while self.rfile.readline(65536).strip():  # skip trailers
            pass

    def _read_exactly(self, size: int) -> bytes:
        self._check_size(size)
        body = bytearray()
        while len(body) < size:  # incremental, so that a false length does not allocate memory
            piece = self.rfile.read(min(size - len(body), _PIECE))
            if not piece:
                raise EOFError(f"{len(body)} bytes of {size}")
            body += piece
        return bytes(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send a JSON error and close the connection, because the start of the next request is unknown."""
        self.close_connection = True
        # Otherwise there would be no status line after an unreadable request line.
        self.request_version = self.protocol_version
        self._send(_error(code, message or self.responses[code][0]))
        self._hear_out()

    def _hear_out(self) -> None:
        """Read the rest of a request for a while: closing a connection with unread data could discard the reply."""
        _shutdown(self.connection, socket.SHUT_WR)
        end = time.monotonic() + _HEARD_OUT
        while (left := end - time.monotonic()) > 0:
            self.connection.settimeout(left)
            if not self.connection.recv(_PIECE):
                break

    def handle_expect_100(self) -> bool:
        """Send `100 Continue` to a client that waits for it before it sends the body."""
        going_on = super().handle_expect_100()
        self.wfile.flush()  # the standard library only writes to a buffer here
        return going_on

    def log_message(self, format: str, *args: object) -> None:
        """Disable the access log."""


def _length(digits: str, base: int) -> int:
    if not set(digits) <= set(string.hexdigits):  # Python would also accept signs, prefixes and underscores
        raise ValueError(f"a length of {digits[:20]!r}")
    return int(digits, base)


def _error(status: int, message: str) -> Reply:
    return Reply(status, json.dumps({"error": message}).encode())


def _shutdown(connection: socket.socket, how: int) -> None:
    with contextlib.suppress(OSError):  # the other side may have closed the connection already
        socket.socket.shutdown(connection, how)  # not SSLSocket.shutdown, which would end TLS before the reply is sent
