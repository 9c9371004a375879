"""The signatures of an exported model, from the methods every model has."""

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.models import Model

STRINGS = tf.TensorSpec([None], tf.string)


def forms(model: Model) -> dict[str, Callable[..., dict[str, tf.Tensor]]]:
    """What a model does under each signature, as Python functions of named tensors."""

    def serving_default(text: tf.Tensor) -> dict[str, tf.Tensor]:
        return model.serve(text)

    def tensors(ids: tf.Tensor, lengths: tf.Tensor) -> dict[str, tf.Tensor]:
        return model.serve_tensors(ids, lengths)

    def log_likelihood(text: tf.Tensor, answer: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"log_likelihood": model.log_likelihood(text, answer)}

    return {"serving_default": serving_default, "tensors": tensors, "log_likelihood": log_likelihood}


def signatures(model: Model) -> dict[str, Any]:
    """Concrete functions by signature name: `serving_default`, `tensors` and `log_likelihood`."""
    ids, lengths = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int32)
    specs = {"serving_default": [STRINGS], "tensors": [ids, lengths], "log_likelihood": [STRINGS, STRINGS]}
    return {
        name: tf.function(form, autograph=False).get_concrete_function(*specs[name])
        for name, form in forms(model).items()
    }


def edge_signature(model: Model) -> Any:
    """The `tensors` form for LiteRT: one row whose length is that of its ids, and the weights as constants.

    LiteRT cannot read a variable inside a loop; a stateless scope puts each weight's value in its place.
    """
    weights = [(variable, tf.constant(variable.numpy())) for variable in model.network.variables]

    def tensors(ids: tf.Tensor) -> dict[str, tf.Tensor]:
        with keras.StatelessScope(state_mapping=weights):
            return model.serve_ids(ids)

    return tf.function(tensors, autograph=False).get_concrete_function(tf.TensorSpec([1, None], tf.int32, "ids"))
