"""The dot product of query and place."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.base import Score


@keras.saving.register_keras_serializable("seqattn_tf")
class DotScore(Score):
    """`e_j = q . h_j`, for values as wide as the query.

    >>> score = DotScore()
    >>> score.build((None, None, 2), (None, None, 2))
    >>> score(tf.ones([1, 1, 2]), score.prepare(tf.constant([[[1.0, 2.0], [3.0, 4.0]]]))).numpy().tolist()
    [[[3.0, 7.0]]]
    """

    name_in_registry = "dot"

    def build(self, query_shape: Any, values_shape: Any) -> None:
        """Nothing to learn; the widths must agree."""
        if query_shape[-1] != values_shape[-1]:
            raise ValueError(
                f"values: expected the width of the query, {query_shape[-1]}, for the score "
                f"{self.name_in_registry!r}. Received: {values_shape[-1]}"
            )
        self.built = True

    def prepare(self, values: tf.Tensor) -> tf.Tensor:
        """The values themselves."""
        return values

    def call(self, query: tf.Tensor, keys: tf.Tensor, state: tuple = ()) -> tf.Tensor:
        """`[batch, queries, units], [batch, source, units] -> [batch, queries, source]`."""
        return tf.matmul(query, keys, transpose_b=True)
