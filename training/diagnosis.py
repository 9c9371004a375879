"""Diagnosis of a loss that is not finite."""

from collections.abc import Callable, Iterator
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.training.tasks import Training


def diagnose(training: Training, epoch: int, step: int) -> str:
    """Describe the first non-finite value in the batch, the weights, the layer outputs or the gradient."""
    network = training.model.network
    inputs, right = next(iter(training.batches(epoch, step)))
    for name, tensor in inputs.items():
        if _wrong(tensor):
            return f"the input {name} of that batch contains NaN or infinity"
    for weight in network.weights:
        if _wrong(weight):
            return f"the weight {weight.path} contains NaN or infinity"
    found: list[str] = []
    with tf.GradientTape() as tape, _Watched(network, found.append):
        outputs = network(inputs, training=True)
        loss = network.compute_loss(x=inputs, y=right, y_pred=outputs, training=True)
    if found:
        return f"the layer {found[0]} outputs NaN or infinity for that batch"
    weights = network.trainable_variables
    for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
        if gradient is not None and _wrong(gradient):
            return f"the gradient of {weight.path} contains NaN or infinity for that batch"
    return "it depends on the random numbers of that batch (dropout or sampling)"


class _Watched:
    """A context that reports each layer with a non-finite output, innermost first."""

    def __init__(self, network: keras.Model, say: Callable[[str], Any]) -> None:
        self.layers, self.say = list(network._flatten_layers()), say

    def __enter__(self) -> None:
        for layer in self.layers:
            layer.__dict__["call"] = self._watch(layer.path, layer.call)

    def __exit__(self, *_: object) -> None:
        for layer in self.layers:
            layer.__dict__.pop("call", None)

    def _watch(self, name: str, call: Callable) -> Callable:
        def watched(*args: Any, **kwargs: Any) -> Any:
            outputs = call(*args, **kwargs)
            if any(_wrong(tensor) for tensor in _tensors(outputs)):
                self.say(name)
            return outputs

        return watched


def _tensors(outputs: Any) -> Iterator[tf.Tensor]:
    for value in tf.nest.flatten(outputs):
        if isinstance(value, tf.Tensor) and hasattr(value, "numpy"):
            yield value


def _wrong(value: Any) -> bool:
    """Return whether a value contains NaN or +inf. (-inf is valid, because masks use it.)"""
    tensor = tf.convert_to_tensor(value)
    if not tensor.dtype.is_floating:
        return False
    return bool(tf.reduce_any(tf.math.is_nan(tensor) | (tensor == float("inf"))))
