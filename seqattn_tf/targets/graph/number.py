"""Numbers, in the graph."""

import keras
import tensorflow as tf

from seqattn_tf.targets.graph.base import GraphTarget, Tensors
from seqattn_tf.targets.number import LARGEST


class GraphNumber(GraphTarget):
    """The twin of `Number`."""

    padding = float("nan")  # no number stands for nothing

    def right(self, rows: Tensors) -> tf.Tensor:
        """As a network gives them: `[batch, 1]`."""
        return rows["numbers"][:, None]

    def loss(self, label_smoothing: float = 0.0) -> keras.losses.Loss:
        """The squared error."""
        return keras.losses.MeanSquaredError()

    def decide(self, outputs: tf.Tensor, mask: tf.Tensor | None = None) -> Tensors:
        """The outputs themselves, `[batch, 1]`."""
        return {"numbers": outputs, "scores": tf.zeros_like(outputs)}

    def texts(self, found: Tensors) -> tf.Tensor:
        """Rounded, in digits."""
        numbers = found["numbers"]
        rounded = tf.round(tf.where(numbers == numbers, numbers, 0.0))  # NaN is no number
        return tf.strings.as_string(tf.cast(tf.clip_by_value(rounded, -LARGEST, LARGEST), tf.int32))

    def tokens(self, found: Tensors) -> tf.Tensor:
        """The number, as one token."""
        return self.texts(found)
