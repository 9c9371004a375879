"""HTTP requests and replies as values, so that handlers need no sockets."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

JSON = "application/json"


class Headers(Protocol):
    """A mapping from header names to values; case-insensitive in requests that came through a socket."""

    def get(self, name: str, default: str, /) -> str:
        """Return the value of a header."""


@dataclass(slots=True)
class Request:
    """An HTTP request."""

    method: str
    target: str  # path and query, as sent
    body: bytes = b""
    headers: Headers = field(default_factory=dict[str, str])
    arrived: float = field(default_factory=time.monotonic)  # when its last byte arrived

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]


@dataclass(slots=True)
class Reply:
    """The reply to an HTTP request."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LargeWork:
    """Work that takes much time or memory, so that little of it may run at once."""

    run: Callable[[], Any]

    def __call__(self) -> Reply | Work | LargeWork:
        return self.run()


Handle = Callable[[Request], Reply]
Work = Callable[[], "Reply | Work | LargeWork"]  # the rest of a request, for a thread that may wait
Begin = Callable[[Request], "Reply | Work"]  # returns within a few milliseconds


def finish(answer: Reply | Work) -> Reply:
    """Do all the work that leads to a reply, in the calling thread."""
    while not isinstance(answer, Reply):
        answer = answer()
    return answer
