"""Averages over the replicas that a `tf.distribute` strategy trains at once and whose gradients it sums."""

import tensorflow as tf


def mean_of_all(total: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """Return `total / count` with the count of all replicas, so that the sum over replicas is the overall mean.

    Args:
        total: The sum of a loss over the data of this replica, `[]`.
        count: The number of terms in this sum, `[]`.

    >>> float(mean_of_all(tf.constant(6.0), tf.constant(3)))
    2.0
    """
    replica = tf.distribute.get_replica_context()
    count = tf.cast(count, total.dtype)
    if replica is not None and replica.num_replicas_in_sync > 1:
        count = replica.all_reduce(tf.distribute.ReduceOp.SUM, count)
    return tf.math.divide_no_nan(total, count)
