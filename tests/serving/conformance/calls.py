"""How the cases ask, raw HTTP and the official stubs, and how an answer is compared with its row."""

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
    """The server that is asked."""

    rest_url: str
    grpc_address: str
    models: Path | None  # the folder of the models as the server sees it; None where nobody said


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
    """Status, headers and body of one request. A path that does not begin with / is below /v1/models/."""
    connection = http.client.HTTPConnection(target.rest_url.removeprefix("http://").rstrip("/"), timeout=SECONDS)
    try:
        connection.request(method, path if path.startswith("/") else f"/v1/models/{path}", body, headers or {})
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def rest(target: Target, method: str, path: str, body: str = "") -> tuple[int, Any]:
    """Status and parsed body of one request to the REST API, whose every answer is JSON and says so."""
    status, headers, raw = http_answer(target, method, path, body.encode() if method == "POST" else None)
    assert headers["Content-Type"] == "application/json"
    return status, spelled(raw.decode())


def spelled(text: str) -> Any:
    """A JSON text as a value in which decimals keep their spelling: 2.0 is not 2, and 0.2 is not 0.200000003."""
    return json.loads(text, parse_float=lambda token: ("decimal", token), parse_constant=lambda name: ("decimal", name))


def error(target: Target, method: str, path: str, body: str = "") -> tuple[int, str]:
    """Status and message of a request that is refused: the body has that one key."""
    status, document = rest(target, method, path, body)
    assert list(document) == ["error"], document
    return status, document["error"]


def refusal(method: Any, request: Any) -> tuple[str, str]:
    """Code and message of a gRPC call that is refused."""
    try:
        response = method(request, timeout=SECONDS)
    except grpc.RpcError as failure:
        return failure.code().name, failure.details()
    raise AssertionError(f"expected a refusal. Received: {response}")


def like(pattern: str, text: str) -> bool:
    """Whether a message is the one of a row, where `...` stands for anything.

    >>> like("JSON Parse error: ... at offset: 1", "JSON Parse error: Invalid value. at offset: 1")
    True
    """
    return re.fullmatch(".*".join(map(re.escape, pattern.split("..."))), text, re.DOTALL) is not None


def named(table: list[tuple]) -> list:
    """The rows of a table for `parametrize`; the first cell is the name of a case."""
    return [pytest.param(*row[1:], id=row[0]) for row in table]


def fill(spec: Any, model: str = "", signature: str = "", version: int | None = None, label: str = "") -> None:
    """Writes a ModelSpec; nothing at all where nothing is said."""
    if model or signature:
        spec.name, spec.signature_name = model, signature
    if version is not None:
        spec.version.value = version
    if label:
        spec.version_label = label


def predict(
    model: str, inputs: dict, signature: str = "", version: int | None = None, label: str = "", outputs: Any = ()
) -> predict_pb2.PredictRequest:
    """A PredictRequest. Lists of Python decimals are floats and of integers int32, as `tf.make_tensor_proto` has it."""
    request = predict_pb2.PredictRequest(output_filter=outputs)
    fill(request.model_spec, model, signature, version, label)
    for alias, value in inputs.items():
        proto = value if isinstance(value, tensor_pb2.TensorProto) else tf.make_tensor_proto(value)
        request.inputs[alias].CopyFrom(proto)
    return request


def values(proto: tensor_pb2.TensorProto) -> Any:
    """A tensor of a response as nested lists; strings stay bytes."""
    return tf.make_ndarray(proto).tolist()
