"""A gRPC server on grpc.aio, with limits for calls that send nothing.

The synchronous server of gRPC gives every call a thread before its message arrives, so that a few dozen silent calls
stop it. Here, a call that waits for a message costs some memory only, for a limited time. The event loop answers what
takes less than a millisecond; other calls run in threads, in which clients take turns.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import math
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import grpc
import grpc.aio

from seqattn_tf.serving.errors import ServingError, from_exception
from seqattn_tf.serving.front.access import Token
from seqattn_tf.serving.front.access_log import REQUEST_ID, AccessLog, request_id
from seqattn_tf.serving.front.worker_pool import WorkerPool
from seqattn_tf.serving.limits import Limits
from seqattn_tf.serving.models.denormals import flush_denormals

LOG = logging.getLogger(__name__)
Result = TypeVar("Result")
Step = Callable[[], "bytes | Step"]  # the rest of a call, for a thread that may wait
Method = Callable[[bytes, "float | None"], "bytes | Step"]  # from a message and its deadline; returns within a moment
Stream = Callable[["Call"], Coroutine[Any, Any, None]]

_CHECK_SECONDS = 0.25
_LARGE_MESSAGE = 1 << 16  # bytes from which a message is parsed in a thread
_RESERVED = 64  # calls above the limit, for health checks
_NO_DEADLINE = 365 * 86400.0  # without a deadline, gRPC reports several centuries
_HANDSHAKE_MILLISECONDS = 5_000
_STREAMS_PER_CONNECTION = 256


class GrpcServer:
    """A server that listens at once, answers calls after `start`, and stops without cutting calls short.

    Args:
        addresses: `host:port` or `unix:PATH`; port 0 lets the system choose one.
        methods: The methods with one message and one reply, by `/service/method`.
        streams: The other methods.
        token: The token that grants access.
        open_services: The services that need no token, such as `/grpc.health.v1.Health/`, which is also answered above
            the limit of calls.
        credentials: The certificate for TLS; None for none.
        limits: The limits of calls and messages.
        exceeded: A function that is called with the name of a limit whenever that limit takes effect.
        threads: The number of calls that may be worked on at once.
        options: Options of gRPC, which take precedence over those of this class.
        access_log: Where to log calls with one message and one reply; None for nowhere.

    Raises:
        OSError: If an address is not available.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        methods: Mapping[str, Method],
        streams: Mapping[str, Stream] | None = None,
        token: Token | None = None,
        open_services: tuple[str, ...] = (),
        credentials: grpc.ServerCredentials | None = None,
        limits: Limits | None = None,
        exceeded: Callable[[str], None] = lambda limit: None,
        threads: int = 64,
        options: Sequence[tuple[str, int | str]] = (),
        access_log: AccessLog | None = None,
    ):
        self._limits = limits or Limits()
        self._pool = WorkerPool(threads, "grpc")
        self._router = _Router(self, methods, streams or {}, token or Token(), open_services)
        self._exceeded = exceeded
        self._log = access_log
        self._count = 0
        # The tasks of calls that wait for a message, with the end of that wait, and of calls that only listen; in the
        # order of their arrival.
        self._silent: dict[asyncio.Task, float] = {}
        self._listening: dict[asyncio.Task, float] = {}
        self._stopped = False
        defaults = (
            ("grpc.max_receive_message_length", self._limits.max_request_bytes or -1),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", 0),  # a port in use is an error; it must not be shared with another process
            ("grpc.server_handshake_timeout_ms", _HANDSHAKE_MILLISECONDS),
            ("grpc.max_concurrent_streams", _STREAMS_PER_CONNECTION),
            *([("grpc.max_allowed_incoming_connections", most)] if (most := self._limits.max_grpc_connections) else []),
        )
        self._loop = _event_loop()
        self._server, self.port = self._call(self._open(addresses, credentials, [*options, *defaults]))

    def start(self) -> None:
        """Answer calls in the background."""
        self._call(self._start())

    def refuse_calls(self) -> None:
        """Refuse new calls, so that clients try elsewhere; current calls continue."""
        self._router.closed = True

    def stop(self, grace_seconds: float) -> None:
        """Finish current calls, cancel those that take too long, and close the ports."""
        self.refuse_calls()
        self._call(self._stop(grace_seconds))
        self._pool.close()

    # What calls use

    @property
    def is_logged(self) -> bool:
        """Whether calls are logged."""
        return self._log is not None

    def is_full(self, reserved: int = 0) -> bool:
        """Return whether there is no room for a new call, and none can be made."""
        limit = self._limits.max_calls
        if not limit or self._count < limit + reserved:
            return False
        self._exceeded("max_calls")
        for calls in (self._silent, self._listening):
            if calls:
                task = next(iter(calls))
                del calls[task]
                task.cancel()
                return False
        return True

    async def logged(self, name: str, method: Method, context: grpc.aio.ServicerContext) -> bytes:
        """Serve a call as `unary` does, and log it."""
        assert self._log is not None
        sent = dict(context.invocation_metadata() or ())
        number, start, size = request_id(str(sent.get(REQUEST_ID.lower(), ""))), time.monotonic(), 0
        try:
            reply = await self.unary(method, context)
            size = len(reply)
            return reply
        finally:
            code = context.code()
            status = code.name if isinstance(code, grpc.StatusCode) else "CANCELLED" if not size and code else "OK"
            self._log.write(number, _client(context), name, status, time.monotonic() - start, size)

    async def unary(self, method: Method, context: grpc.aio.ServicerContext) -> bytes:
        """Serve a call with one message and one reply; an error becomes its status."""
        self._count += 1
        try:
            end = _deadline(context)
            message = await self.read(context)
            if message is None:
                raise ServingError("INTERNAL", "expected one message. Received: none")
            answer: bytes | Step = functools.partial(method, message, end)
            if len(message) < _LARGE_MESSAGE:
                answer = method(message, end)
            return answer if isinstance(answer, bytes) else await self._in_thread(_client(context), answer)
        except Exception as error:
            code, details = _failure(error)
        finally:
            self._count -= 1
        await context.abort(code, details)
        raise AssertionError("abort always raises")

    async def stream(self, stream: Stream, context: grpc.aio.ServicerContext) -> None:
        """Serve a call with many messages; an error becomes its status."""
        self._count += 1
        try:
            await stream(Call(self, context))
            return
        except Exception as error:
            code, details = _failure(error)
        finally:
            self._count -= 1
        await context.abort(code, details)

    async def read(self, context: grpc.aio.ServicerContext) -> bytes | None:
        """Return the next message of a call, or None after the last one."""
        message = await self._wait(self._silent, context.read(), self._limits.request_seconds)
        return None if message is grpc.aio.EOF else message

    async def listen(self, event: Awaitable[Result]) -> Result:
        """Wait for an event for any time; the call may end to make room for others."""
        return await self._wait(self._listening, event, 0)

    async def _wait(self, calls: dict[asyncio.Task, float], waiting: Awaitable[Result], seconds: float) -> Result:
        """Wait for something that the server may stop waiting for.

        Raises:
            ServingError: DEADLINE_EXCEEDED after this many seconds, or RESOURCE_EXHAUSTED to make room for others.
        """
        task = asyncio.current_task()
        assert task is not None
        end = calls[task] = time.monotonic() + seconds if seconds else math.inf
        try:
            return await waiting
        except asyncio.CancelledError:
            if task in calls:
                raise  # by the client
            if time.monotonic() > end:
                raise ServingError("DEADLINE_EXCEEDED", f"expected a message within {seconds:g} s") from None
            raise ServingError("RESOURCE_EXHAUSTED", "expected fewer calls at once") from None
        finally:
            calls.pop(task, None)

    async def _in_thread(self, client: str, step: Step) -> bytes:
        done: asyncio.Future[bytes] = self._loop.create_future()

        def settle(result: bytes | None, error: Exception | None) -> None:
            if done.done():  # the client has left
                return
            if error is None:
                done.set_result(result or b"")
            else:
                done.set_exception(error)

        def run() -> None:
            answer: bytes | Step = step
            try:
                while not isinstance(answer, bytes):
                    answer = answer()
            except Exception as error:
                self._loop.call_soon_threadsafe(settle, None, error)
            else:
                self._loop.call_soon_threadsafe(settle, answer, None)

        self._pool.submit(client, run)
        return await done

    # The event loop

    def _call(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _open(
        self,
        addresses: Sequence[str],
        credentials: grpc.ServerCredentials | None,
        options: Sequence[tuple[str, int | str]],
    ) -> tuple[grpc.aio.Server, int]:
        """Return a listening server and its first port."""
        server = grpc.aio.server(handlers=[self._router], options=options)
        try:
            ports = [
                server.add_insecure_port(address)
                if credentials is None
                else server.add_secure_port(address, credentials)
                for address in addresses
            ]
        except RuntimeError as error:
            raise OSError(f"port: expected a free port. Received: {' '.join(addresses)}") from error
        return server, ports[0]

    async def _start(self) -> None:
        await self._server.start()
        self._loop.call_later(_CHECK_SECONDS, self._check)

    def _check(self) -> None:
        """End the calls that have waited too long for a message."""
        now = time.monotonic()
        for task in [task for task, end in self._silent.items() if end < now]:
            self._exceeded("request_seconds")
            del self._silent[task]
            task.cancel()
        if not self._stopped:
            self._loop.call_later(_CHECK_SECONDS, self._check)

    async def _stop(self, grace_seconds: float) -> None:
        for calls in (self._silent, self._listening):
            for task in list(calls):
                del calls[task]
                task.cancel()
        await self._server.stop(grace_seconds)
        self._stopped = True


class Call:
    """A call of a method.

    Args:
        server: The server of the call.
        context: The call in gRPC.
    """

    def __init__(self, server: GrpcServer, context: grpc.aio.ServicerContext):
        self._server = server
        self._context = context

    async def read(self) -> bytes | None:
        """Return the next message, or None after the last one."""
        return await self._server.read(self._context)

    async def messages(self, parse: Callable[[bytes], Result]) -> AsyncIterator[Result]:
        """Return all messages."""
        while (message := await self.read()) is not None:
            yield parse(message)

    async def write(self, message: bytes) -> None:
        """Send a message."""
        await self._context.write(message)

    async def listen(self, event: Awaitable[Result]) -> Result:
        """Wait for an event for any time; the call may end to make room for others."""
        return await self._server.listen(event)


class _Router(grpc.GenericRpcHandler):
    """A handler that chooses the method of a call, or refuses the call without waiting for its message."""

    def __init__(
        self,
        server: GrpcServer,
        methods: Mapping[str, Method],
        streams: Mapping[str, Stream],
        token: Token,
        open_services: tuple[str, ...],
    ):
        self.closed = False
        self._server = server
        self._token = token
        self._open_services = open_services
        self._handlers = {name: _unary_handler(server, name, method) for name, method in methods.items()}
        self._handlers |= {name: _stream_handler(server, stream) for name, stream in streams.items()}

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        if self.closed:
            return _TURNED_AWAY
        is_open = details.method.startswith(self._open_services)
        if not (is_open or self._allows(details)):
            return _UNAUTHENTICATED
        if self._server.is_full(_RESERVED if is_open else 0):
            return _FULL
        return self._handlers.get(details.method)

    def _allows(self, details: grpc.HandlerCallDetails) -> bool:
        if not self._token.is_needed:
            return True
        return self._token.allows(str(dict(details.invocation_metadata).get("authorization", "")))


def _unary_handler(server: GrpcServer, name: str, method: Method) -> grpc.RpcMethodHandler:
    async def serve(_: object, context: grpc.aio.ServicerContext) -> bytes:
        if server.is_logged:
            return await server.logged(name, method, context)
        return await server.unary(method, context)

    return grpc.stream_unary_rpc_method_handler(serve)  # a stream, so that the wait for its message can end


def _stream_handler(server: GrpcServer, stream: Stream) -> grpc.RpcMethodHandler:
    async def serve(_: object, context: grpc.aio.ServicerContext) -> None:
        await server.stream(stream, context)

    return grpc.stream_stream_rpc_method_handler(serve)


def _client(context: grpc.aio.ServicerContext) -> str:
    """Return the address of a client, without its port."""
    return context.peer().rpartition(":")[0]


def _deadline(context: grpc.aio.ServicerContext) -> float | None:
    """Return a client's deadline in the time of `time.monotonic`, or None."""
    seconds = context.time_remaining()
    return None if seconds is None or seconds > _NO_DEADLINE else time.monotonic() + seconds


def _failure(error: Exception) -> tuple[grpc.StatusCode, str]:
    """Return the status of a call that failed."""
    if not isinstance(error, ServingError):
        LOG.exception("a call failed because of an internal error")
        error = from_exception(error)
    return grpc.StatusCode[error.code], error.grpc_details


def _refusing(code: grpc.StatusCode, details: str) -> grpc.RpcMethodHandler:
    async def refuse(_: object, context: grpc.aio.ServicerContext) -> None:
        await context.abort(code, details)

    return grpc.stream_stream_rpc_method_handler(refuse)


_TURNED_AWAY = _refusing(grpc.StatusCode.UNAVAILABLE, "the server is shutting down")
_UNAUTHENTICATED = _refusing(grpc.StatusCode.UNAUTHENTICATED, "expected a valid bearer token")
_FULL = _refusing(grpc.StatusCode.RESOURCE_EXHAUSTED, "expected fewer calls at once")


@functools.lru_cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of all gRPC servers of this process, which runs in a thread; gRPC never forgets a loop."""
    loop = asyncio.new_event_loop()

    def run() -> None:
        flush_denormals()
        loop.run_forever()

    threading.Thread(target=run, name="grpc-loop", daemon=True).start()
    return loop
