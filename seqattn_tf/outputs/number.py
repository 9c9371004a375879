"""The graph counterpart of numbers."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.explain import draw_running
from seqattn_tf.lite.targets.number import LARGEST
from seqattn_tf.outputs.base import GraphTarget, Tensors


class GraphNumber(GraphTarget):
    """The graph counterpart of `Number`."""

    name_in_registry = "number"

    padding = float("nan")  # no number is reserved for padding

    def y_true(self, rows: Tensors) -> tf.Tensor:
        """Return the correct numbers in the shape of a network's outputs: `[batch, 1]`."""
        return rows["numbers"][:, None]

    def loss(self, label_smoothing: float = 0.0) -> keras.losses.Loss:
        """Return the squared error."""
        return keras.losses.MeanSquaredError()

    def decode(self, outputs: tf.Tensor, mask: tf.Tensor | None = None) -> Tensors:
        """Return the outputs unchanged, `[batch, 1]`."""
        return {"numbers": outputs, "scores": tf.zeros_like(outputs)}

    def texts(self, found: Tensors) -> tf.Tensor:
        """Return the rounded numbers in digits."""
        numbers = found["numbers"]
        rounded = tf.round(tf.where(numbers == numbers, numbers, 0.0))  # NaN cannot be cast to an integer
        return tf.strings.as_string(tf.cast(tf.clip_by_value(rounded, -LARGEST, LARGEST), tf.int32))

    def tokens(self, found: Tensors) -> tf.Tensor:
        """Return the number as a single token."""
        return self.texts(found)

    def draw_progress(self, tokens: Sequence[str], outputs: np.ndarray, title: str) -> Any:
        """Plot the number after each token, given a network's outputs `[tokens, 1]`."""
        return draw_running(tokens, outputs[:, 0], title=title)
