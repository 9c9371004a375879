"""Targets for distillation: correct answers together with the probabilities that a teacher assigns."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from seqattn_tf.core.columns import Column, ColumnGroup, DenseColumn, RaggedColumn
from seqattn_tf.outputs.base import GraphTarget, Tensors
from seqattn_tf.outputs.loss import SoftCrossEntropy

_NUMBERS, SHARES = "taught_numbers", "taught_shares"


class Taught(NamedTuple):
    """The predictions of a teacher for some examples."""

    answers: Column  # in the form of correct answers
    numbers: np.ndarray  # [positions, n], indices of the most probable logits
    shares: np.ndarray  # [positions, n], their probabilities
    starts: np.ndarray  # [examples + 1], start of each example's positions: symbols and end, or label


class GraphSoftTargets(GraphTarget):
    """A target that is trained on both correct answers and the predictions of a teacher.

    Args:
        says: The target for correct answers, of symbols or labels.
        label_smoothing: The fraction of probability of a correct answer that is spread evenly. It does not apply to the
            teacher's predictions.
    """

    def __init__(self, says: GraphTarget, label_smoothing: float = 0.0) -> None:
        super().__init__(says.target)
        self.says, self.label_smoothing = says, label_smoothing
        self.padding, self.first = says.padding, says.first

    def joined(self, right: Column, taught: Taught) -> Column:
        """Return a column of the correct answers followed by the teacher's, which alone have probabilities."""
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

    def teacher_inputs(self, rows: Tensors) -> Tensors:
        return self.says.teacher_inputs(rows)

    def y_true(self, rows: Tensors) -> tf.Tensor:
        """Return the soft targets of every position: indices of logits, followed by their probabilities."""
        hard = self.says.y_true(rows)
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
        """Return a `SoftCrossEntropy`. Label smoothing is already part of `y_true`."""
        return SoftCrossEntropy()
