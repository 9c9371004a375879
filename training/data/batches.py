"""Batches of examples of about the same lengths, by `tf.data` throughout.

An epoch is planned with a few ops over the whole set: shuffle, leave out what fills no batch, sort by length (the
shuffle breaks ties), cut into batches, shuffle the batches. A batch is then the rows of each column, padded to its own
longest: no work per example at all for what is in memory, and hardly any padding. A plan follows from the seed and the
number of the epoch alone, so that a training can be taken up at any step.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.core.columns import Column
from seqattn_tf.models import Model
from seqattn_tf.outputs import GraphTarget
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

    @property
    def all(self) -> list[Column]:
        """Those of the inputs, and last that of the target."""
        return [*self.inputs.values(), self.target]

    def batch(self, rows: tf.Tensor) -> tuple[Tensors, tf.Tensor]:
        """What `fit` wants of a batch: the tensors that the network reads, and what is right."""
        return self._batch([column.rows(rows) for column in self.all])

    def batch_of(self, arrays: Sequence[Mapping[str, tf.Tensor]], rows: tf.Tensor) -> tuple[Tensors, tf.Tensor]:
        """The same of arrays of other examples, those of each column."""
        return self._batch([column.gather(own, rows) for column, own in zip(self.all, arrays, strict=True)])

    def _batch(self, found: Sequence[Tensors]) -> tuple[Tensors, tf.Tensor]:
        *given, right = found
        tensors = by_part(dict(zip(self.inputs, given, strict=True)))
        return {**tensors, **self.says.teach(right)}, self.says.right(right)


def by_part(inputs: Mapping[str, Tensors]) -> Tensors:
    """What a network reads of all inputs, by `INPUT_PART`."""
    return {f"{name}_{part}": tensor for name, parts in inputs.items() for part, tensor in parts.items()}


def input_columns(model: Model, examples: Examples) -> dict[str, Column]:
    """One column for each input of a model."""
    return {name: field.column(examples.inputs(name)) for name, field in model.in_graph.items()}


def batches(columns: Columns, size: int) -> tf.data.Dataset:
    """Every example once, in order of length, `size` in a batch."""
    keys = Batching(size).keys([column.lengths for column in columns.all])
    if not len(keys):
        raise ValueError("examples: expected at least one. Received: none")
    return read(columns, tf.data.Dataset.from_tensor_slices(np.argsort(keys, kind="stable")).batch(size))


@dataclasses.dataclass(frozen=True)
class Batching:
    """How examples make batches, in every epoch of a training.

    Args:
        size: examples of a batch; what fills none is left out, by chance, unless there are fewer in all.
        seed: of the order.
        by_length: whether a batch has examples of about the same lengths, or of all.
        budget: places that a batch may have instead of `size`, those of all inputs and of the target, padding counted;
            nothing is left out then. 0 for none.
    """

    size: int
    seed: int = 0
    by_length: bool = True
    budget: int = 0

    def __post_init__(self) -> None:
        if self.budget and not self.by_length:
            raise ValueError(f"batch_tokens: expected 0 where batches are not made by length. Received: {self.budget}")

    def keys(self, lengths: Sequence[np.ndarray]) -> np.ndarray:
        """Numbers by which rows are sorted: by the lengths `[rows]` of each column, one after the other."""
        keys = np.zeros(len(lengths[0]), np.int64)
        for column in lengths if self.by_length else ():
            keys = keys * (int(column.max(initial=0)) + 1) + column
        return keys

    def cuts(self, lengths: Sequence[np.ndarray]) -> np.ndarray:
        """Where each batch begins among the sorted rows, and last where the last one ends."""
        count = len(lengths[0])
        if not self.budget:
            size = min(self.size, count)
            return np.arange(0, count + 1, size) if size else np.zeros(1, np.int64)
        order = np.argsort(self.keys(lengths), kind="stable")
        longest = np.stack([np.asarray(column, np.int64)[order] for column in lengths])
        found = [0]
        while (first := found[-1]) < count:
            some = longest[:, first : first + max(self.budget // max(longest[:, first].sum(), 1), 1)]
            places = np.maximum.accumulate(some, axis=1).sum(axis=0) * np.arange(1, some.shape[1] + 1)
            found.append(first + max(int(np.sum(places <= self.budget)), 1))
        return np.array(found)


def plan(keys: tf.Tensor, cuts: tf.Tensor, seed: tf.Tensor) -> tf.RaggedTensor:
    """The places of the rows of each batch of an epoch, `[steps, (rows)]`, in the graph.

    Args:
        keys: by which rows are sorted.
        cuts: where each batch begins then; they are the same whatever the shuffle.
        seed: two numbers.
    """
    order = tf.random.experimental.stateless_shuffle(tf.range(tf.size(keys, tf.int64)), seed)
    order = order[: cuts[-1]]  # left out before sorting: any one, not the shortest and the longest
    order = tf.gather(order, tf.argsort(tf.gather(keys, order), stable=True))
    steps = tf.random.experimental.stateless_shuffle(tf.range(tf.size(cuts) - 1), seed)
    return tf.gather(tf.RaggedTensor.from_row_splits(order, cuts), steps)


@dataclasses.dataclass(frozen=True)
class Order:
    """Which examples in memory make which batch.

    Args:
        columns: of all examples.
        rows: the examples meant.
        batching: how.
        parts: an epoch takes the next of so many equal parts of the examples; 1 for all of them every time.
    """

    columns: Columns
    rows: np.ndarray
    batching: Batching
    parts: int = 1

    def __post_init__(self) -> None:
        if len(self.rows) < self.parts:
            raise ValueError(f"examples: expected at least {self.parts}. Received: {len(self.rows)}")
        if self.batching.budget and self.parts > 1:
            raise ValueError(f"batch_tokens: expected 0 of examples in an order. Received: {self.batching.budget}")

    @property
    def count(self) -> int:
        """Examples of an epoch."""
        return len(self.rows) // self.parts

    @functools.cached_property
    def lengths(self) -> list[np.ndarray]:
        """Of the examples meant, by column."""
        return [column.lengths[self.rows] for column in self.columns.all]

    @functools.cached_property
    def cuts(self) -> np.ndarray:
        """Where each batch of an epoch begins."""
        return self.batching.cuts([lengths[: self.count] for lengths in self.lengths])

    @property
    def steps(self) -> int:
        """Batches of an epoch."""
        return len(self.cuts) - 1

    @property
    def batch_size(self) -> int:
        """Examples of a batch; where batches differ, what all of them have a multiple of."""
        return int(np.gcd.reduce(np.diff(self.cuts)))

    @property
    def symbols(self) -> float:
        """Places that are read and said in a step, on average; at least one of each example."""
        of_each = sum(np.maximum(lengths, 1) for lengths in self.lengths)
        return float(np.mean(of_each)) * int(self.cuts[-1]) / self.steps

    def batches(self, epochs: range, step: int = 0, part: Part = whole) -> tf.data.Dataset:
        """The batches of these epochs one after another, but for the first `step` ones; of each `part`."""
        keys = tf.constant(self.batching.keys(self.lengths))

        def plan_epoch(epoch: tf.Tensor) -> tf.RaggedTensor:
            first = epoch * self.count if self.parts > 1 else tf.constant(0, tf.int64)
            found = plan(keys[first : first + self.count], self.cuts, tf.stack([self.batching.seed, epoch]))
            return found.with_flat_values(tf.gather(tf.constant(self.rows, tf.int64), found.flat_values + first))

        return read(self.columns, part(planned(plan_epoch, epochs, step)))


def planned(plan: Callable[[tf.Tensor], Any], epochs: range, step: int = 0) -> tf.data.Dataset:
    """What a plan says of each of these epochs, one after another, without the first `step` entries.

    Args:
        plan: the number of an epoch to a tensor with an entry for each step, in the graph.
        epochs: those meant.
        step: how many entries are done.

    >>> [int(n) for n in planned(lambda epoch: epoch * 10 + tf.range(3, dtype=tf.int64), range(2, 4), step=1)]
    [21, 22, 30, 31, 32]
    """

    @tf.autograph.experimental.do_not_convert  # rewriting the source of all that a map calls takes seconds
    def slices(epoch: tf.Tensor) -> tf.data.Dataset:
        return tf.data.Dataset.from_tensor_slices(plan(epoch))

    return tf.data.Dataset.range(epochs.start, epochs.stop).flat_map(slices).skip(step)


def read(columns: Columns, rows: tf.data.Dataset) -> tf.data.Dataset:
    """The batches of these rows."""
    return rows.map(tf.autograph.experimental.do_not_convert(columns.batch)).prefetch(4)
