"""The gRPC client: the interface of `client.RestClient` over TF Serving's protos."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

from seqattn_tf.serving import DEFAULT_SIGNATURE
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.json_values import BYTES_SUFFIX
from seqattn_tf.serving.messages import SIGNATURE_DEF, to_document


class GrpcClient:
    """Asks a server by gRPC. Safe in threads.

    Args:
        address: `host:port`.
        timeout: seconds that an answer may take.
    """

    def __init__(self, address: str, timeout: float = 60.0):
        self.address = address
        self._timeout = timeout
        # The default limit of 4 MB is the client's, and an attention map of a batch may be larger.
        self._channel = grpc.insecure_channel(address, options=(("grpc.max_receive_message_length", -1),))
        self._predictions = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)
        self._models = model_service_pb2_grpc.ModelServiceStub(self._channel)
        self._dtypes: dict[tuple[str, int | None, str], dict[str, tf.DType]] = {}

    def predict(
        self,
        model: str,
        inputs: Mapping[str, Sequence[Any] | np.ndarray],
        version: int | None = None,
        signature_name: str = DEFAULT_SIGNATURE,
    ) -> dict[str, np.ndarray]:
        """Runs a signature on named inputs; see `RestClient.predict`."""
        key = (model, version, signature_name)
        dtypes = self._dtypes.get(key) or self._input_dtypes(*key)
        self._dtypes[key] = dtypes
        request = predict_pb2.PredictRequest()
        _fill(request.model_spec, model, version)
        request.model_spec.signature_name = signature_name
        for alias, value in inputs.items():
            request.inputs[alias].CopyFrom(_proto(alias, value, dtypes.get(alias)))
        try:
            response = self._call(self._predictions.Predict, request)
        except ServingError:
            self._dtypes.pop(key, None)  # a version with other inputs may have come in
            raise
        return {alias: _text(alias, tf.make_ndarray(proto)) for alias, proto in response.outputs.items()}

    def status(self, model: str) -> dict[str, Any]:
        """The versions of a model and their states, in the form of the REST API."""
        request = get_model_status_pb2.GetModelStatusRequest()
        _fill(request.model_spec, model)
        return to_document(self._call(self._models.GetModelStatus, request))

    def metadata(self, model: str) -> dict[str, Any]:
        """The signatures of a model, in the form of the REST API."""
        return to_document(self._metadata(model))

    def close(self) -> None:
        """Closes the channel."""
        self._channel.close()

    def _metadata(self, model: str, version: int | None = None) -> get_model_metadata_pb2.GetModelMetadataResponse:
        request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=[SIGNATURE_DEF])
        _fill(request.model_spec, model, version)
        return self._call(self._predictions.GetModelMetadata, request)

    def _input_dtypes(self, model: str, version: int | None, signature_name: str) -> dict[str, tf.DType]:
        """What each input must be: a list of numbers alone does not say int32 or int64."""
        signatures = get_model_metadata_pb2.SignatureDefMap()
        self._metadata(model, version).metadata[SIGNATURE_DEF].Unpack(signatures)
        if signature_name not in signatures.signature_def:
            return {}  # the server has the right words for this
        inputs = signatures.signature_def[signature_name].inputs
        return {alias: tf.as_dtype(info.dtype) for alias, info in inputs.items()}

    def _call(self, method: Callable[..., Any], request: Any) -> Any:
        try:
            return method(request, timeout=self._timeout)
        except grpc.RpcError as error:
            code, details = error.code().name, error.details()
            if code == "UNAVAILABLE":
                details = f"expected a model server at grpc://{self.address}. Received: {details!r}"
            raise ServingError(code, details) from error


def _fill(spec: Any, model: str, version: int | None = None) -> None:
    spec.name = model
    if version is not None:
        spec.version.value = version


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
