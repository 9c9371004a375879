"""What alignments share that give most places no weight at all: a threshold found by sorting."""

import tensorflow as tf

from seqattn_tf.attention.base import Alignment
from seqattn_tf.core.masking import bounded
from seqattn_tf.structured.base import floats


class SparseAlignment(Alignment):
    """`alpha_j = max(z_j - tau, 0)^power`, `z = scale * e`, where `tau` makes them sum to one.

    The places above the threshold are a prefix of the sorted ones, and for a given number of them `tau` has a closed
    form in their mean and their mean square, so the right number is the last that keeps its own smallest place. The
    weights are then that closed form of the kept places, differentiable as often as one likes.

    A subclass gives `scale`, `power` and `threshold`.
    """

    meaning = "distribution"
    scale: float
    power: int

    def threshold(self, count: tf.Tensor, mean: tf.Tensor, mean_square: tf.Tensor) -> tf.Tensor:
        """`tau` from the number of places above it, their mean and the mean of their squares."""
        raise NotImplementedError

    def _support(self, ranged: tf.Tensor) -> tf.Tensor:
        """Which places are above the threshold: `[batch, queries, source]`, of logits less the largest."""
        sorted_ = tf.sort(tf.maximum(ranged, -2), axis=-1, direction="DESCENDING")  # never a whole unit below the best
        count = tf.cast(tf.range(1, tf.shape(ranged)[-1] + 1), ranged.dtype)
        mean, mean_square = (tf.cumsum(x, axis=-1) / count for x in (sorted_, sorted_**2))
        found = self.threshold(count, mean, mean_square)
        found = tf.where(found < sorted_, found, found.dtype.min)  # grows as long as it keeps the smallest
        return ranged > tf.reduce_max(found, axis=-1, keepdims=True)

    def call(
        self, logits: tf.Tensor, mask: tf.Tensor, state: tuple = (), training: bool = False
    ) -> tuple[tf.Tensor, tuple]:
        """`[batch, queries, source], [batch, 1, source] -> ([batch, queries, source], state)`."""
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
