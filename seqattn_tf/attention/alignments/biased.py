"""What alignments share that decide about each place by itself: a learned threshold."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.base import Alignment
from seqattn_tf.core.masking import bounded
from seqattn_tf.structured.base import floats


class BiasedAlignment(Alignment):
    """An alignment of `e_j + b` with a learned number `b`.

    Args:
        bias: the first value of `b`. At minus the logarithm of the length, about one place is selected at first; at 0
            half of all places would be, too many to learn from.
    """

    def __init__(self, bias: float = -3.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.bias = bias

    def build(self, logits_shape: Any = None) -> None:
        """Create `b`."""
        start = keras.initializers.Constant(self.bias)
        self.shift = self.add_weight(name="shift", shape=(), initializer=start, autocast=False)
        self.built = True

    def shifted(self, logits: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """`e_j + b`, in single precision at least; whatever stands where nothing is kept, it reaches nothing."""
        wide = bounded(floats(logits, "logits", 3))
        wide = tf.where(mask, wide, tf.zeros_like(wide))
        return wide + tf.cast(self.shift, wide.dtype)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "bias": self.bias}
