"""An interceptor that rejects gRPC calls before a shutdown, because gRPC would cancel those not yet dispatched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc


class ShutdownInterceptor(grpc.ServerInterceptor):
    """An interceptor that rejects all calls once it is closed.

    The code is UNAVAILABLE, so that clients try elsewhere.
    """

    def __init__(self) -> None:
        self._closed = False

    def close(self) -> None:
        """Reject new calls; current ones continue."""
        self._closed = True

    def intercept_service(self, continuation: Callable[..., Any], details: grpc.HandlerCallDetails) -> Any:
        return _TURNED_AWAY if self._closed else continuation(details)


def _turn_away(_: Any, context: grpc.ServicerContext) -> None:
    context.abort(grpc.StatusCode.UNAVAILABLE, "the server is shutting down")


_TURNED_AWAY: grpc.RpcMethodHandler = grpc.unary_unary_rpc_method_handler(_turn_away)
