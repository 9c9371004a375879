"""What training minimises."""

from typing import Any

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable("seqattn_tf")
class MaskedCrossEntropy(keras.losses.Loss):
    """Cross-entropy per symbol in nats, padding (id 0) left out; a batch counts by its symbols, not by its rows.

        loss = sum_{t: y_t != 0} -[(1 - s) log p(y_t) + s mean_k log p(k)] / #{t: y_t != 0}

    Args:
        label_smoothing: `s`, the share spread evenly over all symbols.

    >>> float(MaskedCrossEntropy()(tf.constant([[1, 0]]), tf.constant([[[0.0, 0.0], [9.0, 0.0]]]))) == tf.math.log(2.0)
    <tf.Tensor: shape=(), dtype=bool, numpy=True>
    """

    def __init__(self, label_smoothing: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "reduction": "none"})
        self.label_smoothing = label_smoothing

    def call(self, y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
        """`[batch, target], [batch, target, vocabulary] -> []`."""
        log_probabilities = tf.nn.log_softmax(tf.cast(y_pred, tf.float32))
        labels = tf.cast(y_true, tf.int32)
        right = tf.gather(log_probabilities, labels, batch_dims=2)
        spread = tf.reduce_mean(log_probabilities, axis=-1)
        loss = -((1 - self.label_smoothing) * right + self.label_smoothing * spread)
        keep = tf.cast(labels != 0, loss.dtype)
        return tf.math.divide_no_nan(tf.reduce_sum(loss * keep), tf.reduce_sum(keep))

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "label_smoothing": self.label_smoothing}
