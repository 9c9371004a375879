"""Conversion of rows with gaps to rows without, and back."""

import tensorflow as tf

from seqattn_tf.core.masking import row_lengths


class Packing:
    """A mapping that moves unmasked positions to the front of their row, in order, and results back again.

    Args:
        mask: The mask `bool [batch, time]`, or None if nothing is masked.

    >>> packing = Packing(tf.constant([[False, True, True]]))
    >>> packing.pack(tf.constant([[5, 6, 7]])).numpy().tolist(), packing.lengths.numpy().tolist()
    ([[6, 7, 5]], [2])
    >>> packing.unpack(tf.constant([[6, 7, 0]])).numpy().tolist()
    [[0, 6, 7]]
    """

    def __init__(self, mask: tf.Tensor | None) -> None:
        self.lengths = None
        if mask is not None:
            self.lengths = row_lengths(mask)
            times = tf.range(tf.shape(mask)[1])
            self._order = tf.argsort(tf.where(mask, times, times + tf.shape(mask)[1]), axis=1)
            self._back = tf.argsort(self._order, axis=1)

    def pack(self, values: tf.Tensor, axis: int = 1) -> tf.Tensor:
        """Move the unmasked positions of `[batch, time, ...]` to the front of this axis."""
        return values if self.lengths is None else self._gather(values, self._order, axis)

    def unpack(self, values: tf.Tensor, axis: int = 1) -> tf.Tensor:
        """Move values back to their original positions; zeros beyond the lengths move to the masked positions."""
        return values if self.lengths is None else self._gather(values, self._back, axis)

    @staticmethod
    def _gather(values: tf.Tensor, places: tf.Tensor, axis: int) -> tf.Tensor:
        return tf.gather(values, places, axis=axis, batch_dims=1)
