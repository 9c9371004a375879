"""Batches of examples of about the same lengths, by `tf.data` throughout.

An epoch is planned with a few ops over the whole set: shuffle, leave out what fills no batch, sort by length (the
shuffle breaks ties), cut into batches, shuffle the batches. A batch is then the rows of each column, padded to its own
longest: no work per example at all for what is in memory, and hardly any padding.
"""

import dataclasses
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from seqattn_tf.column import Column
from seqattn_tf.models import Model
from seqattn_tf.targets.graph import GraphTarget
from seqattn_tf.training.data.examples import Examples

Tensors = dict[str, tf.Tensor]


@dataclasses.dataclass(frozen=True)
class Columns:
    """All examples as a network reads them: one column for each input, and one for the target."""

    inputs: Mapping[str, Column]
    target: Column
    says: GraphTarget

    @classmethod
    def of(cls, model: Model, examples: Examples) -> "Columns":
        """The columns of a model."""
        return cls(input_columns(model, examples), model.says.column(examples.targets), model.says)

    def keys(self, rows: np.ndarray) -> np.ndarray:
        """Numbers that order rows by the lengths of their inputs, one after the other, and of their targets."""
        keys = np.zeros(len(rows), np.int64)
        for column in (*self.inputs.values(), self.target):
            lengths = column.lengths[rows]
            keys = keys * (lengths.max(initial=0) + 1) + lengths
        return keys

    def batch(self, rows: tf.Tensor) -> tuple[Tensors, tf.Tensor]:
        """What `fit` wants of a batch: the tensors that the network reads, and what is right."""
        tensors = {
            f"{name}_{part}": tensor
            for name, column in self.inputs.items()
            for part, tensor in column.rows(rows).items()
        }
        right = self.target.rows(rows)
        return {**tensors, **self.says.teach(right)}, self.says.right(right)


def input_columns(model: Model, examples: Examples) -> dict[str, Column]:
    """One column for each input of a model."""
    return {name: field.column(examples.inputs(name)) for name, field in model.in_graph.items()}


def batches(
    columns: Columns, size: int, seed: int | None = None, rows: np.ndarray | None = None, by_length: bool = True
) -> tf.data.Dataset:
    """Batches of `size` examples of about the same lengths.

    Args:
        columns: of the examples.
        size: examples in a batch.
        seed: of the order, anew every epoch, the left-over examples dropped; None for every one in order of length.
        rows: the examples meant; None for all.
        by_length: whether a batch has examples of about the same lengths, or of all.
    """
    rows = np.arange(len(columns.target.lengths)) if rows is None else np.asarray(rows)
    count = len(rows)
    if count < 1:
        raise ValueError("examples: expected at least one. Received: none")
    keys, rows = columns.keys(rows) if by_length else np.zeros(count, np.int64), tf.constant(rows, tf.int64)

    def plan(shuffle_seed: tf.Tensor) -> tf.data.Dataset:
        order = tf.random.experimental.stateless_shuffle(tf.range(count), seed=shuffle_seed)
        order = order[: count // size * size]  # left out before sorting: any one, not the shortest and the longest
        order = tf.gather(order, tf.argsort(tf.gather(keys, order), stable=True))
        cut = tf.reshape(order, [-1, size])
        return tf.data.Dataset.from_tensor_slices(tf.random.experimental.stateless_shuffle(cut, seed=shuffle_seed))

    if seed is None or count < size:
        indices = tf.data.Dataset.from_tensor_slices(tf.argsort(keys, stable=True)).batch(size)
    elif not by_length:
        indices = tf.data.Dataset.range(count).shuffle(count, seed=seed).batch(size, drop_remainder=True)
    else:
        seeds = tf.data.Dataset.random(seed=seed, rerandomize_each_iteration=True).batch(2).take(1)
        indices = seeds.flat_map(plan)
        indices = indices.apply(tf.data.experimental.assert_cardinality(count // size))
    return indices.map(lambda chosen: columns.batch(tf.gather(rows, chosen))).prefetch(4)
