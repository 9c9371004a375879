"""Sigmoid alignment: every position is selected or not, independently of the others."""

import keras
import tensorflow as tf

from seqattn_tf.attention.alignments.biased import BiasedAlignment


@keras.saving.register_keras_serializable("seqattn_tf")
class SigmoidAlignment(BiasedAlignment):
    """Sigmoid alignment: `alpha_j = sigmoid(e_j + b)`, the probability that position `j` is selected.

    Args:
        bias: The initial value of the trainable `b`, best near minus the logarithm of the length.

    >>> weights, _ = SigmoidAlignment(bias=0.0)(tf.zeros([1, 1, 2]), tf.constant([[[True, False]]]))
    >>> weights.numpy().tolist()
    [[[0.5, 0.0]]]
    """

    name_in_registry = "sigmoid"
    meaning = "independent"

    def call(
        self, logits: tf.Tensor, mask: tf.Tensor, state: tuple = (), training: bool = False
    ) -> tuple[tf.Tensor, tuple]:
        weights = tf.cast(tf.sigmoid(self.shifted(logits, mask)), logits.dtype)
        return tf.where(mask, weights, tf.zeros_like(weights)), state
