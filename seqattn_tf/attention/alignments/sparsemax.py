"""Sparsemax alignment: the distribution nearest to the scores, with exact zeros."""

import keras
import tensorflow as tf

from seqattn_tf.attention.alignments.sparse import SparseAlignment


@keras.saving.register_keras_serializable("seqattn_tf")
class SparsemaxAlignment(SparseAlignment):
    """Sparsemax alignment: `max(e_j - tau, 0)`, which is `argmin |p - e|^2` over distributions `p`.

    Reference: Martins and Astudillo, 2016.

    >>> weights, _ = SparsemaxAlignment()(tf.constant([[[1.0, 0.5, -1.0]]]), tf.constant([[[True, True, True]]]))
    >>> weights.numpy().tolist()
    [[[0.75, 0.25, 0.0]]]
    """

    name_in_registry = "sparsemax"
    scale, power = 1.0, 1

    def threshold(self, count: tf.Tensor, mean: tf.Tensor, mean_square: tf.Tensor) -> tf.Tensor:
        """Return the solution of `sum (z_j - tau) = 1`."""
        return mean - 1 / count
