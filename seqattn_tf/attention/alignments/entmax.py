"""1.5-entmax alignment: between softmax and sparsemax, with exact zeros and a smooth transition to them."""

import keras
import tensorflow as tf

from seqattn_tf.attention.alignments.sparse import SparseAlignment


@keras.saving.register_keras_serializable("seqattn_tf")
class EntmaxAlignment(SparseAlignment):
    """1.5-entmax alignment: `alpha_j = max(e_j / 2 - tau, 0)^2` (Peters, Niculae and Martins, 2019).

    >>> weights, _ = EntmaxAlignment()(tf.constant([[[0.0, 0.0, -9.0]]]), tf.constant([[[True, True, True]]]))
    >>> weights.numpy().round(3).tolist()
    [[[0.5, 0.5, 0.0]]]
    """

    name_in_registry = "entmax"
    scale, power = 0.5, 2

    def threshold(self, count: tf.Tensor, mean: tf.Tensor, mean_square: tf.Tensor) -> tf.Tensor:
        """Return the smaller root of `sum (z_j - tau)^2 = 1`, or the mean if there is no root.

        The mean exceeds the smallest score, so that this number of positions is rejected.
        """
        spread = (1 - count * (mean_square - mean**2)) / count
        return mean - tf.sqrt(tf.maximum(spread, 0))
