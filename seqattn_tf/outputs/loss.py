"""Loss functions for training."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.replicas import mean_of_all
from seqattn_tf.core.scan import size_of


@keras.saving.register_keras_serializable("seqattn_tf")
class MaskedCrossEntropy(keras.losses.Loss):
    """The cross-entropy per symbol in nats, without padding, averaged over the symbols of a batch rather than its rows.

        loss = sum_{t: y_t != padding} -[(1 - s) log p(y_t) + s mean_k log p(k)] / #{t: y_t != padding}

    Args:
        label_smoothing: The fraction `s` of probability that is spread evenly over all symbols.
        first: The number that corresponds to the first logit.
        padding: The number that marks padding.

    >>> float(MaskedCrossEntropy()(tf.constant([[1, 0]]), tf.constant([[[0.0, 0.0], [9.0, 0.0]]]))) == tf.math.log(2.0)
    <tf.Tensor: shape=(), dtype=bool, numpy=True>
    """

    def __init__(self, label_smoothing: float = 0.0, first: int = 0, padding: int = 0, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "reduction": "none"})
        self.label_smoothing, self.first, self.padding = label_smoothing, first, padding

    def call(self, y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
        """Compute the loss: `[batch, ...], [batch, ..., classes] -> []`."""
        logits, numbers = tf.cast(y_pred, tf.float32), tf.cast(y_true, tf.int32)
        loss = self._of_places(tf.maximum(numbers - self.first, 0), logits)
        keep = tf.cast(numbers != self.padding, loss.dtype)
        return mean_of_all(tf.reduce_sum(loss * keep), tf.reduce_sum(keep))

    def _of_places(self, right: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
        """Return the loss of each position: `[...], [..., classes] -> [...]`.

        A fused kernel also computes its gradient.
        """
        if not self.label_smoothing:
            return tf.nn.sparse_softmax_cross_entropy_with_logits(right, logits)
        classes = size_of(logits, -1)
        spread = self.label_smoothing / tf.cast(classes, tf.float32)
        wanted = tf.one_hot(right, classes, 1 - self.label_smoothing + spread, spread)
        return tf.nn.softmax_cross_entropy_with_logits(wanted, logits)

    def get_config(self) -> dict[str, Any]:
        own = {"label_smoothing": self.label_smoothing, "first": self.first, "padding": self.padding}
        return {**super().get_config(), **own}


@keras.saving.register_keras_serializable("seqattn_tf")
class SoftCrossEntropy(keras.losses.Loss):
    """The cross-entropy per symbol in nats with target probabilities, such as those of a teacher.

        wanted(k) = sum_{j: i_j = k} p_j + (1 - sum_j p_j) / classes
        loss = sum_t -sum_k wanted_t(k) log p_t(k) / #{t: sum_j p_tj > 0}

    The target of a position, `[..., 2 n]`, consists of the indices `i` of `n` logits followed by their probabilities
    `p`. The remaining probability is spread evenly over all classes. Positions whose probabilities are all zero are
    ignored.

    >>> loss = SoftCrossEntropy()(tf.constant([[1.0, 0.0, 0.5, 0.5]]), tf.constant([[0.0, 0.0]]))
    >>> float(loss) == tf.math.log(2.0)
    <tf.Tensor: shape=(), dtype=bool, numpy=True>
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "reduction": "none"})

    def call(self, y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
        """Compute the loss: `[batch, ..., 2 n], [batch, ..., classes] -> []`."""
        logits = tf.cast(y_pred, tf.float32)
        classes = size_of(logits, -1)
        numbers, shares = tf.split(tf.cast(y_true, tf.float32), 2, axis=-1)
        each = zip(tf.unstack(tf.cast(numbers, tf.int32), axis=-1), tf.unstack(shares, axis=-1), strict=True)
        total = tf.reduce_sum(shares, axis=-1)
        wanted = tf.add_n([tf.one_hot(number, classes) * share[..., None] for number, share in each])
        wanted += ((1 - total) / tf.cast(classes, tf.float32))[..., None]
        keep = tf.cast(total > 0, tf.float32)
        loss = tf.nn.softmax_cross_entropy_with_logits(wanted, logits)
        return mean_of_all(tf.reduce_sum(loss * keep), tf.reduce_sum(keep))
