"""What a polite client sees of a server while something else happens: how long probes and requests take, and memory."""

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path

import grpc

from benchmarks._attacks import HEALTH, PREDICT


class Watch:
    """Probes and requests, each on a connection of its own, until `stop`.

    Args:
        process: The process of the server.
        rest: Its REST port.
        grpc_port: Its gRPC port.
        message: An encoded PredictRequest.
        body: The JSON body of a request to the same model.
        token: The token of the server, if there is one.
        certificate: The certificate of its authority, if it has TLS.
    """

    def __init__(
        self,
        process: int,
        rest: int,
        grpc_port: int,
        message: bytes,
        body: object,
        token: str = "",
        certificate: bytes = b"",
    ):
        self.seconds: dict[str, list[float]] = {}
        self.faults: list[str] = []
        self._process = process
        self._address = ("127.0.0.1", rest)
        self._grpc = f"127.0.0.1:{grpc_port}"
        self._message = message
        self._body = json.dumps(body)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._certificate = certificate
        self._over = threading.Event()
        self.idle = self.megabytes = self._resident()
        asks = {
            "probe": self._probe,
            "request": self._request,
            "gRPC probe": lambda: self._call(HEALTH, b""),
            "gRPC request": lambda: self._call(PREDICT, self._message),
        }
        self._threads = [threading.Thread(target=self._repeat, args=item) for item in asks.items()]
        self._threads.append(threading.Thread(target=self._sample))
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the probes and requests."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def slowest(self, kind: str) -> float:
        """Return the seconds of the slowest probe or request."""
        return max(self.seconds.get(kind, [float("inf")]))

    def _repeat(self, kind: str, ask: Callable[[], None]) -> None:
        while not self._over.wait(0.05):
            start = time.monotonic()
            try:
                ask()
            except Exception as error:
                self.faults.append(f"{kind}: {error!r:.200} after {time.monotonic() - start:.1f} s")
            self.seconds.setdefault(kind, []).append(time.monotonic() - start)

    def _probe(self) -> None:
        self._ask("GET", "/healthz", None)

    def _request(self) -> None:
        self._ask("POST", "/v1/models/half:predict", self._body)

    def _ask(self, method: str, path: str, body: str | None) -> None:
        connection: http.client.HTTPConnection
        if self._certificate:
            context = ssl.create_default_context(cadata=self._certificate.decode())
            connection = http.client.HTTPSConnection(*self._address, timeout=10, context=context)
        else:
            connection = http.client.HTTPConnection(*self._address, timeout=10)
        try:
            connection.request(method, path, body, self._headers)
            response = connection.getresponse()
            text = response.read()
            if response.status != 200:
                raise ValueError(f"{response.status} {text!r:.200}")
        finally:
            connection.close()

    def _call(self, method: str, message: bytes) -> None:
        options = [("grpc.use_local_subchannel_pool", 1)]
        credentials = grpc.ssl_channel_credentials(self._certificate) if self._certificate else None
        with (
            grpc.secure_channel(self._grpc, credentials, options)
            if credentials
            else grpc.insecure_channel(self._grpc, options)
        ) as channel:
            metadata = [("authorization", value) for value in self._headers.values()]
            channel.unary_unary(method)(message, timeout=10, metadata=metadata)

    def _sample(self) -> None:
        while not self._over.wait(0.02):
            self.megabytes = max(self.megabytes, self._resident())

    def _resident(self) -> float:
        fields = Path(f"/proc/{self._process}/status").read_text().split("VmRSS:")
        return int(fields[1].split()[0]) / 1024
