"""A request and a reply of HTTP, as values: what answers knows no sockets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

JSON = "application/json"


@dataclass(frozen=True)
class Request:
    """What a client asks."""

    method: str
    target: str  # path and query, as sent
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)  # looked up by name, in any case when from a socket

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
