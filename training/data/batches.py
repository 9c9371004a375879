"""Batches of examples of similar lengths, made with `tf.data` throughout.

An epoch is planned with a few ops over the whole dataset: shuffle, leave out the examples that do not fill a batch,
sort by length (the shuffle breaks ties), divide into batches, shuffle the batches. A batch then consists of the rows of
each column, padded to the longest among them. So examples in memory need no work per example and hardly any padding. A
plan depends only on the seed and the number of the epoch, so that training can be resumed at any step.
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
    """Return every batch of rows unchanged, for a single worker that reads them all."""
    return rows


@dataclasses.dataclass(frozen=True)
class Columns:
    """All examples in the form that a network reads: one column for each input, and one for the target."""

    inputs: Mapping[str, Column]
    target: Column
    graph_target: GraphTarget

    @classmethod
    def of(cls, model: Model, examples: Examples) -> "Columns":
        """Create the columns of a model."""
        return cls(input_columns(model, examples), model.graph_target.column(examples.targets), model.graph_target)

    @property
    def all(self) -> list[Column]:
        """The columns of the inputs, followed by that of the target."""
        return [*self.inputs.values(), self.target]

    def batch(self, rows: tf.Tensor) -> tuple[Tensors, tf.Tensor]:
        """Return a batch for `fit`: the input tensors of the network, and the target."""
        return self._batch([column.rows(rows) for column in self.all])

    def batch_of(self, arrays: Sequence[Mapping[str, tf.Tensor]], rows: tf.Tensor) -> tuple[Tensors, tf.Tensor]:
        """Return a batch of rows from the arrays of other examples, given for each column."""
        return self._batch([column.gather(own, rows) for column, own in zip(self.all, arrays, strict=True)])

    def _batch(self, found: Sequence[Tensors]) -> tuple[Tensors, tf.Tensor]:
        *given, right = found
        tensors = by_part(dict(zip(self.inputs, given, strict=True)))
        return {**tensors, **self.graph_target.teacher_inputs(right)}, self.graph_target.y_true(right)


def by_part(inputs: Mapping[str, Tensors]) -> Tensors:
    """Merge the tensors of all inputs into one dictionary with keys of the form `INPUT_PART`."""
    return {f"{name}_{part}": tensor for name, parts in inputs.items() for part, tensor in parts.items()}


def input_columns(model: Model, examples: Examples) -> dict[str, Column]:
    """Return one column for each input of a model."""
    return {name: field.column(examples.inputs(name)) for name, field in model.graph_inputs.items()}


def batches(columns: Columns, size: int) -> tf.data.Dataset:
    """Return batches of `size` examples, each example once, in order of length."""
    keys = Batching(size).keys([column.lengths for column in columns.all])
    if not len(keys):
        raise ValueError("examples: expected at least one. Received: none")
    return read(columns, tf.data.Dataset.from_tensor_slices(np.argsort(keys, kind="stable")).batch(size))


@dataclasses.dataclass(frozen=True)
class Batching:
    """The rules by which examples are grouped into batches, the same in every epoch.

    Args:
        size: The number of examples per batch. Examples that do not fill a batch are left out at random, unless there
            are fewer than `size` in total.
        seed: The seed of the order.
        by_length: Whether a batch contains examples of similar lengths rather than of all lengths.
        budget: The maximum number of positions per batch, which replaces `size`; 0 for none. It counts the positions of
            all inputs and of the target, including padding. No example is left out then.
    """

    size: int
    seed: int = 0
    by_length: bool = True
    budget: int = 0

    def __post_init__(self) -> None:
        if self.budget and not self.by_length:
            raise ValueError(
                f"batch_tokens: expected 0 for data that cannot be batched by length. Received: {self.budget}"
            )

    def keys(self, lengths: Sequence[np.ndarray]) -> np.ndarray:
        """Return numbers that sort rows by the lengths `[rows]` of the first column, then of the second, and so on."""
        keys = np.zeros(len(lengths[0]), np.int64)
        for column in lengths if self.by_length else ():
            keys = keys * (int(column.max(initial=0)) + 1) + column
        return keys

    def cuts(self, lengths: Sequence[np.ndarray]) -> np.ndarray:
        """Return the index among the sorted rows at which each batch begins, and last the end of the last batch."""
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
    """Return the indices of the rows of each batch of an epoch, `[steps, (rows)]`. Runs in the graph.

    Args:
        keys: The numbers to sort rows by.
        cuts: The index at which each batch begins after sorting, which is the same for every shuffle.
        seed: A pair of integers.
    """
    order = tf.random.experimental.stateless_shuffle(tf.range(tf.size(keys, tf.int64)), seed)
    order = order[: cuts[-1]]  # leave out rows before sorting, so that they are random and not the longest ones
    order = tf.gather(order, tf.argsort(tf.gather(keys, order), stable=True))
    steps = tf.random.experimental.stateless_shuffle(tf.range(tf.size(cuts) - 1), seed)
    return tf.gather(tf.RaggedTensor.from_row_splits(order, cuts), steps)


@dataclasses.dataclass(frozen=True)
class Order:
    """A plan of batches over examples in memory.

    Args:
        columns: The columns of all examples.
        rows: The indices of the examples to use.
        batching: The rules by which examples make batches.
        parts: The number of equal parts of the examples, of which each epoch uses the next one; 1 to use all examples
            in every epoch.
    """

    columns: Columns
    rows: np.ndarray
    batching: Batching
    parts: int = 1

    def __post_init__(self) -> None:
        if len(self.rows) < self.parts:
            raise ValueError(f"examples: expected at least {self.parts}. Received: {len(self.rows)}")
        if self.batching.budget and self.parts > 1:
            raise ValueError(
                f"batch_tokens: expected 0 for examples in a fixed order. Received: {self.batching.budget}"
            )

    @property
    def count(self) -> int:
        """The number of examples of an epoch."""
        return len(self.rows) // self.parts

    @functools.cached_property
    def lengths(self) -> list[np.ndarray]:
        """The lengths of the selected examples, by column."""
        return [column.lengths[self.rows] for column in self.columns.all]

    @functools.cached_property
    def cuts(self) -> np.ndarray:
        """The index at which each batch of an epoch begins."""
        return self.batching.cuts([lengths[: self.count] for lengths in self.lengths])

    @property
    def steps(self) -> int:
        """The number of batches of an epoch."""
        return len(self.cuts) - 1

    @property
    def batch_size(self) -> int:
        """The number of examples per batch, or the greatest common divisor if batches differ in size."""
        return int(np.gcd.reduce(np.diff(self.cuts)))

    @property
    def symbols(self) -> float:
        """The average number of input and target positions per step, at least one per column of an example."""
        of_each = sum(np.maximum(lengths, 1) for lengths in self.lengths)
        return float(np.mean(of_each)) * int(self.cuts[-1]) / self.steps

    def batches(self, epochs: range, step: int = 0, part: Part = whole) -> tf.data.Dataset:
        """Return the batches of these epochs, without the first `step`; `part` selects rows of each batch."""
        return read(self.columns, part(self.planned_rows(epochs, step)))

    def planned_rows(self, epochs: range, step: int = 0) -> tf.data.Dataset:
        """Return the indices of the examples of each batch of these epochs, without the first `step` batches."""
        keys = tf.constant(self.batching.keys(self.lengths))

        def plan_epoch(epoch: tf.Tensor) -> tf.RaggedTensor:
            first = epoch * self.count if self.parts > 1 else tf.constant(0, tf.int64)
            found = plan(keys[first : first + self.count], self.cuts, tf.stack([self.batching.seed, epoch]))
            return found.with_flat_values(tf.gather(tf.constant(self.rows, tf.int64), found.flat_values + first))

        return planned(plan_epoch, epochs, step)


def planned(plan: Callable[[tf.Tensor], Any], epochs: range, step: int = 0) -> tf.data.Dataset:
    """Return the entries of the plans of these epochs in sequence, without the first `step` entries.

    Args:
        plan: A function, run in the graph, from the number of an epoch to a tensor with an entry for each step.
        epochs: The epochs to plan.
        step: The number of entries to skip.

    >>> [int(n) for n in planned(lambda epoch: epoch * 10 + tf.range(3, dtype=tf.int64), range(2, 4), step=1)]
    [21, 22, 30, 31, 32]
    """

    # AutoGraph would take seconds to rewrite the source of everything that a map calls.
    @tf.autograph.experimental.do_not_convert
    def slices(epoch: tf.Tensor) -> tf.data.Dataset:
        return tf.data.Dataset.from_tensor_slices(plan(epoch))

    return tf.data.Dataset.range(epochs.start, epochs.stop).flat_map(slices).skip(step)


def read(columns: Columns, rows: tf.data.Dataset) -> tf.data.Dataset:
    """Return the batches with these rows."""
    return rows.map(tf.autograph.experimental.do_not_convert(columns.batch)).prefetch(4)
