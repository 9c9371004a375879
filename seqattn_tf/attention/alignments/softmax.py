"""Softmax alignment: the weights are a distribution over positions."""

import keras
import tensorflow as tf

from seqattn_tf.attention.base import Alignment
from seqattn_tf.core.masking import masked_softmax


@keras.saving.register_keras_serializable("seqattn_tf")
class SoftmaxAlignment(Alignment):
    """Softmax alignment: `alpha_j = exp(e_j) / sum_k exp(e_k)` over the unmasked positions.

    >>> weights, _ = SoftmaxAlignment()(tf.zeros([1, 1, 2]), tf.constant([[[True, True]]]))
    >>> weights.numpy().tolist()
    [[[0.5, 0.5]]]
    """

    name_in_registry = "softmax"
    meaning = "distribution"

    def call(
        self, logits: tf.Tensor, mask: tf.Tensor, state: tuple = (), training: bool = False
    ) -> tuple[tf.Tensor, tuple]:
        return masked_softmax(logits, mask), state
