"""A constant score: every position matches equally well."""

import keras
import tensorflow as tf

from seqattn_tf.attention.base import Score


@keras.saving.register_keras_serializable("seqattn_tf")
class AverageScore(Score):
    """The constant score `e_j = 0`, a baseline that ignores content: softmax then averages the unmasked values.

    >>> score = AverageScore()
    >>> score.build((None, None, 3), (None, None, 6))
    >>> score(tf.ones([1, 1, 3]), score.prepare(tf.ones([1, 2, 6]))).numpy().tolist()
    [[[0.0, 0.0]]]
    """

    name_in_registry = "average"

    def prepare(self, values: tf.Tensor) -> tf.Tensor:
        """Return zeros `[batch, source, 1]`."""
        return tf.zeros_like(values[:, :, :1])

    def call(self, query: tf.Tensor, keys: tf.Tensor, state: tuple = ()) -> tf.Tensor:
        return tf.zeros_like(query[:, :, :1]) + tf.linalg.matrix_transpose(keys)
