"""The additive score with coverage: it depends on how much attention each position has already received."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.scores.additive import AdditiveScore


@keras.saving.register_keras_serializable("seqattn_tf")
class CoverageScore(AdditiveScore):
    """The coverage score `e_tj = v^T tanh(U q_t + W h_j + w c_tj)`, where `c_tj = sum_{i < t} alpha_ij`.

    Reference: See, Liu and Manning, 2017.

    Args:
        units: The width of the hidden layer.
        normalize: See `AdditiveScore`.

    >>> score = CoverageScore(4)
    >>> score.build((None, None, 3), (None, None, 6))
    >>> state = score.initial_state(tf.ones([1, 2], tf.bool), tf.float32)
    >>> (covered,) = score.remember(score.remember(state, tf.constant([[0.5, 0.5]])), tf.constant([[0.0, 1.0]]))
    >>> covered.numpy().tolist()
    [[0.5, 1.5]]
    """

    name_in_registry = "coverage"

    def build(self, query_shape: Any, values_shape: Any) -> None:
        """Create `w` and the weights of the additive score."""
        super().build(query_shape, values_shape)
        self.coverage_kernel = self.add_weight(name="coverage_kernel", shape=(1, self.units))

    def initial_state(self, mask: tf.Tensor, dtype: tf.DType) -> tuple[tf.Tensor]:
        """Return a coverage of zero, `[batch, source]`."""
        return (tf.zeros_like(mask, dtype),)

    def seen(self, keys: tf.Tensor, state: tuple) -> tf.Tensor:
        """Return `W h_j + w c_j`."""
        (covered,) = state
        return keys + tf.expand_dims(covered, 2) * tf.cast(self.coverage_kernel, keys.dtype)

    def remember(self, state: tuple, weights: tf.Tensor) -> tuple[tf.Tensor]:
        """Add the weights to the coverage."""
        return (state[0] + weights,)
