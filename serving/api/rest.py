"""TF Serving's REST API (all paths below `/v1/`) as a function from request to reply; the sockets are in `front`."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple
from urllib.parse import unquote

from seqattn_tf.serving import DEFAULT_SIGNATURE
from seqattn_tf.serving.api.examples import input_from_json
from seqattn_tf.serving.api.exchange import LargeWork, Reply, Request, Work, finish
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
from seqattn_tf.serving.api.request_limits import check_json, check_reply, check_rows
from seqattn_tf.serving.errors import ServingError, deadline_exceeded, from_exception
from seqattn_tf.serving.limits import NO_LIMITS, Limits
from seqattn_tf.serving.models.repository import ModelRepository
from seqattn_tf.serving.models.servable import Servable
from seqattn_tf.serving.models.version_folders import MAX_VERSION
from seqattn_tf.serving.protos import Input

LOG = logging.getLogger(__name__)
_CORS_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET",
    "Access-Control-Allow-Headers": "Content-Type",
}
_SMALL_BODY = 4096  # bytes that are read within a few milliseconds, whatever they are
_LARGE_REPLY = 50_000  # values that are written within some hundredths of a second
_NAME = r"/(?P<name>[^/:]+)"
_VERSION = r"(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
# Paths are case-insensitive, except for the name of the API.
_API = r":(?P<api>(?-i:predict|classify|regress))"
_ROUTES = {
    "POST": re.compile(rf"/v1/models{_NAME}{_VERSION}{_API}", re.IGNORECASE | re.ASCII),
    "GET": re.compile(rf"/v1/models(?:{_NAME})?{_VERSION}(?P<metadata>/metadata)?", re.IGNORECASE | re.ASCII),
}


class _VersionError(ServingError):
    """The error for a version that is no int64, to which TF Serving replies without a body."""


_Step = Callable[[], "bytes | _Step | LargeWork"]


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
        timeout: The maximum number of seconds between the arrival of a request and its reply; 0 for no limit.
        cors: Whether pages of other sites may send requests.
        with_token: Whether they must send a token.
        limits: The limits of requests and replies; none by default.
    """

    def __init__(
        self,
        repository: ModelRepository,
        metrics: Metrics | None = None,
        timeout: float = 30.0,
        cors: bool = False,
        limits: Limits | None = None,
        with_token: bool = False,
    ):
        self.repository = repository
        self.metrics = metrics or Metrics()
        self.limits = limits or NO_LIMITS
        self.headers = _CORS_HEADERS if cors else {}
        if cors and with_token:
            self.headers = {**_CORS_HEADERS, "Access-Control-Allow-Headers": "Content-Type, Authorization"}
        self._timeout = timeout if timeout > 0 else None

    def handle(self, request: Request) -> Reply:
        """Return the reply to a request; never raises."""
        return finish(self.begin(request))

    def begin(self, request: Request) -> Reply | Work | LargeWork:
        """Return the reply to a request, or the rest of the work if that may take more than a few milliseconds."""
        exchange = _Exchange(self, request, None if self._timeout is None else request.arrived + self._timeout)
        if len(request.body) > _SMALL_BODY:
            return partial(exchange.reply, exchange.read)
        return exchange.reply(exchange.read)


class _Exchange:
    """One request on its way to a reply.

    Args:
        api: The API.
        request: The request.
        end: The time at which the reply must be complete; None for no limit.
    """

    def __init__(self, api: RestApi, request: Request, end: float | None):
        self._api = api
        self._request = request
        self._end = end
        self._asked = _Asked()
        self._start = time.perf_counter()

    def reply(self, compute: Callable[[], bytes | _Step | LargeWork]) -> Reply | Work | LargeWork:
        """Return the reply with a computed body or the error of its computation, or the rest of the computation."""
        status, code = "OK", 200
        try:
            body = compute()
        except Exception as error:
            status, code, body = _failure(error)
            body = b"" if self._request.method == "OPTIONS" or isinstance(error, _VersionError) else body
        if isinstance(body, LargeWork):
            return LargeWork(partial(self.reply, body.run))
        if not isinstance(body, bytes):
            return partial(self.reply, body)
        asked = self._asked
        self._api.metrics.answered(asked.name, asked.api, "REST", status, time.perf_counter() - self._start)
        return Reply(code, body, headers=self._api.headers)

    def read(self) -> bytes | _Step | LargeWork:
        """Read the request and return the body of the reply, or the step that leads to it."""
        if self._request.method == "OPTIONS":
            _check_origin(self._request)
            return b""
        self._asked = asked = _read_path(self._request.method, self._request.target)
        if asked.api:
            # The body is parsed before the model is looked up: invalid JSON is an error 400 even if the model does not
            # exist.
            check_json(self._request.body, self._api.limits, self._api.metrics.limited)
            document = parse_document(self._request.body, self._check_time)
            signature_name = read_signature_name(document)
            if asked.api == "predict":
                return self._predict(document, signature_name)
            return partial(self._infer, input_from_json(document), signature_name)
        if not asked.name:
            raise ServingError("INVALID_ARGUMENT", "Missing model name in request.")
        return self._describe

    def _describe(self) -> bytes:
        asked = self._asked
        if asked.metadata:
            return encode_document(to_document(metadata_message(self._servable())))
        # The status ignores labels, even unknown ones: it always includes every version.
        return encode_document(to_document(status_message(self._api.repository.status(asked.name, asked.version))))

    def _predict(self, document: dict[str, Any], signature_name: str) -> bytes | _Step | LargeWork:
        servable = self._servable()
        row, inputs = decode_inputs(document, _input_types(servable, signature_name))
        check_rows(inputs, self._api.limits, self._api.metrics.limited)

        quick = servable.quick_run(signature_name, inputs)

        def run() -> bytes | _Step | LargeWork:
            outputs = self._inference(servable).predict(signature_name, inputs, quick=quick)
            values = check_reply(outputs, self._api.limits, self._api.metrics.limited)
            encode = partial(encode_outputs, outputs, row, self._check_time)
            return encode() if values < _LARGE_REPLY else LargeWork(encode)

        return run if quick is None else run()

    def _infer(self, examples: Input, signature_name: str) -> bytes:
        inference = self._inference(self._servable())
        if self._asked.api == "regress":
            result = inference.regress(signature_name, examples)
            return encode_regressions([regression.value for regression in result.regressions])
        classified = inference.classify(signature_name, examples).classifications
        return encode_classifications([[(entry.label, entry.score) for entry in row.classes] for row in classified])

    def _servable(self) -> Servable:
        return self._api.repository.get(self._asked.name, self._asked.version, self._asked.label)

    def _inference(self, servable: Servable) -> Inference:
        """Return the inference on a servable, with the time that is left for this request."""
        self._check_time()
        left = None if self._end is None else self._end - time.monotonic()
        return Inference(servable, left, self._api.metrics)

    def _check_time(self) -> None:
        if self._end is not None and time.monotonic() > self._end:
            raise deadline_exceeded()


def _failure(error: Exception) -> tuple[str, int, bytes]:
    """Return the code, HTTP status and body of an error.

    The error itself is not returned, because its traceback keeps the servable that raised it in memory.
    """
    if not isinstance(error, ServingError):
        LOG.exception("a request failed because of an internal error")
    failure = from_exception(error)
    return failure.code, failure.http_status, encode_document({"error": failure.message})


@lru_cache(maxsize=1024)
def _read_path(method: str, target: str) -> _Asked:
    """Parse the path of a request. As in TF Serving, a query is part of the last name in it."""
    match = _ROUTES[method].fullmatch(target) if method in _ROUTES else None
    if match is None:
        raise ServingError("INVALID_ARGUMENT", f"Malformed request: {method} {target}")
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
        raise _VersionError("INVALID_ARGUMENT", f"Failed to convert version: {digits} to numeric.")
    return int(digits)


def _check_origin(request: Request) -> None:
    """Check the origin of a CORS preflight request, which browsers send with the method OPTIONS."""
    origin = request.headers.get("Origin", "")
    if not re.search("https?://", origin):
        raise ServingError("FAILED_PRECONDITION", f"Origin: expected http:// or https://. Received: {origin!r:.80}")


def _input_types(servable: Servable, signature_name: str) -> dict[str, str]:
    types = servable.input_types.get(signature_name or DEFAULT_SIGNATURE)
    if types is None:
        raise ServingError(
            "INVALID_ARGUMENT",
            f'Serving signature name: "{signature_name or DEFAULT_SIGNATURE}" not found in signature def',
        )
    if not types:
        raise ServingError("INVALID_ARGUMENT", f"Failed to get input map for signature: {signature_name or 'DEFAULT'}")
    return types
