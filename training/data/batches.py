"""Batches of pairs of about the same lengths, by `tf.data` throughout.

An epoch is planned with a few ops over the whole set: shuffle, leave out what fills no batch, sort by length (the
shuffle breaks ties), cut into batches, shuffle the batches. A batch is then one gather, cut to its own longest row: no
work per example at all, and hardly any padding.
"""

from collections.abc import Sequence

import tensorflow as tf

from seqattn_tf.text.rules import BEGIN, END
from seqattn_tf.text.symbols import SymbolTokenizer
from seqattn_tf.training.data.pairs import Pair

Arrays = tuple[tf.Tensor, tf.Tensor]


def encode(pairs: Sequence[Pair], source: SymbolTokenizer, target: SymbolTokenizer) -> Arrays:
    """All pairs as padded ids: `[pairs, longest source], [pairs, longest target + 1]`, the targets with their end."""
    sources = source.encode(tf.constant([pair.source for pair in pairs]))
    targets = target.encode(tf.constant([pair.target for pair in pairs]))
    ends = tf.one_hot(row_lengths(targets), tf.shape(targets)[1] + 1, on_value=END, dtype=tf.int32)
    return sources, tf.pad(targets, [[0, 0], [0, 1]]) + ends


def row_lengths(rows: tf.Tensor) -> tf.Tensor:
    """Number of places up to the last that is not padding: `[rows, longest] -> [rows]`."""
    places = tf.range(1, tf.shape(rows)[1] + 1)
    return tf.reduce_max(tf.concat([tf.where(rows != 0, places, 0), tf.zeros_like(rows[:, :1])], axis=1), axis=1)


def example(sources: tf.Tensor, targets: tf.Tensor) -> tuple[Arrays, tf.Tensor]:
    """What `fit` wants of a batch: `((source, shifted target), target)`, cut to the longest row of each side."""
    sources = sources[:, : tf.reduce_max(row_lengths(sources))]
    targets = targets[:, : tf.reduce_max(row_lengths(targets))]
    begin = tf.fill([tf.shape(targets)[0], 1], BEGIN)
    return (sources, tf.concat([begin, targets[:, :-1]], axis=1)), targets


def batches(arrays: Arrays, size: int, seed: int | None = None) -> tf.data.Dataset:
    """Batches of `size` pairs of about the same lengths.

    Args:
        arrays: what `encode` returned.
        size: pairs in a batch.
        seed: of the order, anew every epoch, the left-over pairs dropped; None for every pair in order of length.
    """
    sources, targets = arrays
    count = sources.shape[0]
    if count < 1:
        raise ValueError("pairs: expected at least one. Received: none")
    keys = row_lengths(sources) * (targets.shape[1] + 1) + row_lengths(targets)

    def plan(shuffle_seed: tf.Tensor) -> tf.data.Dataset:
        order = tf.random.experimental.stateless_shuffle(tf.range(count), seed=shuffle_seed)
        order = order[: count // size * size]  # left out before sorting: any pair, not the shortest and the longest
        order = tf.gather(order, tf.argsort(tf.gather(keys, order), stable=True))
        rows = tf.reshape(order, [-1, size])
        return tf.data.Dataset.from_tensor_slices(tf.random.experimental.stateless_shuffle(rows, seed=shuffle_seed))

    if seed is None or count < size:
        order = tf.argsort(keys, stable=True)
        indices = tf.data.Dataset.from_tensor_slices(order).batch(size)
    else:
        seeds = tf.data.Dataset.random(seed=seed, rerandomize_each_iteration=True).batch(2).take(1)
        indices = seeds.flat_map(plan)
        indices = indices.apply(tf.data.experimental.assert_cardinality(count // size))
    return indices.map(lambda rows: example(tf.gather(sources, rows), tf.gather(targets, rows))).prefetch(4)
