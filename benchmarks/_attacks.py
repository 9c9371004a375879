"""Attacks on a server over real sockets: what a hostile or broken client sends, in a process of its own.

    python -m benchmarks._attacks NAME SECONDS REST_PORT GRPC_PORT TLS_PORT [TOKEN]

runs an attack for some seconds. It needs no TensorFlow, and prints `started` once the attack is under way.
"""

import contextlib
import gzip
import json
import queue
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import grpc

PREDICT = "/tensorflow.serving.PredictionService/Predict"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
HEALTH = "/grpc.health.v1.Health/Check"


@dataclass(frozen=True)
class Target:
    """The ports of a server, and its token if there is one."""

    rest: int
    grpc: int
    tls: int = 0
    token: str = ""

    def connect(self, port: int = 0) -> socket.socket:
        """Return a connection to a port, by default that of the REST API."""
        connection = socket.create_connection(("127.0.0.1", port or self.rest), timeout=10)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


def request(body: bytes, path: str = "/v1/models/half:predict", headers: str = "", length: int = -1) -> bytes:
    """Return the bytes of a request; `length` may claim another length of its body."""
    size = len(body) if length < 0 else length
    return f"POST {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {size}\r\n\r\n".encode() + body


def connections(target: Target, end: float) -> None:
    """Open 1100 connections that send nothing."""
    _keep(target, end, 1100, lambda number: b"")


def grpc_connections(target: Target, end: float) -> None:
    """Open 1100 connections to the gRPC port that send nothing."""
    _keep(target, end, 1100, lambda number: b"", target.grpc)


def invalid_json(target: Target, end: float) -> None:
    """Send 16 MB of numbers that end in an error."""
    _repeat(target, end, request(b'{"instances": [' + b"1.53125678901234567," * 800_000 + b"x]}"))


def churn(target: Target, end: float) -> None:
    """Open and close 10 000 connections, again and again."""
    while time.monotonic() < end:
        for _ in range(10_000):
            with contextlib.suppress(OSError):
                target.connect().close()
            if time.monotonic() > end:
                return


def slow_headers(target: Target, end: float) -> None:
    """Send headers at one byte per second on 400 connections."""
    _trickle(target, end, request(b"", headers="A: " + "x" * 1000 + "\r\n"))


def slow_bodies(target: Target, end: float) -> None:
    """Send bodies at one byte per second on 400 connections."""
    whole = request(b'{"instances": [' + b" " * 1000)
    _trickle(target, end, whole, whole.index(b"\r\n\r\n") + 4)


def large_slow_bodies(target: Target, end: float) -> None:
    """Send all but the end of bodies of 16 MB on 40 connections."""
    _keep(target, end, 40, lambda number: request(b" " * (1 << 24), length=(1 << 24) + 1000))


def unread_replies(target: Target, end: float) -> None:
    """Ask for replies of a million numbers on 200 connections, and read none of them."""
    _keep(target, end, 200, lambda number: _fill(1_000_000))


def gzip_bomb(target: Target, end: float) -> None:
    """Send 300 kB that unpack to 300 MB."""
    bomb = gzip.compress(bytes(300_000_000), 9)
    _repeat(target, end, request(bomb, headers="Content-Encoding: gzip\r\n"))


def large_reply(target: Target, end: float) -> None:
    """Ask for replies of ten million floats."""
    _repeat(target, end, _fill(10_000_000))


def numbers(target: Target, end: float) -> None:
    """Send 50 MB of numbers."""
    _repeat(target, end, request(b'{"instances": [' + b"1.5," * 12_500_000 + b"1.5]}"))


def many_values(target: Target, end: float) -> None:
    """Send as many numbers as the default limit allows."""
    _repeat(target, end, request(b'{"instances": [' + b"1.53125," * 999_000 + b"1.5]}"))


def brackets(target: Target, end: float) -> None:
    """Send 2 MB of brackets."""
    _repeat(target, end, request(b'{"instances": ' + b"[" * 2_000_000))


def slow_tls(target: Target, end: float) -> None:
    """Begin TLS handshakes at one byte per second on 400 connections."""
    hello = bytes.fromhex("160301020001000200") + bytes(500)
    _trickle(target, end, hello, 5, target.tls)


def flood(target: Target, end: float) -> None:
    """Send requests on 64 connections as fast as they are answered, half of them for a second of work."""
    quick = request(b'{"instances": [1.0]}')
    slow = request(b'{"signature_name": "spin", "instances": [0.02]}')
    threads = [threading.Thread(target=_ask, args=(target, end, [quick, slow][n % 2])) for n in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def silent_calls(target: Target, end: float) -> None:
    """Open 1000 gRPC calls that send no message."""
    _silent(target, end, 1000, [PREDICT, HEALTH])


def silent_streams(target: Target, end: float) -> None:
    """Open 1000 reflection streams that send no message."""
    _silent(target, end, 1000, [REFLECTION])


def few_silent_calls(target: Target, end: float) -> None:
    """Open 64 gRPC calls that send no message."""
    _silent(target, end, 64, [PREDICT])


ATTACKS: dict[str, Callable[[Target, float], None]] = {
    attack.__name__: attack
    for attack in (
        connections,
        grpc_connections,
        churn,
        slow_headers,
        slow_bodies,
        large_slow_bodies,
        unread_replies,
        gzip_bomb,
        large_reply,
        numbers,
        many_values,
        invalid_json,
        brackets,
        slow_tls,
        flood,
        few_silent_calls,
        silent_calls,
        silent_streams,
    )
}


def _fill(count: int) -> bytes:
    return request(json.dumps({"signature_name": "fill", "inputs": count}).encode())


def _keep(target: Target, end: float, count: int, sent: Callable[[int], bytes], port: int = 0) -> None:
    """Open connections, send something on each, and replace those that the server closes."""
    kept: list[socket.socket] = []
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if len(kept) >= count:
                time.sleep(0.05)
                kept.pop(0).close()
            connection = target.connect(port)
            connection.settimeout(0.5)
            kept.append(connection)
            connection.sendall(sent(len(kept)))


def _trickle(target: Target, end: float, data: bytes, start: int = 1, port: int = 0) -> None:
    """Send data byte by byte on 400 connections, and replace those that the server closes."""
    kept: dict[socket.socket, int] = {}
    while time.monotonic() < end:
        began = time.monotonic()
        while len(kept) < 400:
            try:
                connection = target.connect(port)
                connection.sendall(data[:start])
            except OSError:
                break
            kept[connection] = start
        for connection, place in list(kept.items()):
            try:
                connection.sendall(data[place : place + 1])
                kept[connection] = place + 1
            except OSError:
                connection.close()
                del kept[connection]
        time.sleep(max(0.0, min(1.0, end - time.monotonic(), began + 1 - time.monotonic())))


def _repeat(target: Target, end: float, data: bytes) -> None:
    """Send a request on a new connection again and again, and read what comes back."""
    while time.monotonic() < end:
        with contextlib.suppress(OSError), target.connect() as connection:
            sender = threading.Thread(target=_send, args=(connection, data))
            sender.start()
            while connection.recv(1 << 20) and time.monotonic() < end:
                pass
            sender.join()


def _send(connection: socket.socket, data: bytes) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)


def _ask(target: Target, end: float, data: bytes) -> None:
    """Send a request again and again on one connection."""
    while time.monotonic() < end:
        with contextlib.suppress(OSError), target.connect() as connection:
            while time.monotonic() < end:
                connection.sendall(data)
                if not connection.recv(1 << 16):
                    break


def _silent(target: Target, end: float, count: int, methods: list[str]) -> None:
    metadata = [("authorization", f"Bearer {target.token}")] if target.token else None
    blocked: queue.Queue[bytes] = queue.Queue()

    def nothing() -> Iterator[bytes]:
        yield blocked.get()

    options = [("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.insecure_channel(f"127.0.0.1:{target.grpc}", options) for _ in range(10)]
    for number in range(count):
        channel = channels[number % len(channels)]
        channel.stream_stream(methods[number % len(methods)])(nothing(), metadata=metadata)
    time.sleep(max(0.0, end - time.monotonic()))
    for channel in channels:
        channel.close()
    for _ in range(count):
        blocked.put(b"")


def main() -> None:
    """Run one attack."""
    name, seconds, rest, grpc_port, tls, *token = sys.argv[1:]
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print("started", flush=True)
    target = Target(int(rest), int(grpc_port), int(tls), *token)
    ATTACKS[name](target, time.monotonic() + float(seconds))


if __name__ == "__main__":
    main()
