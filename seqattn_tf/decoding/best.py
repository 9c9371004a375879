"""The best symbols of a vocabulary, fast.

Both TensorFlow and XLA look for the largest of a row one number after the other. Of a large vocabulary only the maximum
of each group of symbols is taken, which is done many numbers at a time: the `count` best symbols stand in the `count`
groups with the largest maxima, and only these are searched.
"""

import tensorflow as tf

from seqattn_tf.core.scan import size_of

LARGE, GROUP = 512, 64  # from how many symbols on, and how large a group is at the least


def best(logits: tf.Tensor, count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """The largest numbers of each row and where they stand, of equals the first: as `tf.math.top_k`.

    `[rows, vocabulary] -> [rows, count] x 2`; where the vocabulary is smaller than `count`, all of it.

    >>> values, symbols = best(tf.constant([[1.0, 3.0, 2.0]]), 2)
    >>> values.numpy().tolist(), symbols.numpy().tolist()
    ([[3.0, 2.0]], [[1, 2]])
    """
    size = size_of(logits, -1)
    if not isinstance(size, int):
        return tf.math.top_k(logits, tf.minimum(count, size))
    group = next((g for g in range(GROUP, 2 * GROUP) if size % g == 0), GROUP)
    groups = -(-size // group)
    if size < LARGE or groups < 2 * count:
        return tf.math.top_k(logits, min(count, size))
    if size % group:
        logits = tf.pad(logits, [[0, 0], [0, groups * group - size]], constant_values=-float("inf"))
    rows = tf.shape(logits)[0]
    parts = tf.reshape(logits, [rows, groups, group])
    _, chosen = tf.math.top_k(tf.reduce_max(parts, axis=-1), count)  # [rows, count]
    chosen = -tf.math.top_k(-chosen, count)[0]  # in their order, so that the first of equals stays the first
    left = tf.reshape(tf.gather(parts, chosen, batch_dims=1), [rows, count * group])
    values, places = tf.math.top_k(left, count)
    return values, tf.gather(chosen, places // group, batch_dims=1) * group + places % group
