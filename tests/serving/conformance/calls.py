"""Calls of the conformance suite, by raw HTTP and the official stubs, and comparisons with the expected results."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow_serving.apis import model_service_pb2_grpc, predict_pb2, prediction_service_pb2_grpc

SECONDS = 30


@dataclass(frozen=True)
class Target:
    """The server under test."""

    rest_url: str
    grpc_address: str
    models: Path | None  # the folder of the models as the server accesses it; None if it was not given


@dataclass(frozen=True)
class Stubs:
    """The official stubs on one channel."""

    channel: grpc.Channel
    predictions: prediction_service_pb2_grpc.PredictionServiceStub
    models: model_service_pb2_grpc.ModelServiceStub


@contextlib.contextmanager
def connected(address: str) -> Iterator[Stubs]:
    with grpc.insecure_channel(address) as channel:
        predictions = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        yield Stubs(channel, predictions, model_service_pb2_grpc.ModelServiceStub(channel))


def http_answer(target: Target, method: str, path: str, body: bytes | None = None, headers: Any = None) -> Any:
    """Return status, headers and body of one request. A path that does not begin with / is relative to /v1/models/."""
    connection = http.client.HTTPConnection(target.rest_url.removeprefix("http://").rstrip("/"), timeout=SECONDS)
    try:
        connection.request(method, path if path.startswith("/") else f"/v1/models/{path}", body, headers or {})
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def rest(target: Target, method: str, path: str, body: str = "") -> tuple[int, Any]:
    """Return status and parsed body of one request to the REST API; every response must be JSON, by its headers too."""
    status, headers, raw = http_answer(target, method, path, body.encode() if method == "POST" else None)
    assert headers["Content-Type"] == "application/json"
    return status, spelled(raw.decode()) if raw else None


def spelled(text: str) -> Any:
    """Parse a JSON text, keeping the spelling of decimals: 2.0 is not 2, and 0.2 is not 0.200000003."""
    return json.loads(text, parse_float=lambda token: ("decimal", token), parse_constant=lambda name: ("decimal", name))


def error(target: Target, method: str, path: str, body: str = "") -> tuple[int, str]:
    """Return status and message of a rejected request, which must be the only key of the body; "" for no body."""
    status, document = rest(target, method, path, body)
    if document is None:
        return status, ""
    assert list(document) == ["error"], document
    return status, document["error"]


def refusal(method: Any, request: Any) -> tuple[str, str]:
    """Return code and message of a rejected gRPC call."""
    try:
        response = method(request, timeout=SECONDS)
    except grpc.RpcError as failure:
        return failure.code().name, failure.details()
    raise AssertionError(f"expected a refusal. Received: {response}")


def like(pattern: str, text: str) -> bool:
    """Return whether a message matches a pattern, in which `...` matches any text.

    >>> like("JSON Parse error: ... at offset: 1", "JSON Parse error: Invalid value. at offset: 1")
    True
    """
    return re.fullmatch(".*".join(map(re.escape, pattern.split("..."))), text, re.DOTALL) is not None


def named(table: list[tuple]) -> list:
    """Return the rows of a table for `parametrize`; the first cell is the name of the case."""
    return [pytest.param(*row[1:], id=row[0]) for row in table]


def fill(spec: Any, model: str = "", signature: str = "", version: int | None = None, label: str = "") -> None:
    """Fill in a ModelSpec with the given values only."""
    if model or signature:
        spec.name, spec.signature_name = model, signature
    if version is not None:
        spec.version.value = version
    if label:
        spec.version_label = label


def predict(
    model: str, inputs: dict, signature: str = "", version: int | None = None, label: str = "", outputs: Any = ()
) -> predict_pb2.PredictRequest:
    """Return a PredictRequest. Lists of floats are float and lists of integers int32, as in `tf.make_tensor_proto`."""
    request = predict_pb2.PredictRequest(output_filter=outputs)
    fill(request.model_spec, model, signature, version, label)
    for alias, value in inputs.items():
        proto = value if isinstance(value, tensor_pb2.TensorProto) else tf.make_tensor_proto(value)
        request.inputs[alias].CopyFrom(proto)
    return request


def values(proto: tensor_pb2.TensorProto) -> Any:
    """Return a tensor of a response as nested lists; strings remain bytes."""
    return tf.make_ndarray(proto).tolist()
