"""The headers of HTTP requests, and replies as bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http import HTTPStatus

import httptools

from seqattn_tf.serving.api.exchange import Reply

NOT_MODIFIED = HTTPStatus.NOT_MODIFIED.value  # a reply without a body
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
_METHOD = re.compile(rb"[A-Z]+ ")
_BAD_HEADER = re.compile(r"[\x00-\x1f\x7f]")


class RequestHeaders(dict[bytes, bytes]):
    """Headers as sent, with names in lower case; several values of a name are separated by commas."""

    def get(self, name: str, default: str = "", /) -> str:  # type: ignore[override]
        """Return the value of a header, whose name may be written in any case."""
        value = super().get(name.lower().encode())
        return default if value is None else value.decode("latin-1")


def encode_head(reply: Reply, last: bool) -> bytes:
    """Return the status line and the headers of a reply."""
    lines = [_STATUS_LINES.get(reply.status) or b"HTTP/1.1 %d \r\n" % reply.status]
    if reply.status != NOT_MODIFIED:
        lines.append(b"Content-Type: %b\r\nContent-Length: %d\r\n" % (reply.content_type.encode(), len(reply.body)))
    for name, value in reply.headers.items():
        lines.append(f"{name}: {_BAD_HEADER.sub(' ', value)}\r\n".encode("latin-1", "replace"))
    lines.append(b"Connection: close\r\n\r\n" if last else b"\r\n")
    return b"".join(lines)


def too_large(limit: int) -> Reply:
    """Return the reply to a request whose body is larger than a limit."""
    return error_reply(413, f"expected a body of at most {limit} bytes. Received: more")


def unavailable(message: str) -> Reply:
    """Return the reply of a server that cannot answer now."""
    return error_reply(503, message, {"Retry-After": "1"})


def parse_error(error: httptools.HttpParserError, data: bytes) -> Reply:
    """Return the reply to data that the parser rejects; `data` starts with the request, or is empty."""
    message = str(error)
    if "Invalid HTTP version" in message:
        return error_reply(505, "expected HTTP/1.0 or HTTP/1.1. Received: another version")
    if "Invalid method" in message and _METHOD.match(data):
        return error_reply(501, "expected a known method. Received: another one")
    return error_reply(400, f"expected a valid HTTP request. Received: {message}")


def error_reply(status: int, message: str, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a reply with an error as JSON."""
    return Reply(status, json.dumps({"error": message}).encode(), headers=headers or {})
