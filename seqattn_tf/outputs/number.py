"""Numbers, in the graph."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.explain import draw_running
from seqattn_tf.lite.targets.number import LARGEST
from seqattn_tf.outputs.base import GraphTarget, Tensors


class GraphNumber(GraphTarget):
    """The twin of `Number`."""

    name_in_registry = "number"

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

    def draw_progress(self, tokens: Sequence[str], outputs: np.ndarray, title: str) -> Any:
        """The number after each token, from a network's outputs `[tokens, 1]`."""
        return draw_running(tokens, outputs[:, 0], title=title)
