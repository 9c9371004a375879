"""Clients of a model server: one small interface, by REST or by gRPC, for ours and for TF Serving itself.

>>> client = connect("http://127.0.0.1:8501")  # doctest: +SKIP
>>> client.predict("translate", {"text": ["tom is here"]})["text"]  # doctest: +SKIP

`RestClient` needs no TensorFlow; `GrpcClient` (see `grpc_client`) loads it when first used.
"""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import numpy as np

from seqattn_tf.serving import DEFAULT_SIGNATURE
from seqattn_tf.serving.errors import ServingError, from_http
from seqattn_tf.serving.json_values import is_base64

if TYPE_CHECKING:
    from seqattn_tf.serving.grpc_client import GrpcClient


class RestClient:
    """Asks a server by REST, over connections that are kept for the next request. Safe in threads.

    Args:
        url: `http://host:port`.
        timeout: seconds that an answer may take.
    """

    def __init__(self, url: str, timeout: float = 60.0):
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError(f"url: expected http://host:port. Received: {url!r}")
        self.address = parts.netloc
        self._timeout = timeout
        self._idle: list[http.client.HTTPConnection] = []
        self._output_names: dict[tuple[str, str], str] = {}

    def predict(
        self,
        model: str,
        inputs: Mapping[str, Sequence[Any] | np.ndarray],
        version: int | None = None,
        signature_name: str = DEFAULT_SIGNATURE,
    ) -> dict[str, np.ndarray]:
        """Runs a signature on named inputs.

        Returns:
            One array for each output. Strings are `str`, or `bytes` where the output's name ends in `_bytes`.

        Raises:
            ServingError: with the server's code and message, or UNAVAILABLE when there is no server.
        """
        columns = {alias: _plain(value) for alias, value in inputs.items()}
        body = {"signature_name": signature_name, "inputs": columns}
        outputs = self._request("POST", _path(model, version) + ":predict", json.dumps(body).encode())["outputs"]
        if not isinstance(outputs, dict) or is_base64(outputs):
            outputs = {self._only_output(model, version, signature_name): outputs}
        return {alias: _array(value) for alias, value in outputs.items()}

    def status(self, model: str) -> dict[str, Any]:
        """The versions of a model and their states, as the REST API tells them."""
        return self._request("GET", _path(model))

    def metadata(self, model: str) -> dict[str, Any]:
        """The signatures of a model, as the REST API tells them."""
        return self._request("GET", _path(model) + "/metadata")

    def close(self) -> None:
        """Closes the connections that are kept; the client can still be used."""
        while self._idle:
            self._idle.pop().close()

    def _only_output(self, model: str, version: int | None, signature_name: str) -> str:
        """The name of a single output, which REST leaves out of its answers."""
        key = (_path(model, version), signature_name)
        if key not in self._output_names:
            metadata = self._request("GET", key[0] + "/metadata")
            signature = metadata["metadata"]["signature_def"]["signature_def"][signature_name]
            self._output_names[key] = next(iter(signature["outputs"]))
        return self._output_names[key]

    def _request(self, method: str, path: str, body: bytes | None = None) -> dict[str, Any]:
        try:
            status, text = self._exchange(method, path, body)
        except TimeoutError as error:
            raise ServingError(
                "DEADLINE_EXCEEDED", f"{self.address}: expected an answer within {self._timeout} s. Received: none"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise ServingError(
                "UNAVAILABLE", f"expected a model server at http://{self.address}. Received: {error!r}"
            ) from error
        try:
            document = json.loads(text)
        except ValueError:
            document = {"error": f"expected JSON from http://{self.address}{path}. Received: {text[:200]!r}"}
        if not isinstance(document, dict) or status != 200 or "error" in document:
            message = document.get("error", text) if isinstance(document, dict) else text
            raise from_http(status, str(message))
        return document

    def _exchange(self, method: str, path: str, body: bytes | None) -> tuple[int, str]:
        try:
            connection, reused = self._idle.pop(), True
        except IndexError:
            connection, reused = http.client.HTTPConnection(self.address, timeout=self._timeout), False
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if not reused or isinstance(error, TimeoutError):
                raise
            # A server may close an idle connection at any time; requests are pure, so asking again is safe.
            return self._exchange(method, path, body)
        self._idle.append(connection)
        return response.status, text


def connect(url: str) -> RestClient | GrpcClient:
    """A client for `http://host:port` (REST) or `grpc://host:port`."""
    scheme, _, address = url.partition("://")
    if scheme == "http" and address:
        return RestClient(url)
    if scheme == "grpc" and address:
        from seqattn_tf.serving.grpc_client import GrpcClient

        return GrpcClient(address)
    raise ValueError(f"url: expected http://host:port or grpc://host:port. Received: {url!r}")


def __getattr__(name: str) -> Any:
    """`GrpcClient` lives in a module of its own, because it needs TensorFlow and this one does not."""
    if name == "GrpcClient":
        from seqattn_tf.serving.grpc_client import GrpcClient

        return GrpcClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _path(model: str, version: int | None = None) -> str:
    return f"/v1/models/{quote(model, safe='')}" + ("" if version is None else f"/versions/{version}")


def _plain(value: Any) -> Any:
    """Lists, arrays and numpy scalars as JSON values; bytes in base64."""
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return {"b64": base64.b64encode(value).decode("ascii")} if isinstance(value, bytes) else value


def _array(value: Any) -> np.ndarray:
    """Nested lists of an answer as an array; text stays `str` and bytes stay `bytes`, to the last zero."""
    value = leaf = _unpack(value)
    while isinstance(leaf, list) and leaf:
        leaf = leaf[0]
    return np.array(value, dtype=np.object_ if isinstance(leaf, (str, bytes)) else None)


def _unpack(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpack(item) for item in value]
    return base64.b64decode(value["b64"]) if is_base64(value) else value
