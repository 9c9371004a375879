"""Requests on one servable: predict, classify, regress and several of the latter two at once, checked and counted."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow_serving.apis import classification_pb2, inference_pb2, input_pb2, model_pb2, regression_pb2

from seqattn_tf.serving import DEFAULT_SIGNATURE
from seqattn_tf.serving.api.examples import serialized_examples
from seqattn_tf.serving.api.metrics import Metrics
from seqattn_tf.serving.errors import ServingError, invalid
from seqattn_tf.serving.models.servable import Servable

_CLASSIFY = tf.saved_model.CLASSIFY_METHOD_NAME
_REGRESS = tf.saved_model.REGRESS_METHOD_NAME
_INPUTS, _OUTPUTS = tf.saved_model.REGRESS_INPUTS, tf.saved_model.REGRESS_OUTPUTS  # classify has the same `inputs`
_CLASSES, _SCORES = tf.saved_model.CLASSIFY_OUTPUT_CLASSES, tf.saved_model.CLASSIFY_OUTPUT_SCORES


class Inference(NamedTuple):
    """One servable, asked within a time and counted.

    Every method raises ServingError with TF Serving's code and message.

    Args:
        servable: the version that answers.
        timeout: seconds that one run may take; None for no limit.
        metrics: where runs and examples are counted.
    """

    servable: Servable
    timeout: float | None = None
    metrics: Metrics | None = None

    def predict(
        self, signature_name: str, inputs: Mapping[str, np.ndarray], output_filter: Sequence[str] = ()
    ) -> dict[str, np.ndarray]:
        """Runs a signature on named tensors; see `Servable.predict`."""
        return self._timed("Predict", signature_name, inputs, output_filter)

    def classify(self, signature_name: str, request: input_pb2.Input) -> classification_pb2.ClassificationResult:
        """The classes and scores of each example."""
        outputs = _classification_outputs(self._signature(signature_name, "classification", _CLASSIFY))
        examples = serialized_examples(request)
        tensors = self._timed("Classify", signature_name, _as_input(examples), outputs)
        self._count(examples)
        return _classifications(tensors, len(examples))

    def regress(self, signature_name: str, request: input_pb2.Input) -> regression_pb2.RegressionResult:
        """The value of each example."""
        outputs = _regression_outputs(self._signature(signature_name, "regression", _REGRESS))
        examples = serialized_examples(request)
        tensors = self._timed("Regress", signature_name, _as_input(examples), outputs)
        return _regressions(tensors[_OUTPUTS], len(examples))

    def multi(
        self, tasks: Sequence[inference_pb2.InferenceTask], request: input_pb2.Input
    ) -> inference_pb2.MultiInferenceResponse:
        """Every task on the same examples and the same version; all tasks are checked before one runs."""
        wanted = {}
        for task in tasks:
            name = task.model_spec.signature_name or DEFAULT_SIGNATURE
            _check_model(task.model_spec.name, tasks[0].model_spec.name)
            if name in wanted:
                raise invalid(f"Duplicate evaluation of signature: {name}")
            wanted[name] = self._task_outputs(name, task.method_name)
        examples = serialized_examples(request)
        inputs = _as_input(examples)
        tensors = {name: self._run(name, inputs, outputs) for name, outputs in wanted.items()}
        self._count(examples)
        response = inference_pb2.MultiInferenceResponse()
        for task, (name, outputs) in zip(tasks, tensors.items(), strict=True):
            result = response.results.add(model_spec=self.model_spec(name))
            if task.method_name == _CLASSIFY:
                result.classification_result.CopyFrom(_classifications(outputs, len(examples)))
            else:
                result.regression_result.CopyFrom(_regressions(outputs[_OUTPUTS], len(examples)))
        return response

    def model_spec(self, signature_name: str) -> model_pb2.ModelSpec:
        """What answered: the part that every response carries."""
        spec = model_pb2.ModelSpec(name=self.servable.name, signature_name=signature_name or DEFAULT_SIGNATURE)
        spec.version.value = self.servable.version
        return spec

    def _signature(self, signature_name: str, kind: str, method_name: str) -> meta_graph_pb2.SignatureDef:
        name = signature_name or DEFAULT_SIGNATURE
        if name not in self.servable.signature_defs:
            raise invalid(f"No signature was found with the name: {name}")
        return self._check_method(self.servable.signature_defs[name], kind, method_name)

    def _task_outputs(self, name: str, method_name: str) -> list[str]:
        if name not in self.servable.signature_defs:
            raise invalid(f"Requested signature not found in model graph: {name}")
        signature = self.servable.signature_defs[name]
        if method_name == _CLASSIFY:
            return _classification_outputs(self._check_method(signature, "classification", _CLASSIFY))
        if method_name == _REGRESS:
            return _regression_outputs(self._check_method(signature, "regression", _REGRESS))
        raise ServingError("UNIMPLEMENTED", f"Unsupported signature method_name: {method_name}")

    def _check_method(
        self, signature: meta_graph_pb2.SignatureDef, kind: str, method_name: str
    ) -> meta_graph_pb2.SignatureDef:
        """`tf.saved_model.save` calls every signature `predict`, so the name is looked at only where that is wanted."""
        if self.servable.check_method_names and signature.method_name != method_name:
            raise invalid(f"Expected {kind} signature method_name to be {method_name}. Was: {signature.method_name}")
        return signature

    def _run(self, name: str, inputs: Mapping[str, np.ndarray], outputs: Sequence[str]) -> dict:
        return self.servable.predict(name, inputs, outputs, self.timeout)

    def _timed(
        self, api: str, name: str, inputs: Mapping[str, np.ndarray], outputs: Sequence[str]
    ) -> dict[str, np.ndarray]:
        start = time.perf_counter()
        tensors = self._run(name, inputs, outputs)
        if self.metrics is not None:
            self.metrics.ran(self.servable.name, api, time.perf_counter() - start)
        return tensors

    def _count(self, examples: Sequence[bytes]) -> None:
        if self.metrics is not None:
            self.metrics.examples(self.servable.name, len(examples))


def _as_input(examples: list[bytes]) -> dict[str, np.ndarray]:
    return {_INPUTS: np.array(examples, np.object_)}


def _check_model(name: str, first: str) -> None:
    if not name:
        raise invalid("Found ModelSpec with an empty model name.")
    if name != first:
        raise invalid("All ModelSpecs in a MultiInferenceRequest must access the same model name.")


def _classification_outputs(signature: meta_graph_pb2.SignatureDef) -> list[str]:
    """The outputs to ask for: classes, scores or both."""
    if len(signature.inputs) != 1:
        raise invalid("Expected one input Tensor.")
    if len(signature.outputs) not in (1, 2):
        raise invalid(f"Expected one or two output Tensors, found {len(signature.outputs)}")
    if _INPUTS not in signature.inputs:
        raise invalid(f"No classification inputs found in SignatureDef: {signature}")
    outputs = [alias for alias in (_CLASSES, _SCORES) if alias in signature.outputs]
    if not outputs:
        raise invalid(
            "Expected classification signature outputs to contain at least one of "
            f'"{_CLASSES}" or "{_SCORES}". Signature was: {signature}'
        )
    return outputs


def _regression_outputs(signature: meta_graph_pb2.SignatureDef) -> list[str]:
    if len(signature.inputs) != 1:
        raise invalid("Expected one input Tensor.")
    if len(signature.outputs) != 1:
        raise invalid("Expected one output Tensor.")
    if _INPUTS not in signature.inputs:
        raise invalid(f"No regression inputs found in SignatureDef: {signature}")
    if _OUTPUTS not in signature.outputs:
        raise invalid(f"No regression outputs found in SignatureDef: {signature}")
    return [_OUTPUTS]


def _classifications(arrays: Mapping[str, np.ndarray], batch: int) -> classification_pb2.ClassificationResult:
    classes, scores = arrays.get(_CLASSES), arrays.get(_SCORES)
    for name, array, dtype in ((_CLASSES, classes, np.object_), (_SCORES, scores, np.float32)):
        if array is not None:
            _check_table(name, array, np.dtype(dtype), batch)
    if classes is not None and scores is not None and classes.shape != scores.shape:
        raise invalid(
            f"Tensors class and score should match in dim_size(1). Got {classes.shape[1]} vs. {scores.shape[1]}"
        )
    # labels, values: [batch, classes]
    shape = (arrays[_SCORES] if classes is None else classes).shape
    labels = np.full(shape, b"", np.object_) if classes is None else classes
    values: np.ndarray = np.zeros(shape) if scores is None else scores
    result = classification_pb2.ClassificationResult()
    for row in zip(labels.tolist(), values.tolist(), strict=True):
        result.classifications.add(classes=_classes(zip(*row, strict=True)))
    return result


def _classes(pairs: Iterable[tuple[bytes, float]]) -> list[classification_pb2.Class]:
    return [classification_pb2.Class(label=label.decode("utf-8", "replace"), score=score) for label, score in pairs]


def _check_table(name: str, array: np.ndarray, dtype: np.dtype, batch: int) -> None:
    if array.ndim != 2:
        raise invalid(f"Expected Tensor shape: [batch_size num_classes] but got {_brackets(array)}")
    if array.dtype != dtype:
        raise invalid(f"Expected {name} Tensor of {_dtype_name(dtype)}. Got: {_dtype_name(array.dtype)}")
    if len(array) != batch:
        raise invalid(f"Expected {name} output batch size of {batch}. Got: {len(array)}")


def _regressions(array: np.ndarray, batch: int) -> regression_pb2.RegressionResult:
    if not (array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1)):
        raise invalid(
            f"Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got {_brackets(array)}"
        )
    if len(array) != batch:
        raise invalid(f"Input batch size did not match output batch size: {batch} vs. {len(array)}")
    if array.dtype != np.float32:
        raise invalid(f"Expected output Tensor of DT_FLOAT.  Got: {_dtype_name(array.dtype)}")
    values = array.ravel().tolist()
    return regression_pb2.RegressionResult(regressions=[regression_pb2.Regression(value=value) for value in values])


def _brackets(array: np.ndarray) -> str:
    return "[" + ",".join(map(str, array.shape)) + "]"


def _dtype_name(dtype: np.dtype) -> str:
    return types_pb2.DataType.Name(tf.as_dtype(dtype).as_datatype_enum)
