"""The access log: one line of JSON for each request, with the id that the client sent or got."""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from pathlib import Path

REQUEST_ID = "X-Request-Id"
_VALID_ID = re.compile(r"[\x21-\x7e]{1,128}")


def request_id(sent: str) -> str:
    """Return the id that a client sent if it is valid, otherwise a new one.

    >>> request_id("a-7"), len(request_id("a b"))
    ('a-7', 16)
    """
    return sent if _VALID_ID.fullmatch(sent) else secrets.token_hex(8)


class AccessLog:
    """A file to which requests are appended. Processes may share it, because each line is one write.

    Args:
        path: The file; `-` stands for standard output.

    Raises:
        ValueError: If the file cannot be written.
    """

    def __init__(self, path: Path):
        try:
            self._file = os.dup(1) if str(path) == "-" else os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise ValueError(f"access_log: expected a writable file. Received: {path} ({error.strerror})") from error

    def write(self, request: str, client: str, what: str, status: str, seconds: float, size: int) -> None:
        """Append a request.

        Args:
            request: The id of the request.
            client: The address of the client.
            what: The method and path; no query, which may contain secrets.
            status: The HTTP status or gRPC code.
            seconds: The time from the arrival of the request to its reply.
            size: The size of the reply in bytes.
        """
        line = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime())}Z",
            "id": request,
            "client": client,
            "request": what[:1000],
            "status": status,
            "ms": round(seconds * 1e3, 3),
            "bytes": size,
        }
        os.write(self._file, (json.dumps(line) + "\n").encode())

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
