"""Fast selection of the best symbols of a vocabulary.

Both TensorFlow and XLA search a row for its maximum one number at a time. For a large vocabulary, only the maximum of
each group of symbols is computed over all numbers, which is vectorized. The `count` best symbols lie in the `count`
groups with the largest maxima, and only these groups are searched.
"""

import tensorflow as tf

from seqattn_tf.core.scan import size_of

LARGE, GROUP = 512, 64  # the minimum vocabulary size for grouping, and the minimum group size


def best(logits: tf.Tensor, count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the largest numbers of each row and their indices, the first of equal ones first, like `tf.math.top_k`.

    `[rows, vocabulary] -> [rows, count] x 2`. If the vocabulary is smaller than `count`, return all of it.

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
    chosen = -tf.math.top_k(-chosen, count)[0]  # sorted, so that the first of equal numbers remains first
    left = tf.reshape(tf.gather(parts, chosen, batch_dims=1), [rows, count * group])
    values, places = tf.math.top_k(left, count)
    return values, tf.gather(chosen, places // group, batch_dims=1) * group + places % group
