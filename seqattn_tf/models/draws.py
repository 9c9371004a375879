"""Noise for sampling that gives a text the same answer alone or in a batch, in Python, on a server and in LiteRT.

The noise is a hash of the seed, the text of the row, the time step and the index of the symbol, so no row depends on
its neighbors. It is computed with integer ops that are built into LiteRT, whose own random numbers are stateful.
"""

import tensorflow as tf

_GOLDEN = 0x9E3779B9
ROUNDS = ((16, 0x7FEB352D), (15, 0x846CA68B))  # shift, then multiply: a low-bias integer hash (C. Wellons)


def _mixed(bits: tf.Tensor) -> tf.Tensor:
    for shift, factor in ROUNDS:
        bits = _folded(bits, shift) * tf.constant(factor, tf.uint32)
    return _folded(bits, 16)


def _folded(bits: tf.Tensor, shift: int) -> tf.Tensor:
    return tf.bitwise.bitwise_xor(bits, tf.bitwise.right_shift(bits, tf.constant(shift, tf.uint32)))


def keys_of(ids: tf.Tensor, seed: int) -> tf.Tensor:
    """Hash each row of ids by its ids and their order, but not its trailing padding: `[batch, length] -> [batch]`.

    >>> keys = keys_of(tf.constant([[3, 4, 0], [4, 3, 0], [3, 4, 0]]), seed=0).numpy().tolist()
    >>> keys[0] == keys[2] != keys[1]
    True
    """
    places = tf.cast(tf.range(1, tf.shape(ids)[1] + 1), tf.uint32) * tf.constant(_GOLDEN, tf.uint32)
    bits = tf.bitwise.right_shift(_mixed(tf.cast(ids, tf.uint32) + places), tf.constant(16, tf.uint32))
    total = tf.reduce_sum(tf.where(ids != 0, tf.cast(bits, tf.int32), 0), axis=1)  # 16 bits each: no overflow
    return _mixed(tf.cast(total, tf.uint32) + tf.constant(seed * _GOLDEN % 2**32, tf.uint32))


def noise(size: tf.Tensor | int, keys: tf.Tensor, time: tf.Tensor) -> tf.Tensor:
    """Return numbers strictly between 0 and 1, `[batch, size]`, that depend only on the row's key, time and index.

    >>> keys = tf.constant([7, 8], tf.uint32)
    >>> bool(tf.reduce_all(noise(3, keys, time=1) == noise(9, keys, time=1)[:, :3]))
    True
    """
    rows = _mixed(keys + tf.cast(time, tf.uint32) * tf.constant(_GOLDEN, tf.uint32))
    places = tf.cast(tf.range(size), tf.uint32) * tf.constant(ROUNDS[0][1], tf.uint32)
    bits = tf.bitwise.right_shift(_mixed(rows[:, None] + places), tf.constant(9, tf.uint32))
    return (tf.cast(bits, tf.float32) + 0.5) * 2.0**-23
