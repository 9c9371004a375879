"""The location-aware additive score: it depends on the previous attention weights."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.base import first_kept
from seqattn_tf.attention.scores.additive import AdditiveScore
from seqattn_tf.core.linear import linear
from seqattn_tf.core.registry import check_count


@keras.saving.register_keras_serializable("seqattn_tf")
class LocationScore(AdditiveScore):
    """The location-aware score `e_tj = v^T tanh(U q_t + W h_j + L f_tj)`, where `f_t = F * alpha_{t-1}`.

    `F` is a convolution along the source, so what it learns ("two to the right of the last position") holds at every
    position, including positions beyond the lengths in the training data. Before the first query, the previous weights
    are 1 at the first unmasked position, so that the first step is like all others. Reference: Chorowski et al., 2015.

    Args:
        units: The width of the hidden layer.
        filters: The number of filters in `F`.
        width: The width of a filter in positions.
        **kwargs: `normalize`, as in `AdditiveScore`.

    >>> score = LocationScore(4, filters=2, width=3)
    >>> score.build((None, None, 3), (None, None, 6))
    >>> state = score.initial_state(tf.ones([2, 5], tf.bool), tf.float32)
    >>> score(tf.ones([2, 1, 3]), score.prepare(tf.ones([2, 5, 6])), state).shape.as_list()
    [2, 1, 5]
    """

    name_in_registry = "location"

    def __init__(self, units: int = 128, filters: int = 16, width: int = 15, **kwargs: Any) -> None:
        super().__init__(units, **kwargs)
        if not isinstance(width, int) or width < 1 or width % 2 == 0:
            raise ValueError(f"width: expected a positive odd number of positions. Received: {width!r}")
        self.filters, self.width = check_count("filters", filters), width

    def build(self, query_shape: Any, values_shape: Any) -> None:
        """Create `F`, `L` and the weights of the additive score."""
        super().build(query_shape, values_shape)
        self.filter_kernel = self.add_weight(name="filter_kernel", shape=(self.width, 1, self.filters))
        self.feature_kernel = self.add_weight(name="feature_kernel", shape=(self.filters, self.units))

    def initial_state(self, mask: tf.Tensor, dtype: tf.DType) -> tuple[tf.Tensor]:
        """Return weights `[batch, source]` that are 1 at the first unmasked position."""
        return (first_kept(mask, dtype),)

    def seen(self, keys: tf.Tensor, state: tuple) -> tf.Tensor:
        """Return `W h_j + L f_j`."""
        (last,) = state
        filters = tf.cast(self.filter_kernel, keys.dtype)
        features = tf.nn.conv1d(tf.expand_dims(last, 2), filters, stride=1, padding="SAME")
        return keys + linear(features, self.feature_kernel)

    def remember(self, state: tuple, weights: tf.Tensor) -> tuple[tf.Tensor]:
        """Store the weights for the next query."""
        return (weights,)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "filters": self.filters, "width": self.width}
