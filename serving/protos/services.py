"""TensorFlow Serving's gRPC services: methods for a server, and calls for a client."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import grpc
from google.protobuf import message_factory
from google.protobuf.message import DecodeError

from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.protos import POOL

PREDICTION = "tensorflow.serving.PredictionService"
MODEL = "tensorflow.serving.ModelService"


def methods(service: str, servicer: object) -> dict[str, Callable[[bytes, float | None], Any]]:
    """Return the methods of a service, by their path, as functions from an encoded request and its deadline.

    They return the encoded response of the method of `servicer` with the same name, or a step that leads to it.
    """

    def serve(answer: Callable[..., Any], parse: Callable[[bytes], Any], message: bytes, end: float | None) -> Any:
        try:
            request = parse(message)
        except DecodeError:  # with the status of any gRPC server in Python
            raise ServingError("INTERNAL", "Exception deserializing request!") from None
        return _encoded(answer(request, end))

    found: dict[str, Callable[[bytes, float | None], Any]] = {}
    for method in POOL.FindServiceByName(service).methods:
        request = message_factory.GetMessageClass(method.input_type)
        found[f"/{service}/{method.name}"] = partial(serve, getattr(servicer, method.name), request.FromString)
    return found


def _encoded(answer: Any) -> Any:
    """Return an encoded response, or the step that leads to it."""
    return (lambda: _encoded(answer())) if callable(answer) else answer.SerializeToString()


def call(channel: grpc.Channel, service: str, name: str) -> Callable[..., Any]:
    """Return a function that calls a method of a service on a channel."""
    method = POOL.FindServiceByName(service).methods_by_name[name]
    request, response = map(message_factory.GetMessageClass, (method.input_type, method.output_type))
    return channel.unary_unary(
        f"/{service}/{name}", request_serializer=request.SerializeToString, response_deserializer=response.FromString
    )
