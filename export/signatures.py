"""The signatures of an exported model, from the methods every model has."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.models import Model

STRINGS = tf.TensorSpec([None], tf.string)


def signatures(model: Model) -> dict[str, Any]:
    """Concrete functions by signature name: `serving_default`, `tensors` and `log_likelihood`."""

    def serving_default(text: tf.Tensor) -> dict[str, tf.Tensor]:
        return model.serve(text)

    def tensors(ids: tf.Tensor, lengths: tf.Tensor) -> dict[str, tf.Tensor]:
        return model.serve_tensors(ids, lengths)

    def log_likelihood(text: tf.Tensor, answer: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"log_likelihood": model.log_likelihood(text, answer)}

    ids, lengths = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int32)
    return {
        "serving_default": tf.function(serving_default, autograph=False).get_concrete_function(STRINGS),
        "tensors": tf.function(tensors, autograph=False).get_concrete_function(ids, lengths),
        "log_likelihood": tf.function(log_likelihood, autograph=False).get_concrete_function(STRINGS, STRINGS),
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
