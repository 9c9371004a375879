"""An HTTP/1.1 server on asyncio and httptools, with limits for everything that a client may occupy.

The event loop parses requests and answers the ones that take less than a millisecond. The others run in threads, in
which clients take turns. One thread reads large bodies and writes large replies: more of them would not be faster,
because they would wait for the interpreter's lock, but they would delay the event loop and use much memory together.

uvicorn has neither time limits for headers and bodies nor a limit that spares busy connections, and it learns of a TLS
connection only after the handshake. That is why this server accepts connections itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import errno
import logging
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable

from seqattn_tf.serving.api.exchange import Begin, LargeWork, Reply, Request, Work
from seqattn_tf.serving.cores import usable_cores
from seqattn_tf.serving.front.access_log import AccessLog
from seqattn_tf.serving.front.http_connection import HttpConnection, State
from seqattn_tf.serving.front.http_messages import error_reply, too_large, unavailable
from seqattn_tf.serving.front.worker_pool import WorkerPool
from seqattn_tf.serving.limits import Limits
from seqattn_tf.serving.models.denormals import flush_denormals

LOG = logging.getLogger(__name__)
_BACKLOG = 1024
_ACCEPTED_AT_ONCE, _HANDSHAKES_AT_ONCE = 64, 4  # connections, before others get their turn
_CHECK_SECONDS = 0.25  # between checks of the time limits
_RESERVED = 16  # connections above the limit, for probes
_SETTLE_SECONDS = 0.05  # for requests that arrive while the server stops
_LARGE_BODY = 1 << 17  # bytes from which a body is read in the threads for large requests
_HANDSHAKE_SECONDS = 10.0
_TLS_HANDSHAKE, _TLS_HEADER = b"\x16", 5  # the first byte of the first record, and the size of the header of a record
_NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class HttpServer:
    """A server that listens at once, answers requests after `start`, and stops without cutting requests short.

    Args:
        host: The address to listen on.
        port: The port; 0 lets the system choose one.
        begin: A function from a request to a reply or to the rest of the work; must not raise.
        tls: The TLS context for HTTPS; None for HTTP.
        limits: The limits of connections and requests.
        exceeded: A function that is called with the name of a limit whenever that limit takes effect.
        probes: The paths that are answered even above the limit of connections.
        threads: The number of requests that may be worked on at once; 0 for four times the number of cores.
        access_log: Where to log requests; None for nowhere.
    """

    def __init__(
        self,
        host: str,
        port: int,
        begin: Begin,
        tls: ssl.SSLContext | None = None,
        limits: Limits | None = None,
        exceeded: Callable[[str], None] = lambda limit: None,
        probes: frozenset[str] = frozenset(),
        threads: int = 0,
        access_log: AccessLog | None = None,
    ):
        self.limits = limits or Limits()
        self.draining = False
        self.access_log = access_log
        self.is_tls = tls is not None
        self.now = time.monotonic
        self.connections: set[HttpConnection] = set()
        self._begin = begin
        self._tls = tls
        self._exceeded = exceeded
        self._probes = probes
        self._idle: dict[HttpConnection, None] = {}  # ordered by the time at which they became idle
        self._receiving: dict[HttpConnection, None] = {}  # ordered by the time at which their requests began
        self._buffered = 0
        self._handshakes: set[asyncio.Task] = set()
        self._small = WorkerPool(threads or 4 * usable_cores(), "rest")
        self._large = WorkerPool(1, "rest-large")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        self._socket.setblocking(False)
        self.server_port = self._socket.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="rest-loop", daemon=True)

    def start(self) -> None:
        """Answer requests in the background."""
        self._thread.start()

    def drain(self, grace_seconds: float) -> None:
        """Stop accepting connections, finish requests that have arrived, and close; abort what takes too long."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._drain(grace_seconds), self._loop).result()
            self._thread.join()
        self.close()

    def close(self) -> None:
        """Stop listening and end the threads."""
        self._socket.close()
        self._small.close()
        self._large.close()
        if not self._thread.is_alive():
            self._loop.close()

    # What connections call

    def answer(self, connection: HttpConnection, request: Request, restricted: bool) -> None:
        """Answer a request, now or later."""
        if restricted and request.path not in self._probes:
            self.exceeded("max_connections")
            connection.reply(unavailable("expected fewer connections. Received: more than the server's limit"))
            return
        gzip = bool(request.body) and request.headers.get("Content-Encoding", "").lower() == "gzip"
        if gzip or len(request.body) > _LARGE_BODY:
            self._submit(self._large, connection, lambda: self._begin_large(request, gzip))
            return
        answer = self._begin(request)
        if isinstance(answer, Reply):
            connection.reply(answer)
        else:
            self._submit(self._small, connection, answer)

    def hold(self, connection: HttpConnection, size: int) -> None:
        """Account for the bytes that a connection keeps in memory; if there are too many, end the largest one."""
        self._buffered += size - connection.buffered
        connection.buffered = size
        limit = self.limits.max_buffered_bytes
        while limit and self._buffered > limit:
            held = [c for c in self.connections if c.buffered and c.state in (State.RECEIVING, State.SENDING)]
            if not held:
                return
            self.exceeded("max_buffered_bytes")
            largest = max(held, key=lambda c: c.buffered)
            self.release(largest)
            largest.transport.abort()

    def release(self, connection: HttpConnection) -> None:
        """Account for memory that a connection has released."""
        self._buffered -= connection.buffered
        connection.buffered = 0

    def changed(self, connection: HttpConnection) -> None:
        """Take note of the new state of a connection."""
        self._idle.pop(connection, None)
        self._receiving.pop(connection, None)
        if connection.state is State.IDLE:
            self._idle[connection] = None
        elif connection.state is State.RECEIVING:
            self._receiving[connection] = None

    def forget(self, connection: HttpConnection) -> None:
        """Take note of the end of a connection."""
        self.connections.discard(connection)
        self._idle.pop(connection, None)
        self._receiving.pop(connection, None)
        self.release(connection)

    def exceeded(self, limit: str) -> None:
        """Count that a limit has taken effect."""
        if limit:
            self._exceeded(limit)

    def soon(self, call: Callable[[], object], seconds: float = 0.0) -> None:
        """Call a function after all that is due now, or after some seconds."""
        self._loop.call_later(seconds, call)

    # The event loop

    def _run(self) -> None:
        flush_denormals()
        asyncio.set_event_loop(self._loop)
        self._loop.add_reader(self._socket, self._accept)
        self._loop.call_later(_CHECK_SECONDS, self._check)
        self._loop.run_until_complete(self._stopped.wait())

    def _accept(self) -> None:
        for _ in range(_HANDSHAKES_AT_ONCE if self.is_tls else _ACCEPTED_AT_ONCE):
            if not self._accept_one():
                return

    def _accept_one(self) -> bool:
        """Accept the next connection, and return whether there was one."""
        try:
            accepted, address = self._socket.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError as error:
            if error.errno not in _NO_DESCRIPTOR:
                raise
            self.exceeded("max_connections")
            if not self._evict():
                self._loop.remove_reader(self._socket)  # it would be called again at once
                self._loop.call_later(_CHECK_SECONDS, self._resume_accepting)
            return False
        self._admit(accepted, str(address[0]))
        return True

    def _resume_accepting(self) -> None:
        if not self.draining:
            self._loop.add_reader(self._socket, self._accept)

    def _admit(self, accepted: socket.socket, client: str) -> None:
        accepted.setblocking(False)
        try:
            if not accepted.recv(1, socket.MSG_PEEK):
                accepted.close()  # the client has left already
                return
        except BlockingIOError:
            pass
        except OSError:
            accepted.close()
            return
        with contextlib.suppress(OSError):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        limit, restricted = self.limits.max_connections, False
        if limit and len(self.connections) >= limit:
            self.exceeded("max_connections")
            restricted = not self._evict()
            if restricted and len(self.connections) >= limit + _RESERVED:
                accepted.close()
                return
        connection = HttpConnection(self, client, restricted)
        self.connections.add(connection)
        self._idle[connection] = None
        task = self._loop.create_task(self._connect(accepted, connection))
        connection.handshake = task
        self._handshakes.add(task)
        task.add_done_callback(self._handshakes.discard)
        # A task that is cancelled before its first step does not close its socket.
        task.add_done_callback(lambda task: accepted.close() if task.cancelled() else None)

    async def _connect(self, accepted: socket.socket, connection: HttpConnection) -> None:
        timeout = {}
        try:
            if self._tls is not None:
                timeout["ssl_handshake_timeout"] = _HANDSHAKE_SECONDS
                await asyncio.wait_for(_client_hello(accepted), _HANDSHAKE_SECONDS)
            await self._loop.connect_accepted_socket(lambda: connection, accepted, ssl=self._tls, **timeout)
        except (OSError, asyncio.TimeoutError, asyncio.CancelledError) as error:
            LOG.debug("a connection ended before its first request: %s", error)
            accepted.close()
            self.forget(connection)

    def _evict(self) -> bool:
        """Close the connection that has been idle for the longest time, or else the oldest incomplete request."""
        for connections in (self._idle, self._receiving):
            if connections:
                self._end(next(iter(connections)))
                return True
        return False

    def _end(self, connection: HttpConnection) -> None:
        self.forget(connection)
        if connection.connected:
            connection.transport.abort()
        elif connection.handshake is not None:
            connection.handshake.cancel()

    def _check(self) -> None:
        """End the connections whose time limit has passed."""
        now = self.now()
        for connection in [c for c in self.connections if c.due < now]:
            if connection.connected:
                connection.expire()
            else:
                self._end(connection)
        self._loop.call_later(_CHECK_SECONDS, self._check)

    async def _drain(self, grace_seconds: float) -> None:
        end = self.now() + grace_seconds
        while self._accept_one():
            await asyncio.sleep(0)
        self.draining = True
        self._loop.remove_reader(self._socket)
        self._socket.close()
        while self._handshakes and self.now() < end:
            await asyncio.sleep(0.01)
        await asyncio.sleep(_SETTLE_SECONDS)
        while self.connections and self.now() < end:
            for connection in list(self.connections):
                connection.close_if_idle()
            await asyncio.sleep(0.01)
        for connection in list(self.connections):
            self._end(connection)
        await asyncio.sleep(0)
        self._stopped.set()

    # In threads

    def _submit(self, pool: WorkerPool, connection: HttpConnection, work: Work) -> None:
        if pool is self._large and 0 < self.limits.max_large_requests <= pool.waiting:
            self.exceeded("max_large_requests")
            reply = unavailable("expected fewer large requests. Received: more than the server's limit")
            self._send(connection, reply)
            return

        def run() -> None:
            if not connection.connected:
                return  # the client has left
            try:
                answer = work()
                if not isinstance(answer, Reply):
                    self._submit(self._large if isinstance(answer, LargeWork) else self._small, connection, answer)
                    return
                reply = answer
            except MemoryError:
                reply = unavailable("expected a request that fits into memory. Received: a larger one")
            except Exception:
                LOG.exception("a request failed because of an internal error")
                reply = error_reply(500, "internal error")
            self._send(connection, reply)

        pool.submit(connection.client, run)

    def _send(self, connection: HttpConnection, reply: Reply) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed because the grace period is over
            self._loop.call_soon_threadsafe(connection.reply, reply)

    def _begin_large(self, request: Request, gzip: bool) -> Reply | Work:
        if gzip:
            try:
                body = _unpacked(request.body, self.limits.max_request_bytes)
            except ValueError as error:
                return error_reply(400, f"expected a readable request body. Received: {error}")
            if body is None:
                self.exceeded("max_request_bytes")
                return too_large(self.limits.max_request_bytes)
            request = dataclasses.replace(request, body=body)
        return self._begin(request)


async def _client_hello(accepted: socket.socket) -> None:
    """Wait until the first record of TLS has arrived, because each handshake occupies 300 kB of memory."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(accepted, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(accepted)
    while True:
        head = accepted.recv(_TLS_HEADER, socket.MSG_PEEK)
        if head[:1] not in (b"", _TLS_HANDSHAKE):
            return  # the handshake will fail
        if not head:
            raise ConnectionError("closed before a handshake")
        size = int.from_bytes(head[3:5], "big") if len(head) == _TLS_HEADER else _TLS_HEADER
        if len(accepted.recv(_TLS_HEADER + size, socket.MSG_PEEK)) == _TLS_HEADER + size:
            return
        await asyncio.sleep(_CHECK_SECONDS)  # the socket stays readable, so there is no event to wait for


def _unpacked(body: bytes, limit: int) -> bytes | None:
    """Return the content of a gzip body, or None if it is larger than a limit; it never uses much more memory.

    Raises:
        ValueError: If the body is not gzip, or not complete.
    """
    found, rest = bytearray(), body
    while rest:
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            found += member.decompress(rest, limit + 1 - len(found) if limit else 0)
        except zlib.error as error:
            raise ValueError(str(error)) from None
        if limit and len(found) > limit:
            return None
        if not member.eof:
            raise ValueError("gzip data that end early")
        rest = member.unused_data.lstrip(b"\0")
    return bytes(found)
