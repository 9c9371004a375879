"""The gRPC client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import grpc
import numpy as np

from seqattn_tf.serving import protos
from seqattn_tf.serving.api.json_text import BYTES_SUFFIX
from seqattn_tf.serving.api.messages import SIGNATURE_DEF, to_document
from seqattn_tf.serving.client.base import Client, ClientOptions, ModelVersion
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.protos.services import MODEL, PREDICTION, call
from seqattn_tf.serving.protos.tensors import dtype_of, read_tensor, write_tensor

# Kinds of numbers, each of which converts to itself and to those with a higher rank. V is the kind of bfloat16.
_KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}


class GrpcClient(Client):
    """A client that uses gRPC.

    Args:
        address: The address, `host:port`.
        tls: Whether to connect with TLS.
        **options: See `base.ClientOptions`.
    """

    def __init__(self, address: str, tls: bool = False, **options: Any):
        super().__init__(address, ClientOptions(**options))
        # The client's default limit is 4 MB, but the attention maps of a batch may be larger.
        of_channel = (
            ("grpc.max_receive_message_length", -1),
            ("grpc.initial_reconnect_backoff_ms", 100),  # the default of 1 s would be longer than all our attempts
            ("grpc.min_reconnect_backoff_ms", 100),
        )
        if tls:
            trusted = Path(self.options.ca_file).read_bytes() if self.options.ca_file else None
            self._channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(trusted), of_channel)
        else:
            self._channel = grpc.insecure_channel(address, of_channel)
        self._headers = [("authorization", f"Bearer {self.options.token}")] if self.options.token else []
        self._predict_call = call(self._channel, PREDICTION, "Predict")
        self._metadata_call = call(self._channel, PREDICTION, "GetModelMetadata")
        self._status_call = call(self._channel, MODEL, "GetModelStatus")
        self._dtypes: dict[tuple[ModelVersion, str], dict[str, int]] = {}

    def close(self) -> None:
        self._channel.close()

    def _predict(self, asked: ModelVersion, inputs: Mapping[str, Any], signature_name: str, timeout: float) -> dict:
        key = (asked, signature_name)
        dtypes = self._dtypes.get(key) or self._input_dtypes(*key, timeout)
        self._dtypes[key] = dtypes
        request = protos.PredictRequest()
        _fill(request.model_spec, asked)
        request.model_spec.signature_name = signature_name
        for alias, value in inputs.items():
            write_tensor(_array(alias, value, dtypes.get(alias)), request.inputs[alias])
        try:
            response = self._call(self._predict_call, request, timeout)
        except ServingError:
            self._dtypes.pop(key, None)  # a new version may have different inputs
            raise
        return {alias: _text(alias, read_tensor(alias, proto)) for alias, proto in response.outputs.items()}

    def _status(self, asked: ModelVersion, timeout: float) -> dict[str, Any]:
        request = protos.GetModelStatusRequest()
        _fill(request.model_spec, asked)
        return to_document(self._call(self._status_call, request, timeout))

    def _metadata(self, asked: ModelVersion, timeout: float) -> dict[str, Any]:
        return to_document(self._signatures(asked, timeout))

    def _signatures(self, asked: ModelVersion, timeout: float) -> protos.GetModelMetadataResponse:
        request = protos.GetModelMetadataRequest(metadata_field=[SIGNATURE_DEF])
        _fill(request.model_spec, asked)
        return self._call(self._metadata_call, request, timeout)

    def _input_dtypes(self, asked: ModelVersion, signature_name: str, timeout: float) -> dict[str, int]:
        """Return the dtypes of the inputs, because numbers alone do not determine whether a list is int32 or int64."""
        signatures = protos.SignatureDefMap()
        self._signatures(asked, timeout).metadata[SIGNATURE_DEF].Unpack(signatures)
        if signature_name not in signatures.signature_def:
            return {}  # the server will then return a suitable error
        inputs = signatures.signature_def[signature_name].inputs
        return {alias: info.dtype for alias, info in inputs.items()}

    def _call(self, method: Callable[..., Any], request: Any, timeout: float) -> Any:
        try:
            return method(request, timeout=timeout, metadata=self._headers)
        except grpc.RpcError as error:
            code, details = error.code().name, error.details() or ""
            if code in ("UNAVAILABLE", "CANCELLED"):  # this client cancels no calls, but a server that stops does
                code = "UNAVAILABLE"
                details = f"expected a model server at grpc://{self.address}. Received: {details!r}"
            raise ServingError(code, details) from error


def _fill(spec: Any, asked: ModelVersion) -> None:
    spec.name = asked.model
    if asked.label:
        spec.version_label = asked.label
    elif asked.version is not None:
        spec.version.value = asked.version


def _array(alias: str, value: Any, number: int | None) -> np.ndarray:
    """Return a value as an array of the dtype with this number in protos, or of its own dtype if there is none."""
    dtype = dtype_of(number) if number else _own_dtype(value)
    try:
        if dtype == np.object_:
            return _strings(value)
        array = np.asarray(value)
        if array.size and _KINDS.get(array.dtype.kind, 9) > _KINDS[dtype.kind]:
            raise TypeError(f"an array of {array.dtype}")
        return np.array(value, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        wanted = "a single type" if number is None else "string" if dtype == np.object_ else dtype.name
        raise ServingError(
            "INVALID_ARGUMENT",
            f"{alias}: expected a rectangular array of {wanted}. Received: {str(error).splitlines()[0]}",
        ) from error


def _own_dtype(value: Any) -> np.dtype:
    """Return the dtype of a value for which the server names none: Python's numbers have 32 bits, as in TensorFlow."""
    if isinstance(value, np.ndarray) and value.dtype.kind not in "US":
        return value.dtype
    kinds = {type(element) for element in np.array(value, np.object_).flat}
    if kinds and kinds <= {int, float}:
        return np.dtype(np.float32 if float in kinds else np.int32)
    return np.dtype(np.bool_ if kinds == {bool} else np.object_)


def _strings(value: Any) -> np.ndarray:
    array = np.array(value, np.object_)
    for element in array.flat:
        if not isinstance(element, str | bytes):
            raise TypeError(f"{element!r:.80}")
    found = np.empty(array.size, np.object_)
    found[:] = [element.encode() if isinstance(element, str) else bytes(element) for element in array.flat]
    return found.reshape(array.shape)


def _text(alias: str, array: np.ndarray) -> np.ndarray:
    """Decode strings to `str`, as in the REST client, unless the name of the output ends in `_bytes`."""
    if array.dtype != np.object_ or alias.endswith(BYTES_SUFFIX):
        return array
    decoded = np.empty(array.size, np.object_)
    decoded[:] = [value.decode("utf-8", "replace") for value in array.ravel()]
    return decoded.reshape(array.shape)
