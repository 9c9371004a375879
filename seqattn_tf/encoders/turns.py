"""Texts of several turns: conversion between flat ids with marks and ids of shape `[batch, turns, symbols]`."""

from typing import NamedTuple

import tensorflow as tf

from seqattn_tf.core.scan import size_of


class Turns(NamedTuple):
    """Ids in turns, and the new position of each flat symbol."""

    ids: tf.Tensor  # [batch, turns, symbols], without marks
    places: tf.Tensor  # [batch, time], below `turns * symbols`, or equal to it for dropped symbols


def fold(ids: tf.Tensor, mark: int, turns: int, symbols: int | None = None) -> Turns:
    """Convert flat ids `[batch, time]` to the last `turns` turns, with the first `symbols` symbols of each.

    Args:
        ids: The ids, padded with zeros at the end.
        mark: The id between two turns.
        turns: The number of turns to keep, the last ones. Rows with fewer turns start with empty ones.
        symbols: The number of symbols per turn. None for the length of the longest turn in the batch.

    >>> fold(tf.constant([[5, 9, 6, 7], [5, 0, 0, 0]]), mark=9, turns=2).ids.numpy().tolist()
    [[[5, 0], [6, 7]], [[0, 0], [5, 0]]]
    """
    batch, time = size_of(ids, 0), size_of(ids, 1)
    rows = tf.broadcast_to(tf.range(batch)[:, None], tf.shape(ids))
    here = tf.range(time)[None]
    marks = tf.cast(ids == mark, tf.int32)
    turn = tf.cumsum(marks, axis=1, exclusive=True)  # a mark belongs to the turn it ends
    starts = tf.scatter_nd(tf.stack([rows, turn + 1], axis=-1), (here + 1) * marks, [batch, time + 1])  # turn starts
    place = here - tf.gather(starts, turn, batch_dims=1)
    turn += turns - 1 - tf.reduce_sum(marks, axis=1, keepdims=True)  # align the last turns
    kept = (marks == 0) & (ids != 0) & (turn >= 0)
    if symbols is None:
        symbols = tf.maximum(tf.reduce_max(tf.concat([[0], tf.reshape(tf.where(kept, place + 1, 0), [-1])], 0)), 1)
    kept &= place < symbols
    places = tf.where(kept, turn * symbols + place, turns * symbols)
    found = tf.scatter_nd(tf.stack([rows, places], axis=-1), tf.where(kept, ids, 0), [batch, turns * symbols + 1])
    return Turns(tf.reshape(found[:, :-1], [batch, turns, symbols]), places)


def fold_alike(values: tf.Tensor | None, folded: Turns) -> tf.Tensor | None:
    """Rearrange flat numbers `[batch, time]` like the ids to `[batch, turns, symbols]`; return None for None.

    >>> folded = fold(tf.constant([[5, 9, 6, 7]]), mark=9, turns=2)
    >>> fold_alike(tf.constant([[0.25, 0.5, 0.75, 1.0]]), folded).numpy().tolist()
    [[[0.25, 0.0], [0.75, 1.0]]]
    """
    if values is None:
        return None
    shape = tf.shape(folded.ids)
    rows = tf.broadcast_to(tf.range(shape[0])[:, None], tf.shape(folded.places))
    found = tf.scatter_nd(tf.stack([rows, folded.places], axis=-1), values, [shape[0], shape[1] * shape[2] + 1])
    return tf.reshape(found[:, :-1], shape)


def unfold(weights: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
    """Map weights of folded symbols `[batch, target, turns * symbols]` to flat ones `[batch, target, time]`."""
    padded = tf.transpose(tf.pad(weights, [[0, 0], [0, 0], [0, 1]]), [0, 2, 1])
    return tf.transpose(tf.gather(padded, places, batch_dims=1), [0, 2, 1])


def count_lines(ids: tf.Tensor, mark: int) -> tf.Tensor:
    """Return the number of lines in each row, `[batch, time] -> [batch]`; an empty row has one."""
    return tf.reduce_sum(tf.cast(ids == mark, tf.int32), axis=1) + 1


def at_lines(weights: tf.Tensor, ids: tf.Tensor, mark: int) -> tf.Tensor:
    """Map weights of the last lines, `[batch, rows, lines read]`, to all lines of flat ids, from first to last.

    >>> at_lines(tf.constant([[[0.25, 0.75]]]), tf.constant([[5, 9, 6, 9, 7]]), mark=9).numpy().tolist()
    [[[0.0, 0.25, 0.75]]]
    """
    count, read = count_lines(ids, mark)[:, None], tf.shape(weights)[2]
    line = tf.range(tf.reduce_max(tf.concat([count[:, 0], [0]], axis=0)))[None]
    place = line + read - count  # the index of each line among those read
    kept = (place >= 0) & (line < count)
    found = tf.gather(tf.transpose(weights, [0, 2, 1]), tf.clip_by_value(place, 0, read - 1), batch_dims=1)
    return tf.transpose(tf.where(kept[..., None], found, tf.zeros_like(found)), [0, 2, 1])
