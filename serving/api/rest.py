"""TF Serving's REST API (all paths below `/v1/`) as a function from request to reply; the sockets are in `front`."""

from __future__ import annotations

import logging
import re
import time
from typing import Any, NamedTuple
from urllib.parse import unquote

from seqattn_tf.serving import DEFAULT_SIGNATURE
from seqattn_tf.serving.api.examples import input_from_json
from seqattn_tf.serving.api.exchange import Reply, Request
from seqattn_tf.serving.api.inference import Inference
from seqattn_tf.serving.api.json_codec import (
    decode_inputs,
    encode_classifications,
    encode_document,
    encode_outputs,
    encode_regressions,
    read_signature_name,
)
from seqattn_tf.serving.api.json_parser import parse_document
from seqattn_tf.serving.api.messages import metadata_message, status_message, to_document
from seqattn_tf.serving.api.metrics import Metrics
from seqattn_tf.serving.errors import ServingError, from_exception
from seqattn_tf.serving.models.repository import ModelRepository
from seqattn_tf.serving.models.servable import Servable, type_name
from seqattn_tf.serving.models.version_folders import MAX_VERSION
from seqattn_tf.serving.protos import Input

LOG = logging.getLogger(__name__)
_CORS_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET",
    "Access-Control-Allow-Headers": "Content-Type",
}
_NAME = r"/(?P<name>[^/:]+)"
_VERSION = r"(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
# Paths are case-insensitive, except for the name of the API.
_API = r":(?P<api>(?-i:predict|classify|regress))"
_ROUTES = {
    "POST": re.compile(rf"/v1/models{_NAME}{_VERSION}{_API}", re.IGNORECASE | re.ASCII),
    "GET": re.compile(rf"/v1/models(?:{_NAME})?{_VERSION}(?P<metadata>/metadata)?", re.IGNORECASE | re.ASCII),
}


class _Asked(NamedTuple):
    """The parsed method and path of a request."""

    name: str = ""
    version: int | None = None
    label: str = ""
    api: str = ""  # predict, classify or regress; empty for a request about a model, as in TF Serving's metrics
    metadata: bool = False


class RestApi:
    """A handler for REST requests to a repository of models.

    Args:
        repository: The repository with the models.
        metrics: The metrics that count requests.
        timeout: The maximum number of seconds of one run of a model; 0 for no limit.
        cors: Whether pages of other sites may send requests.
    """

    def __init__(
        self,
        repository: ModelRepository,
        metrics: Metrics | None = None,
        timeout: float = 30.0,
        cors: bool = False,
    ):
        self._repository = repository
        self._metrics = metrics or Metrics()
        self._timeout = timeout if timeout > 0 else None
        self._headers = _CORS_HEADERS if cors else {}

    def handle(self, request: Request) -> Reply:
        """Return the reply to a request; never raises."""
        start = time.perf_counter()
        asked, status, code, body = _Asked(), "OK", 200, b""
        try:
            if request.method == "OPTIONS":
                _check_origin(request)
            else:
                asked = _read_path(request.method, request.path)
                body = self._answer(asked, request.body)
        except Exception as error:
            status, code, body = _failure(error)
            body = b"" if request.method == "OPTIONS" else body
        self._metrics.answered(asked.name, asked.api, "REST", status, time.perf_counter() - start)
        return Reply(code, body, headers=self._headers)

    def _answer(self, asked: _Asked, body: bytes) -> bytes:
        if asked.api:
            # The body is parsed before the model is looked up: invalid JSON is an error 400 even if the model does not
            # exist.
            document = parse_document(body)
            signature_name = read_signature_name(document)
            if asked.api == "predict":
                return self._predict(asked, document, signature_name)
            return self._infer(asked, input_from_json(document), signature_name)
        if not asked.name:
            raise ServingError("INVALID_ARGUMENT", "Missing model name in request.")
        if asked.metadata:
            return encode_document(to_document(metadata_message(self._servable(asked))))
        # The status ignores labels, even unknown ones: it always includes every version.
        return encode_document(to_document(status_message(self._repository.status(asked.name, asked.version))))

    def _predict(self, asked: _Asked, document: dict[str, Any], signature_name: str) -> bytes:
        servable = self._servable(asked)
        row, inputs = decode_inputs(document, _input_types(servable, signature_name))
        outputs = self._inference(servable).predict(signature_name, inputs)
        return encode_outputs(outputs, row)

    def _infer(self, asked: _Asked, examples: Input, signature_name: str) -> bytes:
        inference = self._inference(self._servable(asked))
        if asked.api == "regress":
            result = inference.regress(signature_name, examples)
            return encode_regressions([regression.value for regression in result.regressions])
        classified = inference.classify(signature_name, examples).classifications
        return encode_classifications([[(entry.label, entry.score) for entry in row.classes] for row in classified])

    def _servable(self, asked: _Asked) -> Servable:
        return self._repository.get(asked.name, asked.version, asked.label)

    def _inference(self, servable: Servable) -> Inference:
        return Inference(servable, self._timeout, self._metrics)


def _failure(error: Exception) -> tuple[str, int, bytes]:
    """Return the code, HTTP status and body of an error.

    The error itself is not returned, because its traceback keeps the servable that raised it in memory.
    """
    if not isinstance(error, ServingError):
        LOG.exception("a request failed because of an internal error")
    failure = from_exception(error)
    return failure.code, failure.http_status, encode_document({"error": failure.message})


def _read_path(method: str, path: str) -> _Asked:
    match = _ROUTES[method].fullmatch(path) if method in _ROUTES else None
    if match is None:
        raise ServingError("INVALID_ARGUMENT", f"Malformed request: {method} {path}")
    parts = {name: text or "" for name, text in match.groupdict().items()}
    return _Asked(
        unquote(parts["name"]),
        _version(parts["version"]),
        unquote(parts["label"]),
        parts.get("api", ""),
        parts.get("metadata") == "/metadata",
    )


def _version(digits: str) -> int | None:
    if not digits:
        return None
    if len(digits.lstrip("0")) > len(str(MAX_VERSION)) or int(digits) > MAX_VERSION:
        raise ServingError("INVALID_ARGUMENT", f"Failed to convert version: {digits} to numeric.")
    return int(digits)


def _check_origin(request: Request) -> None:
    """Check the origin of a CORS preflight request, which browsers send with the method OPTIONS."""
    origin = request.headers.get("Origin", "")
    if not re.search("https?://", origin):
        raise ServingError("FAILED_PRECONDITION", f"Origin: expected http:// or https://. Received: {origin!r:.80}")


def _input_types(servable: Servable, signature_name: str) -> dict[str, str]:
    signature = servable.signature_defs.get(signature_name or DEFAULT_SIGNATURE)
    if signature is None:
        raise ServingError(
            "INVALID_ARGUMENT",
            f'Serving signature name: "{signature_name or DEFAULT_SIGNATURE}" not found in signature def',
        )
    if not signature.inputs:
        raise ServingError("INVALID_ARGUMENT", f"Failed to get input map for signature: {signature_name or 'DEFAULT'}")
    return {alias: type_name(info.dtype) for alias, info in signature.inputs.items()}
