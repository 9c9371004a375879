"""The base class of alignments that decide on each position separately, with a trainable threshold."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.base import Alignment
from seqattn_tf.core.masking import bounded
from seqattn_tf.structured.base import floats


class BiasedAlignment(Alignment):
    """An alignment of `e_j + b` with a trainable scalar `b`.

    Args:
        bias: The initial value of `b`. At minus the logarithm of the length, about one position is selected before
            training; at 0, half of all positions are, which is too many to train from.
    """

    def __init__(self, bias: float = -3.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.bias = bias

    def build(self, logits_shape: Any = None) -> None:
        start = keras.initializers.Constant(self.bias)
        self.shift = self.add_weight(name="shift", shape=(), initializer=start, autocast=False)
        self.built = True

    def shifted(self, logits: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """Return `e_j + b` in at least single precision; masked logits count as 0, whatever their value."""
        wide = bounded(floats(logits, "logits", 3))
        wide = tf.where(mask, wide, tf.zeros_like(wide))
        return wide + tf.cast(self.shift, wide.dtype)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "bias": self.bias}
