"""Checked and measured requests on one servable: predict, classify, regress, and several classify and regress tasks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from seqattn_tf.serving import CLASSIFY_METHOD, DEFAULT_SIGNATURE, REGRESS_METHOD, protos
from seqattn_tf.serving.api.examples import serialized_examples
from seqattn_tf.serving.api.metrics import Metrics
from seqattn_tf.serving.errors import ServingError, invalid
from seqattn_tf.serving.models.servable import Servable
from seqattn_tf.serving.protos.tensors import dtype_number

_INPUTS, _OUTPUTS, _CLASSES, _SCORES = "inputs", "outputs", "classes", "scores"  # as TensorFlow names them


class Inference(NamedTuple):
    """Inference on one servable with a time limit and metrics.

    Every method raises ServingError with TF Serving's code and message.

    Args:
        servable: The version that runs the requests.
        timeout: The maximum number of seconds of one run; None for no limit.
        metrics: The metrics that count runs and examples.
    """

    servable: Servable
    timeout: float | None = None
    metrics: Metrics | None = None

    def predict(
        self,
        signature_name: str,
        inputs: Mapping[str, np.ndarray],
        output_filter: Sequence[str] = (),
        quick: Callable[[], dict[str, np.ndarray]] | None = None,
    ) -> dict[str, np.ndarray]:
        """Run a signature on named tensors; see `Servable.predict`, and for `quick` see `Servable.quick_run`."""
        return self._timed("Predict", signature_name, inputs, output_filter, quick)

    def classify(self, signature_name: str, request: protos.Input) -> protos.ClassificationResult:
        """Return the classes and scores of each example."""
        outputs = _classification_outputs(self._signature(signature_name, "classification", CLASSIFY_METHOD))
        examples = serialized_examples(request)
        tensors = self._timed("Classify", signature_name, _as_input(examples), outputs)
        self._count(examples)
        return _classifications(tensors, len(examples))

    def regress(self, signature_name: str, request: protos.Input) -> protos.RegressionResult:
        """Return the value of each example."""
        outputs = _regression_outputs(self._signature(signature_name, "regression", REGRESS_METHOD))
        examples = serialized_examples(request)
        tensors = self._timed("Regress", signature_name, _as_input(examples), outputs)
        return _regressions(tensors[_OUTPUTS], len(examples))

    def multi(self, tasks: Sequence[protos.InferenceTask], request: protos.Input) -> protos.MultiInferenceResponse:
        """Run every task on the same examples and the same version; all tasks are checked before the first one runs."""
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
        response = protos.MultiInferenceResponse()
        for task, (name, outputs) in zip(tasks, tensors.items(), strict=True):
            result = response.results.add(model_spec=self.model_spec(name))
            if task.method_name == CLASSIFY_METHOD:
                result.classification_result.CopyFrom(_classifications(outputs, len(examples)))
            else:
                result.regression_result.CopyFrom(_regressions(outputs[_OUTPUTS], len(examples)))
        return response

    def model_spec(self, signature_name: str) -> protos.ModelSpec:
        """Return the model specification that is part of every response: name, version and signature."""
        spec = protos.ModelSpec(name=self.servable.name, signature_name=signature_name or DEFAULT_SIGNATURE)
        spec.version.value = self.servable.version
        return spec

    def _signature(self, signature_name: str, kind: str, method_name: str) -> protos.SignatureDef:
        name = signature_name or DEFAULT_SIGNATURE
        if name not in self.servable.signature_defs:
            raise invalid(f"No signature was found with the name: {name}")
        return self._check_method(self.servable.signature_defs[name], kind, method_name)

    def _task_outputs(self, name: str, method_name: str) -> list[str]:
        if name not in self.servable.signature_defs:
            raise invalid(f"Requested signature not found in model graph: {name}")
        signature = self.servable.signature_defs[name]
        if method_name == CLASSIFY_METHOD:
            return _classification_outputs(self._check_method(signature, "classification", CLASSIFY_METHOD))
        if method_name == REGRESS_METHOD:
            return _regression_outputs(self._check_method(signature, "regression", REGRESS_METHOD))
        raise ServingError("UNIMPLEMENTED", f"Unsupported signature method_name: {method_name}")

    def _check_method(self, signature: protos.SignatureDef, kind: str, method_name: str) -> protos.SignatureDef:
        """Check the method name of a signature if the servable requires it.

        `tf.saved_model.save` uses the method name `predict` for every signature, so the check is optional.
        """
        if self.servable.check_method_names and signature.method_name != method_name:
            raise invalid(f"Expected {kind} signature method_name to be {method_name}. Was: {signature.method_name}")
        return signature

    def _run(self, name: str, inputs: Mapping[str, np.ndarray], outputs: Sequence[str]) -> dict:
        return self.servable.predict(name, inputs, outputs, self.timeout)

    def _timed(
        self,
        api: str,
        name: str,
        inputs: Mapping[str, np.ndarray],
        outputs: Sequence[str],
        quick: Callable[[], dict[str, np.ndarray]] | None = None,
    ) -> dict[str, np.ndarray]:
        start = time.perf_counter()
        tensors = self._run(name, inputs, outputs) if quick is None else quick()
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


def _classification_outputs(signature: protos.SignatureDef) -> list[str]:
    """Check the signature and return the names of the outputs to compute: classes, scores or both."""
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


def _regression_outputs(signature: protos.SignatureDef) -> list[str]:
    if len(signature.inputs) != 1:
        raise invalid("Expected one input Tensor.")
    if len(signature.outputs) != 1:
        raise invalid("Expected one output Tensor.")
    if _INPUTS not in signature.inputs:
        raise invalid(f"No regression inputs found in SignatureDef: {signature}")
    if _OUTPUTS not in signature.outputs:
        raise invalid(f"No regression outputs found in SignatureDef: {signature}")
    return [_OUTPUTS]


def _classifications(arrays: Mapping[str, np.ndarray], batch: int) -> protos.ClassificationResult:
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
    result = protos.ClassificationResult()
    for row in zip(labels.tolist(), values.tolist(), strict=True):
        result.classifications.add(classes=_classes(zip(*row, strict=True)))
    return result


def _classes(pairs: Iterable[tuple[bytes, float]]) -> list[protos.Class]:
    return [protos.Class(label=label.decode("utf-8", "replace"), score=score) for label, score in pairs]


def _check_table(name: str, array: np.ndarray, dtype: np.dtype, batch: int) -> None:
    if array.ndim != 2:
        raise invalid(f"Expected Tensor shape: [batch_size num_classes] but got {_brackets(array)}")
    if array.dtype != dtype:
        raise invalid(f"Expected {name} Tensor of {_dtype_name(dtype)}. Got: {_dtype_name(array.dtype)}")
    if len(array) != batch:
        raise invalid(f"Expected {name} output batch size of {batch}. Got: {len(array)}")


def _regressions(array: np.ndarray, batch: int) -> protos.RegressionResult:
    if not (array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1)):
        raise invalid(
            f"Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got {_brackets(array)}"
        )
    if len(array) != batch:
        raise invalid(f"Input batch size did not match output batch size: {batch} vs. {len(array)}")
    if array.dtype != np.float32:
        raise invalid(f"Expected output Tensor of DT_FLOAT.  Got: {_dtype_name(array.dtype)}")
    values = array.ravel().tolist()
    return protos.RegressionResult(regressions=[protos.Regression(value=value) for value in values])


def _brackets(array: np.ndarray) -> str:
    return "[" + ",".join(map(str, array.shape)) + "]"


def _dtype_name(dtype: np.dtype) -> str:
    return protos.DataType(dtype_number(dtype)).name
