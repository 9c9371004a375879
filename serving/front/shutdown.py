"""Turns gRPC calls away before the server stops: gRPC would cancel what it has not handed out, accepted or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc


class ShutdownInterceptor(grpc.ServerInterceptor):
    """Lets calls in until it is closed; then they are UNAVAILABLE, which tells a client to ask elsewhere."""

    def __init__(self) -> None:
        self._closed = False

    def close(self) -> None:
        """Lets nobody in any more; who is in stays."""
        self._closed = True

    def intercept_service(self, continuation: Callable[..., Any], details: grpc.HandlerCallDetails) -> Any:
        """What answers a call."""
        return _TURNED_AWAY if self._closed else continuation(details)


def _turn_away(_: Any, context: grpc.ServicerContext) -> None:
    context.abort(grpc.StatusCode.UNAVAILABLE, "the server is shutting down")


_TURNED_AWAY: grpc.RpcMethodHandler = grpc.unary_unary_rpc_method_handler(_turn_away)
