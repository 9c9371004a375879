"""Right answers, and beside them what a teacher says: the shares of probability that it gives to what can be said."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from seqattn_tf.core.columns import Column, ColumnGroup, DenseColumn, RaggedColumn
from seqattn_tf.outputs.base import GraphTarget, Tensors
from seqattn_tf.outputs.loss import TaughtCrossEntropy

_NUMBERS, SHARES = "taught_numbers", "taught_shares"


class Taught(NamedTuple):
    """What a teacher says to some examples."""

    answers: Column  # like the right answers
    numbers: np.ndarray  # [places, n] of the logits that it finds most probable
    shares: np.ndarray  # [places, n] their probabilities
    starts: np.ndarray  # [examples + 1] where the places of each example begin: its symbols and their end, or its label


class GraphTaught(GraphTarget):
    """A target that learns from right answers and from a teacher alike.

    Args:
        says: the target that learns from right answers, of symbols or labels.
        label_smoothing: the share of a right answer that goes to all alike; a teacher's say what they say.
    """

    def __init__(self, says: GraphTarget, label_smoothing: float = 0.0) -> None:
        super().__init__(says.target)
        self.says, self.label_smoothing = says, label_smoothing
        self.padding, self.first = says.padding, says.first

    def joined(self, right: Column, taught: Taught) -> Column:
        """The column of right answers, and after them those of the teacher; the former have no shares."""
        count, answers = len(right.lengths), right.followed_by(taught.answers)
        if isinstance(right, DenseColumn):
            nothing = [np.zeros((count, array.shape[1]), array.dtype) for array in (taught.numbers, taught.shares)]
            both = [np.concatenate(pair) for pair in zip(nothing, (taught.numbers, taught.shares), strict=True)]
            return ColumnGroup([answers, DenseColumn(dict(zip((_NUMBERS, SHARES), both, strict=True)))])
        starts = np.concatenate([np.zeros(count, np.int64), taught.starts])
        numbers, shares = (
            RaggedColumn(name, array, starts) for name, array in ((_NUMBERS, taught.numbers), (SHARES, taught.shares))
        )
        return ColumnGroup([answers, numbers, shares])

    def teach(self, rows: Tensors) -> Tensors:
        """As with right answers."""
        return self.says.teach(rows)

    def right(self, rows: Tensors) -> tf.Tensor:
        """What is wanted of every place: numbers of logits, and then their shares."""
        hard = self.says.right(rows)
        numbers, shares = tf.cast(rows[_NUMBERS], tf.int32), tf.cast(rows[SHARES], tf.float32)
        if hard.shape.rank > 1:
            more = [[0, 0], [0, tf.shape(hard)[1] - tf.shape(shares)[1]], [0, 0]]
            numbers, shares = tf.pad(numbers, more), tf.pad(shares, more)
        best = tf.one_hot(0, shares.shape[-1])
        one = tf.where(hard != tf.cast(self.padding, hard.dtype), 1 - self.label_smoothing, 0.0)[..., None] * best
        own = tf.maximum(hard - self.first, 0)[..., None] * tf.cast(best, hard.dtype)
        axes = list(range(1, shares.shape.rank))
        by_teacher = tf.reduce_any(shares > 0, axis=axes, keepdims=True)
        numbers = tf.where(by_teacher, numbers, tf.cast(own, tf.int32))
        return tf.concat([tf.cast(numbers, tf.float32), tf.where(by_teacher, shares, one)], axis=-1)

    def loss(self, label_smoothing: float = 0.0) -> Callable[[tf.Tensor, Any], tf.Tensor]:
        """Smoothing is in what is wanted already."""
        return TaughtCrossEntropy()
