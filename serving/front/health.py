"""gRPC's health service: Check, List and Watch."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from grpc_health.v1 import health_pb2

from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.front.grpc_server import Call, Method, Stream

SERVICE = "grpc.health.v1.Health"
_SERVING, _NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
_UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


class Health:
    """The health of the services of a server, which all change together.

    Args:
        names: The names of the services.
    """

    def __init__(self, names: tuple[str, ...]):
        self._names = names
        self._serving = False
        self._watchers: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()

    @property
    def methods(self) -> Mapping[str, Method]:
        """The methods with one reply."""
        return {f"/{SERVICE}/Check": self._check, f"/{SERVICE}/List": self._list}

    @property
    def streams(self) -> Mapping[str, Stream]:
        """The method with many replies."""
        return {f"/{SERVICE}/Watch": self._watch}

    def set(self, serving: bool) -> None:
        """Set the health of all services and inform the clients that watch it."""
        self._serving = serving
        for loop, changed in list(self._watchers):
            loop.call_soon_threadsafe(changed.set)

    def _status(self, service: str) -> int:
        return _UNKNOWN if service not in self._names else _SERVING if self._serving else _NOT_SERVING

    def _check(self, message: bytes, _: float | None) -> bytes:
        status = self._status(_parse(message).service)
        if status == _UNKNOWN:
            raise ServingError("NOT_FOUND", "")
        return health_pb2.HealthCheckResponse(status=status).SerializeToString()

    def _list(self, _: bytes, __: float | None) -> bytes:
        response = health_pb2.HealthListResponse()
        for name in self._names:
            response.statuses[name].status = self._status(name)
        return response.SerializeToString()

    async def _watch(self, call: Call) -> None:
        request = _parse(await call.read() or b"")
        watcher = asyncio.get_running_loop(), asyncio.Event()
        self._watchers.add(watcher)
        try:
            known = None
            while True:
                watcher[1].clear()
                status = self._status(request.service)
                if status != known:
                    await call.write(health_pb2.HealthCheckResponse(status=status).SerializeToString())
                known = status
                await call.listen(watcher[1].wait())
        finally:
            self._watchers.discard(watcher)


def _parse(message: bytes) -> health_pb2.HealthCheckRequest:
    return health_pb2.HealthCheckRequest.FromString(message)
