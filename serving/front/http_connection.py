"""One HTTP connection: it parses requests with httptools, passes them on one at a time, and writes the replies.

Every state has a time limit, which `HttpServer` checks a few times per second:

idle        the connection waits for a request
receiving   the first byte of a request has arrived, but not the last
working     the request is being answered; its own timeout applies
sending     the client has not read all of a reply
closing     the last reply was sent; what the client still sends is read and ignored
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import enum
import math
from collections.abc import Callable
from typing import Protocol

import httptools

from seqattn_tf.serving.api.exchange import Reply, Request
from seqattn_tf.serving.front.access_log import REQUEST_ID, AccessLog, request_id
from seqattn_tf.serving.front.http_messages import (
    NOT_MODIFIED,
    RequestHeaders,
    encode_head,
    error_reply,
    parse_error,
    too_large,
)
from seqattn_tf.serving.limits import Limits

State = enum.Enum("State", "IDLE RECEIVING WORKING SENDING CLOSING")
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# Seconds in which the rest of a rejected request is read: closing a connection with unread data may discard the reply.
_CLOSING_SECONDS = 2.0
_DISCARD_SECONDS = 0.005  # between pieces of what a client sends behind a rejected request
_SMALL = 1 << 14  # bytes of a body that is copied behind the headers, so that both are sent together


class Owner(Protocol):
    """What a connection needs of its server."""

    limits: Limits
    draining: bool
    is_tls: bool
    access_log: AccessLog | None
    now: Callable[[], float]

    def answer(self, connection: HttpConnection, request: Request, restricted: bool) -> None:
        """Answer a request, now or later."""

    def hold(self, connection: HttpConnection, size: int) -> None:
        """Account for the bytes that a connection keeps in memory."""

    def release(self, connection: HttpConnection) -> None:
        """Account for memory that a connection has released."""

    def changed(self, connection: HttpConnection) -> None:
        """Take note of the new state of a connection."""

    def forget(self, connection: HttpConnection) -> None:
        """Take note of the end of a connection."""

    def exceeded(self, limit: str) -> None:
        """Count that a limit has taken effect."""

    def soon(self, call: Callable[[], object], seconds: float = 0.0) -> None:
        """Call a function after all that is due now, or after some seconds."""


class HttpConnection(asyncio.Protocol):
    """A connection of a server.

    Args:
        server: The server, which answers requests and keeps account of connections and of the memory that they use.
        client: The address of the client.
        restricted: Whether only probes are answered, because the server has too many connections.
    """

    transport: asyncio.Transport

    def __init__(self, server: Owner, client: str, restricted: bool = False):
        self.client = client
        self.state = State.IDLE
        self.due = server.now() + server.limits.request_seconds if server.limits.request_seconds else math.inf
        self.buffered = 0  # bytes of memory for the body of a request or for a reply that was not read yet
        self.connected = False
        self.handshake: asyncio.Task | None = None
        self._server = server
        self._limits = server.limits
        self._restricted = restricted
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: collections.deque[Request | Reply] = collections.deque()  # pipelined
        self._last = False  # whether no request may follow
        self._refusal: Reply | None = None  # set in a callback of the parser, which stops it
        self._in_message = self._in_head = False
        self._head_bytes = self._raw_bytes = 0  # of the head as parsed, and as received while it was incomplete
        self._url = b""
        self._headers = RequestHeaders()
        self._body: bytes | bytearray = b""
        self._is_last = False  # whether the current request is the last one of its connection
        self._data_has_requests = False  # whether a request has ended in the data being parsed
        self._head_only = False  # whether the current request has the method HEAD
        self._was_used = False  # whether a request has started
        self._current: Request | None = None  # None for one that could not be parsed
        self._reading = True

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.connected = True

    def data_received(self, data: bytes) -> None:
        if self._last:  # after an invalid request, or one that ends the connection
            self._pause_reading()
            self._server.soon(self._resume_reading, _DISCARD_SECONDS)
            return
        if self._in_head:
            self._raw_bytes += len(data)
        self._data_has_requests = False
        was_working = self.state is State.WORKING
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as error:  # ignored; but only a new parser reads the rest of the data
            self._parser = httptools.HttpRequestParser(self)
            if rest := data[error.args[0] :]:
                self.data_received(rest)
            return
        except httptools.HttpParserError as error:
            self._refuse(self._refusal or parse_error(error, b"" if self._data_has_requests else data))
            return
        if self._in_head and self._head_too_large():  # perhaps in the middle of a long line
            self._refuse(self._refusal)
        elif was_working or self._waiting:
            self._pause_reading()  # one request at a time; but a client that leaves meanwhile must be noticed
        elif self._in_message and self.state is State.IDLE:
            self._enter(State.RECEIVING, self._limits.request_seconds)

    def eof_received(self) -> bool:
        if self._in_message and not self._last:
            self._refuse(error_reply(400, "expected a complete request. Received: a part of one"))
        self._last = True
        return self._is_busy() and not self._server.is_tls  # True keeps the connection open for replies

    def connection_lost(self, exc: Exception | None) -> None:
        self.connected = False
        self._waiting.clear()
        self._body = b""
        self._parser = None  # type: ignore[assignment]  # it refers to this object
        self._server.forget(self)

    def pause_writing(self) -> None:
        """Wait for the client to read the reply; called during `transport.write`."""
        self._enter(State.SENDING, self._limits.reply_seconds)
        self._server.hold(self, self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        # Later, because the transport calls this before it looks whether it is being closed.
        self._server.soon(self._sent)

    # What the parser calls

    def on_message_begin(self) -> None:
        self._in_message = self._in_head = self._was_used = True
        self._head_bytes = self._raw_bytes = 0
        self._url, self._headers, self._body = b"", RequestHeaders(), b""

    def on_url(self, url: bytes) -> None:
        self._url += url
        self._add_to_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        key, headers = name.lower(), self._headers
        headers[key] = headers[key] + b", " + value if key in headers else value
        self._add_to_head(len(name) + len(value))

    def on_headers_complete(self) -> None:
        self._in_head = False
        version = self._parser.get_http_version()
        if version not in ("1.0", "1.1"):
            status = 400 if version == "0.9" else 505  # 0.9 stands for a request line without a version
            self._refusal = error_reply(status, "expected HTTP/1.0 or HTTP/1.1. Received: another version")
        self._is_last = version == "1.0" or not self._parser.should_keep_alive()
        headers = self._headers
        self._stop_if(self._refusal is not None or self._too_large(int(headers.get("content-length", "0"))))
        if b"expect" in headers and headers[b"expect"].lower() == b"100-continue" and not self._is_busy():
            self.transport.write(_CONTINUE)

    def on_body(self, body: bytes) -> None:
        if not self._body:
            self._body = body
        else:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += body
        size = len(self._body)
        self._stop_if(self._too_large(size))
        if size > _SMALL:
            self._server.hold(self, size)

    def on_message_complete(self) -> None:
        self._in_message = self._in_head = False
        self._data_has_requests = True
        if self._last:
            return
        method = self._parser.get_method().decode("ascii")
        body, self._body = bytes(self._body), b""
        self._last = self._is_last
        self._waiting.append(Request(method, self._url.decode("latin-1"), body, self._headers, self._server.now()))
        self._start_next()

    # What the server calls

    def reply(self, reply: Reply) -> None:
        """Send the reply to the current request."""
        if not self.connected or self.transport.is_closing():
            return
        if self._server.access_log is not None:
            reply = self._logged(self._server.access_log, reply)
        if self._server.draining:
            self._last = True
        head = encode_head(reply, self._last and not self._waiting)
        body = b"" if self._head_only or reply.status == NOT_MODIFIED else reply.body
        if self.buffered:
            self._server.release(self)
        if len(body) <= _SMALL:
            self.transport.write(head + body)
        else:
            self.transport.write(head)
            self.transport.write(body)
            if self.state is State.SENDING:
                self._server.hold(self, self.transport.get_write_buffer_size())
        if self.state is State.WORKING:
            self._replied()

    def expire(self) -> None:
        """End the connection, because the time limit of its state has passed."""
        waiting = "idle_seconds" if self._was_used else "request_seconds"
        self._server.exceeded({State.IDLE: waiting, State.SENDING: "reply_seconds"}.get(self.state, ""))
        if self.state is State.RECEIVING:
            self._server.exceeded("request_seconds")
            self._refuse(
                error_reply(408, f"expected a request within {self._limits.request_seconds:g} s. Received: a part")
            )
        elif self.connected:
            self.transport.abort()

    def close_if_idle(self) -> None:
        """Close the connection unless a request has arrived at least in part; otherwise, close it after the reply."""
        if self.state is State.IDLE and self.connected:
            self.transport.close()

    def _logged(self, log: AccessLog, reply: Reply) -> Reply:
        """Log the current request, and return the reply with its id."""
        request, now = self._current, self._server.now()
        known = "" if request is None else request.headers.get(REQUEST_ID, "")
        number = request_id(known)
        what = "-" if request is None else f"{request.method} {request.path}"
        seconds = 0.0 if request is None else now - request.arrived
        log.write(number, self.client, what, str(reply.status), seconds, len(reply.body))
        return dataclasses.replace(reply, headers={**reply.headers, REQUEST_ID: number})

    def _is_busy(self) -> bool:
        return bool(self._waiting) or self.state in (State.WORKING, State.SENDING)

    def _enter(self, state: State, seconds: float = 0.0) -> None:
        """Enter a state, in which the connection may stay for some time; 0 for no limit."""
        self.state = state
        self.due = self._server.now() + seconds if seconds else math.inf
        self._server.changed(self)

    def _start_next(self) -> None:
        """Start the next request, if there is one and the previous one has been answered."""
        if not self._waiting or self.state in (State.WORKING, State.SENDING, State.CLOSING):
            return
        item = self._waiting.popleft()
        self._enter(State.WORKING)
        if isinstance(item, Reply):
            self._head_only = False
            self._current = None
            self.reply(item)
            return
        self._head_only = item.method == "HEAD"
        self._current = item
        self._server.answer(self, item, self._restricted)

    def _sent(self) -> None:
        if self.state is State.SENDING and self.connected:
            self._server.release(self)
            self._replied()

    def _replied(self) -> None:
        if self._last and not self._waiting:
            self._close()
            return
        if self._in_message:
            self._enter(State.RECEIVING, self._limits.request_seconds)
        else:
            self._enter(State.IDLE, self._limits.idle_seconds)
        if self._waiting:
            self._server.soon(self._start_next)  # after the requests of other connections
        else:
            self._resume_reading()

    def _pause_reading(self) -> None:
        if self._reading:
            self._reading = False
            self.transport.pause_reading()

    def _resume_reading(self) -> None:
        if not self._reading and self.connected and not self.transport.is_closing():
            self._reading = True
            self.transport.resume_reading()

    def _close(self) -> None:
        """Close the connection, but read for a while what the client has sent."""
        self._enter(State.CLOSING, _CLOSING_SECONDS)
        self._resume_reading()
        if self._in_message and self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self.due = self._server.now() + (self._limits.reply_seconds or _CLOSING_SECONDS)
            self.transport.close()

    def _refuse(self, reply: Reply | None) -> None:
        """Reply with an error after the requests before it; the start of the next request is unknown."""
        self._last = self._in_message = True
        self._in_head = False
        self._body = b""
        if reply is not None:
            self._waiting.append(reply)
        if self.state is State.RECEIVING or self.state is State.IDLE:
            self._start_next()

    def _add_to_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > self._limits.max_header_bytes > 0:
            self._stop_if(self._head_too_large())

    def _stop_if(self, refused: bool) -> None:
        if refused:
            raise ValueError("refused")  # ends `feed_data`

    def _head_too_large(self) -> bool:
        limit = self._limits.max_header_bytes
        if not limit or max(self._head_bytes, self._raw_bytes) <= limit:
            return False
        self._server.exceeded("max_header_bytes")
        status = 431 if self._headers else 414
        self._refusal = error_reply(
            status, f"expected a request line and headers of at most {limit} bytes. Received: more"
        )
        return True

    def _too_large(self, size: int) -> bool:
        limit = self._limits.max_request_bytes
        if not limit or size <= limit:
            return False
        self._server.exceeded("max_request_bytes")
        self._refusal = too_large(limit)
        return True
