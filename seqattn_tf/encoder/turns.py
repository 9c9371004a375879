"""Texts of several turns: flat ids with a mark between the turns, and the same as `[batch, turns, symbols]`."""

from typing import NamedTuple

import tensorflow as tf

from seqattn_tf.core.scan import size_of


class Turns(NamedTuple):
    """Ids in turns, and where each flat symbol went."""

    ids: tf.Tensor  # [batch, turns, symbols], the marks gone
    places: tf.Tensor  # [batch, time], of `turns * symbols`; one more than the last for what went nowhere


def fold(ids: tf.Tensor, mark: int, turns: int, symbols: int | None = None) -> Turns:
    """Flat ids `[batch, time]` as the last `turns` turns, each of its first `symbols` symbols.

    Args:
        ids: padded with zeros at the end.
        mark: the id between two turns.
        turns: how many to keep, the last ones; rows with fewer have empty turns first.
        symbols: of a turn; None for as many as the longest turn of the batch has.

    >>> fold(tf.constant([[5, 9, 6, 7], [5, 0, 0, 0]]), mark=9, turns=2).ids.numpy().tolist()
    [[[5, 0], [6, 7]], [[0, 0], [5, 0]]]
    """
    batch, time = size_of(ids, 0), size_of(ids, 1)
    rows = tf.broadcast_to(tf.range(batch)[:, None], tf.shape(ids))
    here = tf.range(time)[None]
    marks = tf.cast(ids == mark, tf.int32)
    turn = tf.cumsum(marks, axis=1, exclusive=True)  # a mark belongs to the turn it ends
    starts = tf.scatter_nd(tf.stack([rows, turn + 1], axis=-1), (here + 1) * marks, [batch, time + 1])  # of each turn
    place = here - tf.gather(starts, turn, batch_dims=1)
    turn += turns - 1 - tf.reduce_sum(marks, axis=1, keepdims=True)  # the last turn is the last place
    kept = (marks == 0) & (ids != 0) & (turn >= 0)
    if symbols is None:
        symbols = tf.maximum(tf.reduce_max(tf.concat([[0], tf.reshape(tf.where(kept, place + 1, 0), [-1])], 0)), 1)
    kept &= place < symbols
    places = tf.where(kept, turn * symbols + place, turns * symbols)
    found = tf.scatter_nd(tf.stack([rows, places], axis=-1), tf.where(kept, ids, 0), [batch, turns * symbols + 1])
    return Turns(tf.reshape(found[:, :-1], [batch, turns, symbols]), places)


def fold_alike(values: tf.Tensor | None, folded: Turns) -> tf.Tensor | None:
    """Flat numbers `[batch, time]` as the ids were folded, `[batch, turns, symbols]`; none of none.

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
    """Weights of the folded symbols `[batch, target, turns * symbols]` as of the flat ones `[batch, target, time]`."""
    padded = tf.transpose(tf.pad(weights, [[0, 0], [0, 0], [0, 1]]), [0, 2, 1])
    return tf.transpose(tf.gather(padded, places, batch_dims=1), [0, 2, 1])


def count_lines(ids: tf.Tensor, mark: int) -> tf.Tensor:
    """How many lines each row has, `[batch, time] -> [batch]`; one for a row with nothing."""
    return tf.reduce_sum(tf.cast(ids == mark, tf.int32), axis=1) + 1


def at_lines(weights: tf.Tensor, ids: tf.Tensor, mark: int) -> tf.Tensor:
    """Weights of the last lines, `[batch, rows, lines read]`, as of all lines of flat ids, the first ones first.

    >>> at_lines(tf.constant([[[0.25, 0.75]]]), tf.constant([[5, 9, 6, 9, 7]]), mark=9).numpy().tolist()
    [[[0.0, 0.25, 0.75]]]
    """
    count, read = count_lines(ids, mark)[:, None], tf.shape(weights)[2]
    line = tf.range(tf.reduce_max(tf.concat([count[:, 0], [0]], axis=0)))[None]
    place = line + read - count  # where each line is read
    kept = (place >= 0) & (line < count)
    found = tf.gather(tf.transpose(weights, [0, 2, 1]), tf.clip_by_value(place, 0, read - 1), batch_dims=1)
    return tf.transpose(tf.where(kept[..., None], found, tf.zeros_like(found)), [0, 2, 1])
