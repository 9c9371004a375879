"""Bare servers that return what they receive: the least that a server in Python costs.

    python -m benchmarks._echo

prints the addresses of a REST server on uvicorn and of a gRPC server on grpc.aio.
"""

import asyncio
import socket
from typing import Any

import grpc
import uvicorn


class Echo(grpc.GenericRpcHandler):
    """A handler that answers every method with the bytes of its request."""

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        """Return the same handler for every method."""
        return grpc.unary_unary_rpc_method_handler(_same)


async def _same(request: bytes, context: object) -> bytes:
    return request


async def rest_echo(scope: dict, receive: Any, send: Any) -> None:
    """Answer a request with its body, as an ASGI application."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def main() -> None:
    """Serve until the process ends."""
    listening = socket.socket(
        socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )  # so that asyncio sets TCP_NODELAY
    listening.bind(("127.0.0.1", 0))
    listening.listen(128)
    config = uvicorn.Config(rest_echo, http="httptools", loop="asyncio", lifespan="off", log_level="warning")
    server = grpc.aio.server(handlers=[Echo()])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"REST  http://127.0.0.1:{listening.getsockname()[1]}")
    print(f"gRPC  grpc://127.0.0.1:{port}", flush=True)
    await uvicorn.Server(config).serve([listening])


if __name__ == "__main__":
    asyncio.run(main())
