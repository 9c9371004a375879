"""The dot product, scaled so that its magnitude does not grow with the width."""

import keras
import tensorflow as tf

from seqattn_tf.attention.scores.dot import DotScore


@keras.saving.register_keras_serializable("seqattn_tf")
class ScaledDotScore(DotScore):
    """The scaled dot-product score `e_j = q . h_j / sqrt(units)`.

    >>> score = ScaledDotScore()
    >>> score.build((None, None, 4), (None, None, 4))
    >>> score(tf.ones([1, 1, 4]), score.prepare(tf.ones([1, 2, 4]))).numpy().tolist()
    [[[2.0, 2.0]]]
    """

    name_in_registry = "scaled_dot"

    def prepare(self, values: tf.Tensor) -> tf.Tensor:
        """Return `h_j / sqrt(units)`."""
        return values * values.shape[-1] ** -0.5
