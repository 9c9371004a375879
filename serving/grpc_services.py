"""TF Serving's gRPC services over a repository, on the official protos.

Methods that are not written here answer UNIMPLEMENTED: the generated base classes do that.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import grpc
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from seqattn_tf.serving import DEFAULT_SIGNATURE
from seqattn_tf.serving.errors import ServingError, from_exception
from seqattn_tf.serving.messages import SIGNATURE_DEF, metadata_message, status_message
from seqattn_tf.serving.repository import ModelRepository, VersionStatus
from seqattn_tf.serving.servable import Servable

LOG = logging.getLogger(__name__)
Response = TypeVar("Response")

# TF Serving writes outputs into the typed field of the proto, and clients read that field by name.
_VALUE_FIELDS = {
    tf.float32: "float_val",
    tf.float64: "double_val",
    tf.int8: "int_val",
    tf.int16: "int_val",
    tf.int32: "int_val",
    tf.uint8: "int_val",
    tf.uint16: "int_val",
    tf.int64: "int64_val",
    tf.uint32: "uint32_val",
    tf.uint64: "uint64_val",
    tf.bool: "bool_val",
    tf.string: "string_val",
}


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Predict and GetModelMetadata.

    Args:
        repository: where the models are.
    """

    def __init__(self, repository: ModelRepository):
        self._repository = repository

    def Predict(self, request: predict_pb2.PredictRequest, context: grpc.ServicerContext) -> Any:
        """Runs a signature on the tensors of a request."""
        return _answer(context, self._predict, request)

    def GetModelMetadata(
        self, request: get_model_metadata_pb2.GetModelMetadataRequest, context: grpc.ServicerContext
    ) -> Any:
        """Tells the signatures of a model."""
        return _answer(context, self._metadata, request)

    def _predict(self, request: predict_pb2.PredictRequest) -> predict_pb2.PredictResponse:
        servable = _servable(self._repository, request)
        signature_name = request.model_spec.signature_name or DEFAULT_SIGNATURE
        inputs = {alias: _array(alias, proto) for alias, proto in request.inputs.items()}
        outputs = servable.predict(signature_name, inputs, list(request.output_filter))
        response = predict_pb2.PredictResponse()
        response.model_spec.name = servable.name
        response.model_spec.version.value = servable.version
        response.model_spec.signature_name = signature_name
        for alias, tensor in outputs.items():
            _write(tensor, response.outputs[alias])
        return response

    def _metadata(
        self, request: get_model_metadata_pb2.GetModelMetadataRequest
    ) -> get_model_metadata_pb2.GetModelMetadataResponse:
        _check_spec(request)
        if not request.metadata_field:
            raise ServingError("INVALID_ARGUMENT", "GetModelMetadataRequest must specify at least one metadata_field")
        for field in request.metadata_field:
            if field != SIGNATURE_DEF:
                raise ServingError("INVALID_ARGUMENT", f"Metadata field {field} is not supported")
        return metadata_message(_servable(self._repository, request))


class ModelService(model_service_pb2_grpc.ModelServiceServicer):
    """GetModelStatus.

    Args:
        repository: where the models are.
    """

    def __init__(self, repository: ModelRepository):
        self._repository = repository

    def GetModelStatus(self, request: get_model_status_pb2.GetModelStatusRequest, context: grpc.ServicerContext) -> Any:
        """Tells the state of a model's versions."""
        return _answer(context, lambda request: status_message(self._versions(request)), request)

    def _versions(self, request: get_model_status_pb2.GetModelStatusRequest) -> list[VersionStatus]:
        _check_spec(request)
        return self._repository.status(request.model_spec.name, _version(request.model_spec))


def _answer(context: grpc.ServicerContext, method: Callable[[Any], Response], request: Any) -> Response:
    """Runs a method; its error becomes the status of the call."""
    try:
        return method(request)
    except ServingError as error:
        failure = error
    except Exception as error:
        LOG.exception("a request failed for a reason of the server's own")
        failure = from_exception(error)
    context.abort(grpc.StatusCode[failure.code], failure.grpc_details)
    raise failure  # abort has raised; this tells the reader so


def _check_spec(request: Any) -> None:
    if not request.HasField("model_spec"):
        raise ServingError("INVALID_ARGUMENT", "Missing ModelSpec")


def _servable(repository: ModelRepository, request: Any) -> Servable:
    _check_spec(request)
    spec = request.model_spec
    if not spec.name:
        raise ServingError("INVALID_ARGUMENT", "ModelSpec has no name specified.")
    if spec.version_label:
        raise ServingError("INVALID_ARGUMENT", f"Unrecognized servable version label: {spec.version_label}")
    return repository.get(spec.name, _version(spec))


def _version(spec: model_pb2.ModelSpec) -> int | None:
    return spec.version.value if spec.HasField("version") else None


def _array(alias: str, proto: tensor_pb2.TensorProto) -> np.ndarray:
    shape = proto.tensor_shape
    try:
        if shape.unknown_rank or any(dim.size < 0 for dim in shape.dim):
            raise ValueError(f"expected known sizes. Received: {shape}")
        return tf.make_ndarray(proto)
    except (ValueError, TypeError, MemoryError):
        raise ServingError("INVALID_ARGUMENT", f"tensor parsing error: {alias}") from None


def _write(tensor: tf.Tensor, proto: tensor_pb2.TensorProto) -> None:
    array = tensor.numpy()
    if tensor.dtype not in _VALUE_FIELDS:
        proto.CopyFrom(tf.make_tensor_proto(array, tensor.dtype, tensor.shape))
        return
    proto.dtype = tensor.dtype.as_datatype_enum
    proto.tensor_shape.CopyFrom(tensor.shape.as_proto())
    getattr(proto, _VALUE_FIELDS[tensor.dtype]).extend(np.ravel(array).tolist())
