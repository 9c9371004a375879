"""The dot product of the query and each position."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.base import Score


@keras.saving.register_keras_serializable("seqattn_tf")
class DotScore(Score):
    """The dot-product score `e_j = q . h_j`. Values must be as wide as the query.

    >>> score = DotScore()
    >>> score.build((None, None, 2), (None, None, 2))
    >>> score(tf.ones([1, 1, 2]), score.prepare(tf.constant([[[1.0, 2.0], [3.0, 4.0]]]))).numpy().tolist()
    [[[3.0, 7.0]]]
    """

    name_in_registry = "dot"

    def build(self, query_shape: Any, values_shape: Any) -> None:
        """Check that query and values have the same width."""
        if query_shape[-1] != values_shape[-1]:
            raise ValueError(
                f"values: expected {query_shape[-1]} features, as in the query, for the score "
                f"{self.name_in_registry!r}. Received: {values_shape[-1]}"
            )
        self.built = True

    def prepare(self, values: tf.Tensor) -> tf.Tensor:
        """Return the values unchanged."""
        return values

    def call(self, query: tf.Tensor, keys: tf.Tensor, state: tuple = ()) -> tf.Tensor:
        return tf.matmul(query, keys, transpose_b=True)
