"""The bilinear score, scaled so that its magnitude does not grow with the width."""

import keras
import tensorflow as tf

from seqattn_tf.attention.scores.general import GeneralScore


@keras.saving.register_keras_serializable("seqattn_tf")
class ScaledGeneralScore(GeneralScore):
    """The scaled bilinear score `e_j = q . W h_j / sqrt(units)`, where `units` is the query width.

    Values may have any width.

    >>> score = ScaledGeneralScore()
    >>> score.build((None, None, 3), (None, None, 6))
    >>> score(tf.ones([2, 1, 3]), score.prepare(tf.ones([2, 5, 6]))).shape.as_list()
    [2, 1, 5]
    """

    name_in_registry = "scaled_general"

    def prepare(self, values: tf.Tensor) -> tf.Tensor:
        """Return `W h_j / sqrt(units)` for every position."""
        keys = super().prepare(values)
        return keys * keys.shape[-1] ** -0.5
