"""Batches of examples of about the same lengths, by `tf.data` throughout.

An epoch is planned with a few ops over the whole set: shuffle, leave out what fills no batch, sort by length (the
shuffle breaks ties), cut into batches, shuffle the batches. A batch is then the rows of each column, padded to its own
longest: no work per example at all for what is in memory, and hardly any padding. A plan follows from the seed and the
number of the epoch alone, so that a training can be taken up at any step.
"""

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np
import tensorflow as tf

from seqattn_tf.column import Column
from seqattn_tf.models import Model
from seqattn_tf.targets.graph import GraphTarget
from seqattn_tf.training.data.examples import Examples

Tensors = dict[str, tf.Tensor]
Part = Callable[[tf.data.Dataset], tf.data.Dataset]


def whole(rows: tf.data.Dataset) -> tf.data.Dataset:
    """All of every batch of rows: where one worker reads them all."""
    return rows


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


def batches(columns: Columns, size: int) -> tf.data.Dataset:
    """Every example once, in order of length, `size` in a batch."""
    keys = columns.keys(np.arange(len(columns.target.lengths)))
    if not len(keys):
        raise ValueError("examples: expected at least one. Received: none")
    return _read(columns, tf.data.Dataset.from_tensor_slices(np.argsort(keys, kind="stable")).batch(size))


@dataclasses.dataclass(frozen=True)
class Order:
    """Which examples make a batch, in every epoch of a training.

    Args:
        rows: the examples meant.
        size: of a batch; what fills none is left out, by chance, unless there are fewer in all.
        seed: of the order.
        by_length: whether a batch has examples of about the same lengths, or of all.
        parts: an epoch takes the next of so many equal parts of the examples; 1 for all of them every time.
    """

    rows: np.ndarray
    size: int
    seed: int = 0
    by_length: bool = True
    parts: int = 1

    def __post_init__(self) -> None:
        if len(self.rows) < self.parts:
            raise ValueError(f"examples: expected at least {self.parts}. Received: {len(self.rows)}")

    @property
    def count(self) -> int:
        """Examples of an epoch."""
        return len(self.rows) // self.parts

    @property
    def steps(self) -> int:
        """Batches of an epoch."""
        return max(self.count // self.size, 1)

    def batches(self, columns: Columns, epochs: range, step: int = 0, part: Part = whole) -> tf.data.Dataset:
        """The batches of these epochs one after another, but for the first `step` ones; of each `part`."""
        keys = columns.keys(self.rows) if self.by_length else np.zeros(len(self.rows), np.int64)
        size = min(self.size, self.count)

        def plan(epoch: tf.Tensor) -> tf.Tensor:
            seed, first = tf.stack([self.seed, epoch]), epoch * self.count if self.parts > 1 else 0
            order = tf.random.experimental.stateless_shuffle(tf.range(self.count, dtype=tf.int64), seed) + first
            order = order[: self.steps * size]  # left out before sorting: any one, not the shortest and the longest
            order = tf.gather(order, tf.argsort(tf.gather(keys, order), stable=True))
            cut = tf.random.experimental.stateless_shuffle(tf.reshape(order, [-1, size]), seed)
            return tf.gather(tf.constant(self.rows, tf.int64), cut)

        return _read(columns, part(planned(plan, epochs, step)))


def planned(plan: Callable[[tf.Tensor], tf.Tensor], epochs: range, step: int = 0) -> tf.data.Dataset:
    """What a plan says of each of these epochs, one after another, without the first `step` entries.

    Args:
        plan: the number of an epoch to a tensor with an entry for each step, in the graph.
        epochs: those meant.
        step: how many entries are done.

    >>> [int(n) for n in planned(lambda epoch: epoch * 10 + tf.range(3, dtype=tf.int64), range(2, 4), step=1)]
    [21, 22, 30, 31, 32]
    """
    numbers = tf.data.Dataset.range(epochs.start, epochs.stop)
    return numbers.flat_map(lambda epoch: tf.data.Dataset.from_tensor_slices(plan(epoch))).skip(step)


def _read(columns: Columns, rows: tf.data.Dataset) -> tf.data.Dataset:
    """The batches of these rows."""
    return rows.map(columns.batch).prefetch(4)
