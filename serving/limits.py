"""The limits of the servers' front ends: what a client may send, receive and occupy."""

from __future__ import annotations

import dataclasses
from typing import Any

LIMITS = ("default", "tensorflow_serving")


def _limit(default: float, help_text: str) -> Any:
    return dataclasses.field(default=default, metadata={"help": help_text})


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits with effective defaults; 0 means that there is no limit.

    Each limit is a flag of the server under the same name, and a label of the metric `limit_exceeded_count`.
    """

    max_connections: int = _limit(512, "connections to the REST port; beyond it, the oldest idle one is closed")
    idle_seconds: float = _limit(75.0, "seconds that a REST connection may wait for its next request")
    request_seconds: float = _limit(30.0, "seconds in which a request must arrive, from its first byte to its last")
    reply_seconds: float = _limit(60.0, "seconds in which a client must read a reply that fills the send buffer")
    max_header_bytes: int = _limit(1 << 16, "size of the request line and the headers of a REST request")
    max_request_bytes: int = _limit(1 << 25, "size of a request, before and after decompression")
    max_request_values: int = _limit(1_000_000, "numbers, strings and other values in the JSON of a request")
    max_request_depth: int = _limit(128, "nesting depth of the JSON of a request")
    max_rows: int = _limit(4096, "rows of a request whose inputs are texts or bytes")
    max_reply_values: int = _limit(2_000_000, "numbers and strings in a reply")
    max_large_requests: int = _limit(8, "REST requests or replies of more than 100 kB that wait for their turn")
    max_buffered_bytes: int = _limit(1 << 27, "bodies being received and replies being sent, of all REST connections")
    max_grpc_connections: int = _limit(400, "connections to the gRPC port; further ones are refused")
    max_calls: int = _limit(1024, "gRPC calls at once; beyond it, the oldest call that sent no message ends")

    @classmethod
    def of(cls, name: str, **changed: float | None) -> Limits:
        """Return the default limits, or none for `tensorflow_serving`, with those that are given."""
        if name not in LIMITS:
            raise ValueError(f"limits: expected one of {', '.join(LIMITS)}. Received: {name!r}")
        fields = dataclasses.fields(cls)
        values = {field.name: field.default if name == "default" else 0 for field in fields}
        for name, value in changed.items():
            if value is not None and value < 0:
                raise ValueError(f"{name}: expected at least 0. Received: {value}")
        return cls(**values | {name: value for name, value in changed.items() if value is not None})  # type: ignore[arg-type]


NO_LIMITS = Limits.of("tensorflow_serving")
