"""The signatures of an exported model, from its inputs and the methods that it declares."""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seqattn_tf.models import Model
from seqattn_tf.models.base import DEFAULT

TENSORS = "tensors"  # the signature without strings


class Signature(NamedTuple):
    """A function of a model with its inputs."""

    run: Callable[..., dict[str, tf.Tensor]]
    inputs: dict[str, tf.TensorSpec]


def signatures(model: Model) -> dict[str, Signature]:
    """Return all signatures: answers to strings, outputs for tensors, and those that the model declares."""
    raw = model.strings
    sent = {
        f"{name}_{part}": tf.TensorSpec(spec.shape, spec.dtype, f"{name}_{part}")
        for name, field in model.graph_inputs.items()
        for part, spec in field.wire.items()
    }
    found = {DEFAULT: Signature(model.serve, raw), TENSORS: Signature(model.serve_tensors, sent)}
    for name, texts in model.signatures.items():
        given = {text: tf.TensorSpec([None], tf.string, text) for text in texts}
        found[name] = Signature(_named(name, getattr(model, name)), {**raw, **given})
    return found


def _named(name: str, method: Callable[..., tf.Tensor]) -> Callable[..., dict[str, tf.Tensor]]:
    return lambda **inputs: {name: method(**inputs)}


def concrete(model: Model) -> dict[str, Any]:
    """Return the concrete functions by signature name."""
    return {name: model.traced(name, signature.run, signature.inputs) for name, signature in signatures(model).items()}


def edge_signature(model: Model, length: int = 0) -> Any:
    """Return the function of `potentials` for one row in LiteRT: no strings, no checks, and the weights as constants.

    LiteRT cannot read a variable inside a loop, so a stateless scope replaces each weight by its value.

    Args:
        model: The model.
        length: The length of all inputs, which are padded to it; 0 for inputs of any length.
    """
    weights = [(variable, tf.constant(variable.numpy())) for variable in model.network.variables]
    specs = {
        f"{name}_{part}": tf.TensorSpec(
            [1, *(size or length or None for size in spec.shape[1:])], spec.dtype, f"{name}_{part}"
        )
        for name, field in model.graph_inputs.items()
        for part, spec in field.tensors.items()
    }

    def tensors(**given: tf.Tensor) -> dict[str, tf.Tensor]:
        with keras.StatelessScope(state_mapping=weights):
            return model.potentials(given)

    return tf.function(tensors, autograph=False).get_concrete_function(**specs)
