"""The bilinear score: a dot product after a trainable linear map."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.scores.dot import DotScore
from seqattn_tf.core.linear import linear


@keras.saving.register_keras_serializable("seqattn_tf")
class GeneralScore(DotScore):
    """The bilinear score `e_j = q . W h_j`, for values of any width.

    >>> score = GeneralScore()
    >>> score.build((None, None, 3), (None, None, 6))
    >>> score(tf.ones([2, 1, 3]), score.prepare(tf.ones([2, 5, 6]))).shape.as_list()
    [2, 1, 5]
    """

    name_in_registry = "general"

    def build(self, query_shape: Any, values_shape: Any) -> None:
        self.kernel = self.add_weight(name="kernel", shape=(values_shape[-1], query_shape[-1]))
        self.built = True

    def prepare(self, values: tf.Tensor) -> tf.Tensor:
        """Return `W h_j` for every position."""
        return linear(values, self.kernel)
