"""HTTP requests and replies as values, so that handlers need no sockets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

JSON = "application/json"


class Headers(Protocol):
    """A mapping from header names to values; case-insensitive in requests that came through a socket."""

    def get(self, name: str, default: str, /) -> str:
        """Return the value of a header."""


@dataclass(frozen=True)
class Request:
    """An HTTP request."""

    method: str
    target: str  # path and query, as sent
    body: bytes = b""
    headers: Headers = field(default_factory=dict[str, str])

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]


@dataclass(frozen=True)
class Reply:
    """The reply to an HTTP request."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


Handle = Callable[[Request], Reply]
