"""One loaded version of a model: its signatures, ready to be called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  registers the text ops that exported graphs contain
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from seqattn_tf.serving import DEFAULT_SIGNATURE
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.models.batching import Batcher
from seqattn_tf.serving.models.calls import Call, Gone


class Servable:
    """A SavedModel in memory. It lives as long as a request holds it.

    Args:
        name: the model's name in the repository.
        version: its version number.
        path: the folder of `saved_model.pb`.
        batcher: brings requests together; None runs each alone.
    """

    def __init__(self, name: str, version: int, path: Path, batcher: Batcher | None = None):
        self.name = name
        self.version = version
        self.signature_defs = _read_signature_defs(path)
        self._loaded = tf.saved_model.load(str(path))  # owns the variables that the functions only refer to
        # The map of the file also holds entries without a function (the initialiser of Keras exports).
        self._alone = {
            key: Call.of_signature(self._loaded.signatures[key])
            for key in self.signature_defs
            if key in self._loaded.signatures
        }
        self._batcher = batcher
        self._together = {key: batcher.batched(call) for key, call in self._alone.items()} if batcher else {}

    def predict(
        self,
        signature_name: str,
        inputs: Mapping[str, np.ndarray | tf.Tensor],
        output_filter: Sequence[str] = (),
        timeout: float | None = None,
        gone: Gone | None = None,
    ) -> dict[str, tf.Tensor]:
        """Runs one signature on a batch.

        Args:
            signature_name: a signature of the model; empty for `serving_default`.
            inputs: one tensor for each input of the signature, of its dtype. Shapes are left to the graph,
                as TF Serving does.
            output_filter: the outputs wanted; empty for all.
            timeout: seconds after which the answer is of no use; None for any time.
            gone: tells when nobody waits for the answer any more.

        Raises:
            ServingError: with TF Serving's code and message.
        """
        name = signature_name or DEFAULT_SIGNATURE
        if name not in self._alone:
            raise ServingError("FAILED_PRECONDITION", f'Serving signature key "{name}" not found.')
        signature = self.signature_defs[name]
        _check_names(signature, inputs)
        _check_filter(signature, output_filter)
        tensors = {alias: _tensor(alias, info, inputs[alias]) for alias, info in signature.inputs.items()}
        outputs = self._run(name, tensors, timeout, gone)
        return {alias: outputs[alias] for alias in output_filter or sorted(signature.outputs)}

    def _run(
        self, name: str, tensors: dict[str, tf.Tensor], timeout: float | None, gone: Gone | None
    ) -> dict[str, tf.Tensor]:
        rows = {tensor.shape[0] if tensor.shape.rank else 0 for tensor in tensors.values()}
        # Nothing to bring together where there are no rows, or not the same number of them everywhere.
        if self._batcher is None or len(rows) > 1 or 0 in rows:
            return self._alone[name](tensors, timeout, gone)
        self._batcher.check(*rows)
        try:
            return self._together[name](tensors, timeout, gone)
        except ServingError as error:
            if error.code != "INVALID_ARGUMENT":
                raise
            # The fault may be another request's: only its sender shall hear of it.
            return self._alone[name](tensors, timeout, gone)


def type_name(dtype: int) -> str:
    """TF Serving's spelling of a `DataType`: `DT_FLOAT` is `float`, `DT_STRING` is `string`."""
    return types_pb2.DataType.Name(dtype).removeprefix("DT_").lower()


def _read_signature_defs(path: Path) -> dict[str, meta_graph_pb2.SignatureDef]:
    """Reads the signatures from the file itself, so that metadata is what was exported, to the letter."""
    model = saved_model_pb2.SavedModel()
    model.ParseFromString((path / "saved_model.pb").read_bytes())
    for graph in model.meta_graphs:
        if tf.saved_model.SERVING in graph.meta_info_def.tags:
            return dict(graph.signature_def)
    tags = [list(graph.meta_info_def.tags) for graph in model.meta_graphs]
    raise ServingError("NOT_FOUND", f"expected a graph with the tag {tf.saved_model.SERVING!r}. Received: {tags}")


def _check_names(signature: meta_graph_pb2.SignatureDef, inputs: Mapping[str, object]) -> None:
    sent, required = set(inputs), set(signature.inputs)
    if len(sent) != len(required):
        raise ServingError(
            "INVALID_ARGUMENT",
            f"input size does not match signature: {len(sent)}!={len(required)} "
            f"len({_braces(sent)}) != len({_braces(required)}). "
            f"Sent extra: {_braces(sent - required)}. Missing but required: {_braces(required - sent)}.",
        )
    for alias in sorted(sent - required):
        raise ServingError(
            "INVALID_ARGUMENT",
            f"input tensor alias not found in signature: {alias}. "
            f"Inputs expected to be in the set {_braces(required)}.",
        )


def _check_filter(signature: meta_graph_pb2.SignatureDef, output_filter: Sequence[str]) -> None:
    for position, alias in enumerate(output_filter):
        if alias not in signature.outputs:
            raise ServingError(
                "INVALID_ARGUMENT",
                f"output tensor alias not found in signature: {alias} "
                f"Outputs expected to be in the set {_braces(set(signature.outputs))}.",
            )
        if alias in output_filter[:position]:
            raise ServingError("INVALID_ARGUMENT", f"duplicate output tensor alias: {alias}")


def _tensor(alias: str, info: meta_graph_pb2.TensorInfo, value: np.ndarray | tf.Tensor) -> tf.Tensor:
    expected = tf.dtypes.as_dtype(info.dtype)
    if isinstance(value, tf.Tensor) and value.dtype == expected:
        return value
    received = tf.dtypes.as_dtype(value.dtype)
    if received != expected:
        raise ServingError(
            "INVALID_ARGUMENT",
            f"Expects input {alias} to be {type_name(expected.as_datatype_enum)} "
            f"but {type_name(received.as_datatype_enum)} is provided",
        )
    return tf.constant(value, expected)


def _braces(names: set[str]) -> str:
    return "{" + ",".join(sorted(names)) + "}"
