"""The base class of sparse alignments, which give most positions a weight of zero: a threshold found by sorting."""

import tensorflow as tf

from seqattn_tf.attention.base import Alignment
from seqattn_tf.core.masking import bounded
from seqattn_tf.structured.base import floats


class SparseAlignment(Alignment):
    """A sparse alignment `alpha_j = max(z_j - tau, 0)^power`, `z = scale * e`; `tau` makes the weights sum to one.

    The positions above the threshold are a prefix of the positions sorted by score. For a given prefix length, `tau`
    has a closed form in the mean and the mean square of the prefix; the right length is the largest at which the
    smallest element of the prefix still exceeds `tau`. The weights are then that closed form over the selected
    positions, and differentiable any number of times.

    Subclasses define `scale`, `power` and `threshold`.
    """

    meaning = "distribution"
    scale: float
    power: int

    def threshold(self, count: tf.Tensor, mean: tf.Tensor, mean_square: tf.Tensor) -> tf.Tensor:
        """Return `tau` from the number of positions above it, their mean and the mean of their squares."""
        raise NotImplementedError

    def _support(self, ranged: tf.Tensor) -> tf.Tensor:
        """Return which positions are above the threshold, `[batch, queries, source]`; the logits have maximum 0."""
        sorted_ = tf.sort(tf.maximum(ranged, -2), axis=-1, direction="DESCENDING")  # tau is at least maximum - 1
        count = tf.cast(tf.range(1, tf.shape(ranged)[-1] + 1), ranged.dtype)
        mean, mean_square = (tf.cumsum(x, axis=-1) / count for x in (sorted_, sorted_**2))
        found = self.threshold(count, mean, mean_square)
        found = tf.where(found < sorted_, found, found.dtype.min)  # increases while the smallest element exceeds it
        return ranged > tf.reduce_max(found, axis=-1, keepdims=True)

    def call(
        self, logits: tf.Tensor, mask: tf.Tensor, state: tuple = (), training: bool = False
    ) -> tuple[tf.Tensor, tuple]:
        wide = bounded(floats(logits, "logits", 3))
        kept = mask & (wide > -float("inf"))
        wide = self.scale * tf.where(kept, wide, tf.zeros_like(wide))
        most = tf.reduce_max(tf.where(kept, wide, wide.dtype.min), axis=-1, keepdims=True)
        ranged = wide - tf.stop_gradient(most)  # at most 0
        kept &= self._support(tf.stop_gradient(tf.where(kept, ranged, tf.constant(-2.0, wide.dtype))))

        above = tf.where(kept, ranged, tf.zeros_like(ranged))
        count = tf.maximum(tf.reduce_sum(tf.cast(kept, wide.dtype), axis=-1, keepdims=True), 1)
        mean, mean_square = (tf.reduce_sum(x, axis=-1, keepdims=True) / count for x in (above, above**2))
        over = above - self.threshold(count, mean, mean_square)
        weights = tf.where(kept, tf.maximum(over, 0) ** self.power, tf.zeros_like(over))
        return tf.cast(weights, logits.dtype), state
