"""What training minimises."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.replicas import mean_of_all
from seqattn_tf.scan import size_of


@keras.saving.register_keras_serializable("seqattn_tf")
class MaskedCrossEntropy(keras.losses.Loss):
    """Cross-entropy per symbol in nats, padding left out; a batch counts by its symbols, not by its rows.

        loss = sum_{t: y_t != padding} -[(1 - s) log p(y_t) + s mean_k log p(k)] / #{t: y_t != padding}

    Args:
        label_smoothing: `s`, the share spread evenly over all symbols.
        first: the number that the first logit is of.
        padding: the number that stands for nothing.

    >>> float(MaskedCrossEntropy()(tf.constant([[1, 0]]), tf.constant([[[0.0, 0.0], [9.0, 0.0]]]))) == tf.math.log(2.0)
    <tf.Tensor: shape=(), dtype=bool, numpy=True>
    """

    def __init__(self, label_smoothing: float = 0.0, first: int = 0, padding: int = 0, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "reduction": "none"})
        self.label_smoothing, self.first, self.padding = label_smoothing, first, padding

    def call(self, y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
        """`[batch, ...], [batch, ..., classes] -> []`."""
        logits, numbers = tf.cast(y_pred, tf.float32), tf.cast(y_true, tf.int32)
        loss = self._of_places(tf.maximum(numbers - self.first, 0), logits)
        keep = tf.cast(numbers != self.padding, loss.dtype)
        return mean_of_all(tf.reduce_sum(loss * keep), tf.reduce_sum(keep))

    def _of_places(self, right: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
        """The loss of each place, by one kernel that finds the gradient with it: `[...], [..., classes] -> [...]`."""
        if not self.label_smoothing:
            return tf.nn.sparse_softmax_cross_entropy_with_logits(right, logits)
        classes = size_of(logits, -1)
        spread = self.label_smoothing / tf.cast(classes, tf.float32)
        wanted = tf.one_hot(right, classes, 1 - self.label_smoothing + spread, spread)
        return tf.nn.softmax_cross_entropy_with_logits(wanted, logits)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        own = {"label_smoothing": self.label_smoothing, "first": self.first, "padding": self.padding}
        return {**super().get_config(), **own}
