"""TensorFlow Serving's gRPC services: handlers for a server, and calls for a client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf import message_factory

from seqattn_tf.serving.protos import POOL

PREDICTION = "tensorflow.serving.PredictionService"
MODEL = "tensorflow.serving.ModelService"


def handler(service: str, servicer: object) -> grpc.GenericRpcHandler:
    """Return a handler that answers each method of a service by the method of `servicer` with the same name."""
    methods = {}
    for method in POOL.FindServiceByName(service).methods:
        request, response = map(message_factory.GetMessageClass, (method.input_type, method.output_type))
        methods[method.name] = grpc.unary_unary_rpc_method_handler(
            getattr(servicer, method.name),
            request_deserializer=request.FromString,
            response_serializer=response.SerializeToString,
        )
    return grpc.method_handlers_generic_handler(service, methods)


def call(channel: grpc.Channel, service: str, name: str) -> Callable[..., Any]:
    """Return a function that calls a method of a service on a channel."""
    method = POOL.FindServiceByName(service).methods_by_name[name]
    request, response = map(message_factory.GetMessageClass, (method.input_type, method.output_type))
    return channel.unary_unary(
        f"/{service}/{name}", request_serializer=request.SerializeToString, response_deserializer=response.FromString
    )
