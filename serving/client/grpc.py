"""The gRPC client, over TF Serving's protos."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from seqattn_tf.serving.api.json_text import BYTES_SUFFIX
from seqattn_tf.serving.api.messages import SIGNATURE_DEF, to_document
from seqattn_tf.serving.client.base import Client, ClientOptions, ModelVersion
from seqattn_tf.serving.errors import ServingError


class GrpcClient(Client):
    """Asks by gRPC.

    Args:
        address: `host:port`.
        tls: whether the server has a certificate.
        **options: see `base.ClientOptions`.
    """

    def __init__(self, address: str, tls: bool = False, **options: Any):
        super().__init__(address, ClientOptions(**options))
        # The default limit of 4 MB is the client's, and an attention map of a batch may be larger.
        of_channel = (
            ("grpc.max_receive_message_length", -1),
            ("grpc.initial_reconnect_backoff_ms", 100),  # else a second: longer than all our tries
            ("grpc.min_reconnect_backoff_ms", 100),
        )
        if tls:
            trusted = self.options.ca_file.read_bytes() if self.options.ca_file else None
            self._channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(trusted), of_channel)
        else:
            self._channel = grpc.insecure_channel(address, of_channel)
        self._headers = [("authorization", f"Bearer {self.options.token}")] if self.options.token else []
        self._predictions = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)
        self._models = model_service_pb2_grpc.ModelServiceStub(self._channel)
        self._dtypes: dict[tuple[ModelVersion, str], dict[str, tf.DType]] = {}

    def close(self) -> None:
        """Closes the channel."""
        self._channel.close()

    def _predict(self, asked: ModelVersion, inputs: Mapping[str, Any], signature_name: str, timeout: float) -> dict:
        key = (asked, signature_name)
        dtypes = self._dtypes.get(key) or self._input_dtypes(*key, timeout)
        self._dtypes[key] = dtypes
        request = predict_pb2.PredictRequest()
        _fill(request.model_spec, asked)
        request.model_spec.signature_name = signature_name
        for alias, value in inputs.items():
            request.inputs[alias].CopyFrom(_proto(alias, value, dtypes.get(alias)))
        try:
            response = self._call(self._predictions.Predict, request, timeout)
        except ServingError:
            self._dtypes.pop(key, None)  # a version with other inputs may have come in
            raise
        return {alias: _text(alias, tf.make_ndarray(proto)) for alias, proto in response.outputs.items()}

    def _status(self, asked: ModelVersion, timeout: float) -> dict[str, Any]:
        request = get_model_status_pb2.GetModelStatusRequest()
        _fill(request.model_spec, asked)
        return to_document(self._call(self._models.GetModelStatus, request, timeout))

    def _metadata(self, asked: ModelVersion, timeout: float) -> dict[str, Any]:
        return to_document(self._signatures(asked, timeout))

    def _signatures(self, asked: ModelVersion, timeout: float) -> get_model_metadata_pb2.GetModelMetadataResponse:
        request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=[SIGNATURE_DEF])
        _fill(request.model_spec, asked)
        return self._call(self._predictions.GetModelMetadata, request, timeout)

    def _input_dtypes(self, asked: ModelVersion, signature_name: str, timeout: float) -> dict[str, tf.DType]:
        """What each input must be: a list of numbers alone does not say int32 or int64."""
        signatures = get_model_metadata_pb2.SignatureDefMap()
        self._signatures(asked, timeout).metadata[SIGNATURE_DEF].Unpack(signatures)
        if signature_name not in signatures.signature_def:
            return {}  # the server has the right words for this
        inputs = signatures.signature_def[signature_name].inputs
        return {alias: tf.as_dtype(info.dtype) for alias, info in inputs.items()}

    def _call(self, method: Callable[..., Any], request: Any, timeout: float) -> Any:
        try:
            return method(request, timeout=timeout, metadata=self._headers)
        except grpc.RpcError as error:
            code, details = error.code().name, error.details() or ""
            if code in ("UNAVAILABLE", "CANCELLED"):  # we cancel nothing: a server that stops does
                code = "UNAVAILABLE"
                details = f"expected a model server at grpc://{self.address}. Received: {details!r}"
            raise ServingError(code, details) from error


def _fill(spec: Any, asked: ModelVersion) -> None:
    spec.name = asked.model
    if asked.label:
        spec.version_label = asked.label
    elif asked.version is not None:
        spec.version.value = asked.version


def _proto(alias: str, value: Any, dtype: tf.DType | None) -> Any:
    try:
        return tf.make_tensor_proto(value, dtype)
    except (TypeError, ValueError) as error:
        wanted = dtype.name if dtype else "one type"
        raise ServingError(
            "INVALID_ARGUMENT", f"{alias}: expected full rows of {wanted}. Received: {str(error).splitlines()[0]}"
        ) from error


def _text(alias: str, array: np.ndarray) -> np.ndarray:
    """Strings as `str`, as the REST client gives them, unless the name says bytes."""
    if array.dtype != np.object_ or alias.endswith(BYTES_SUFFIX):
        return array
    decoded = np.empty(array.size, np.object_)
    decoded[:] = [value.decode("utf-8", "replace") for value in array.ravel()]
    return decoded.reshape(array.shape)
