"""What replicas of a network share, where a `tf.distribute` strategy trains several at once: their gradients add up."""

import tensorflow as tf


def mean_of_all(total: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """`total / count` with the count of all replicas: what they return adds up to the mean over everything they saw.

    Args:
        total: the sum of a loss over what this replica saw, `[]`.
        count: of how many, `[]`.

    >>> float(mean_of_all(tf.constant(6.0), tf.constant(3)))
    2.0
    """
    replica = tf.distribute.get_replica_context()
    count = tf.cast(count, total.dtype)
    if replica is not None and replica.num_replicas_in_sync > 1:
        count = replica.all_reduce(tf.distribute.ReduceOp.SUM, count)
    return tf.math.divide_no_nan(total, count)
