"""The cosine similarity of the query and each position."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.scores.dot import DotScore


def unit_length(vectors: tf.Tensor) -> tf.Tensor:
    """Scale the vectors of the last axis to length one; zero vectors remain zero.

    >>> unit_length(tf.constant([[3.0, 4.0], [0.0, 0.0]])).numpy().round(3).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    wide = tf.cast(vectors, tf.float32) if vectors.dtype.size < 4 else vectors
    return tf.cast(tf.math.l2_normalize(wide, axis=-1), vectors.dtype)


@keras.saving.register_keras_serializable("seqattn_tf")
class CosineScore(DotScore):
    """The cosine score `e_j = s * q . h_j / (|q| |h_j|)` with a trainable scale `s`, for values as wide as the query.

    Args:
        strength: The initial value of `s`. Plain cosines lie between -1 and 1, too close together for a softmax.

    >>> score = CosineScore(strength=2.0)
    >>> score.build((None, None, 2), (None, None, 2))
    >>> score(tf.constant([[[3.0, 0.0]]]), score.prepare(tf.constant([[[5.0, 0.0], [0.0, 1.0]]]))).numpy().tolist()
    [[[2.0, 0.0]]]
    """

    name_in_registry = "cosine"

    def __init__(self, strength: float = 10.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.strength = strength

    def build(self, query_shape: Any, values_shape: Any) -> None:
        """Create `s`."""
        super().build(query_shape, values_shape)
        self.scale = self.add_weight(name="scale", shape=(), initializer=keras.initializers.Constant(self.strength))

    def prepare(self, values: tf.Tensor) -> tf.Tensor:
        """Return the values scaled to length one."""
        return unit_length(values)

    def call(self, query: tf.Tensor, keys: tf.Tensor, state: tuple = ()) -> tf.Tensor:
        return super().call(unit_length(query), keys) * tf.cast(self.scale, query.dtype)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "strength": self.strength}
