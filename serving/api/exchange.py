"""A request and a reply of HTTP, as values: what answers knows no sockets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

JSON = "application/json"


class Headers(Protocol):
    """Looked up by name, in any case when from a socket."""

    def get(self, name: str, default: str, /) -> str:
        """The value of a header."""


@dataclass(frozen=True)
class Request:
    """What a client asks."""

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
    """What it is answered."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


Handle = Callable[[Request], Reply]
