"""The REST client. It does not need TensorFlow."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

from seqattn_tf.serving.api.json_values import is_base64
from seqattn_tf.serving.client.base import Client, ClientOptions, ModelVersion
from seqattn_tf.serving.errors import ServingError, from_http


class RestClient(Client):
    """A client that uses REST over persistent connections.

    Args:
        url: The URL, `http://host:port` or `https://host:port`.
        **options: See `base.ClientOptions`.
    """

    def __init__(self, url: str, **options: Any):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url: expected http://host:port or https://host:port. Received: {url!r}")
        super().__init__(parts.netloc, ClientOptions(**options))
        self._url = f"{parts.scheme}://{parts.netloc}"
        self._tls = _trusting(self.options.ca_file) if parts.scheme == "https" else None
        self._headers = {"Content-Type": "application/json"}
        if self.options.token:
            self._headers["Authorization"] = f"Bearer {self.options.token}"
        self._idle: list[http.client.HTTPConnection] = []
        self._output_names: dict[tuple[ModelVersion, str], str] = {}

    def close(self) -> None:
        """Close idle connections; the client can still be used."""
        while self._idle:
            self._idle.pop().close()

    def _predict(self, asked: ModelVersion, inputs: Mapping[str, Any], signature_name: str, timeout: float) -> dict:
        columns = {alias: _plain(value) for alias, value in inputs.items()}
        body = json.dumps({"signature_name": signature_name, "inputs": columns}).encode()
        outputs = self._request("POST", _path(asked) + ":predict", timeout, body)["outputs"]
        if not isinstance(outputs, dict) or is_base64(outputs):
            outputs = {self._only_output(asked, signature_name, timeout): outputs}
        return {alias: _array(value) for alias, value in outputs.items()}

    def _status(self, asked: ModelVersion, timeout: float) -> dict[str, Any]:
        return self._request("GET", _path(asked), timeout)

    def _metadata(self, asked: ModelVersion, timeout: float) -> dict[str, Any]:
        return self._request("GET", _path(asked) + "/metadata", timeout)

    def _only_output(self, asked: ModelVersion, signature_name: str, timeout: float) -> str:
        """Return the name of a single output, which REST responses omit."""
        key = (asked, signature_name)
        if key not in self._output_names:
            signatures = self._metadata(asked, timeout)["metadata"]["signature_def"]["signature_def"]
            self._output_names[key] = next(iter(signatures[signature_name]["outputs"]))
        return self._output_names[key]

    def _request(self, method: str, path: str, timeout: float, body: bytes | None = None) -> dict[str, Any]:
        try:
            status, text = self._exchange(method, path, body, timeout)
        except TimeoutError as error:
            raise ServingError(
                "DEADLINE_EXCEEDED", f"{self.address}: expected an answer within {timeout:.3g} s. Received: none"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise ServingError("UNAVAILABLE", f"expected a model server at {self._url}. Received: {error!r}") from error
        try:
            document = json.loads(text)
        except ValueError:
            document = {"error": f"expected JSON from {self._url}{path}. Received: {text[:200]!r}"}
        if not isinstance(document, dict) or status != 200 or "error" in document:
            message = document.get("error", text) if isinstance(document, dict) else text
            raise from_http(status, str(message))
        return document

    def _exchange(self, method: str, path: str, body: bytes | None, timeout: float) -> tuple[int, str]:
        try:
            connection, reused = self._idle.pop(), True
        except IndexError:
            connection, reused = self._connection(), False
        try:
            connection.timeout = timeout
            if connection.sock is not None:
                connection.sock.settimeout(timeout)
            connection.request(method, path, body, self._headers)
            response = connection.getresponse()
            text = response.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if not reused or isinstance(error, TimeoutError):
                raise
            # A server may close an idle connection at any time; that does not count as a failed attempt.
            return self._exchange(method, path, body, timeout)
        self._idle.append(connection)
        return response.status, text

    def _connection(self) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(self.address)
        return http.client.HTTPSConnection(self.address, context=self._tls)


def _trusting(ca_file: str | Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


def _path(asked: ModelVersion) -> str:
    path = f"/v1/models/{quote(asked.model, safe='')}"
    if asked.label:
        return f"{path}/labels/{quote(asked.label, safe='')}"
    return path if asked.version is None else f"{path}/versions/{asked.version}"


def _plain(value: Any) -> Any:
    """Convert lists, arrays and numpy scalars to JSON values, and bytes to base64."""
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return {"b64": base64.b64encode(value).decode("ascii")} if isinstance(value, bytes) else value


def _array(value: Any) -> np.ndarray:
    """Convert nested lists of a response to an array; texts and bytes become objects, so trailing zeros survive."""
    value = leaf = _unpack(value)
    while isinstance(leaf, list) and leaf:
        leaf = leaf[0]
    return np.array(value, dtype=np.object_ if isinstance(leaf, (str, bytes)) else None)


def _unpack(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpack(item) for item in value]
    return base64.b64decode(value["b64"]) if is_base64(value) else value
