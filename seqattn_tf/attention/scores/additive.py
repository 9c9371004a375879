"""The additive score of Bahdanau, Cho and Bengio."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.base import Score
from seqattn_tf.core.linear import linear
from seqattn_tf.core.registry import check_count


@keras.saving.register_keras_serializable("seqattn_tf")
class AdditiveScore(Score):
    """The additive score `e_j = v^T tanh(U q + W h_j)`, optionally normalized.

    The normalized form is `e_j = g v^T/|v| tanh(U q + W h_j + b)` (Salimans and Kingma, 2016), as in TensorFlow Addons'
    `BahdanauAttention(normalize=True)`. Override `seen` to add further terms to the keys.

    Args:
        units: The width of the hidden layer.
        normalize: Whether to train the length of `v` separately as `g`, initially `1 / sqrt(units)`, and to add a bias
            `b`, initially zero, to the hidden layer.

    >>> score = AdditiveScore(4)
    >>> score.build((None, None, 3), (None, None, 6))
    >>> score(tf.ones([2, 1, 3]), score.prepare(tf.ones([2, 5, 6]))).shape.as_list()
    [2, 1, 5]
    """

    name_in_registry = "additive"

    def __init__(self, units: int = 128, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = check_count("units", units)
        self.normalize = normalize

    def build(self, query_shape: Any, values_shape: Any) -> None:
        """Create `U`, `W` and `v`, and with `normalize` also `g` and `b`."""
        self.query_kernel = self.add_weight(name="query_kernel", shape=(query_shape[-1], self.units))
        self.value_kernel = self.add_weight(name="value_kernel", shape=(values_shape[-1], self.units))
        self.scale = self.add_weight(name="scale", shape=(self.units, 1))
        self.bias = None
        if self.normalize:
            start = keras.initializers.Constant(self.units**-0.5)
            self.gain = self.add_weight(name="gain", shape=(), initializer=start)
            self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros")
        self.built = True

    def prepare(self, values: tf.Tensor) -> tf.Tensor:
        """Return `W h_j` for every position."""
        return linear(values, self.value_kernel)

    def seen(self, keys: tf.Tensor, state: tuple) -> tf.Tensor:
        """Return the terms added to the projected query: `[batch, source, keys] -> [batch, source, keys]`."""
        return keys

    def _readout(self) -> tf.Tensor:
        """Return `v`, or `g v/|v|` if normalized: `[units, 1]`."""
        if not self.normalize:
            return self.scale
        return self.gain * tf.math.l2_normalize(tf.convert_to_tensor(self.scale), axis=0)

    def call(self, query: tf.Tensor, keys: tf.Tensor, state: tuple = ()) -> tf.Tensor:
        asked = linear(query, self.query_kernel, self.bias)
        seen, scale = self.seen(keys, state), self._readout()
        if query.shape[1] == 1:  # a single step of a loop: use fewer and smaller ops
            return tf.linalg.matrix_transpose(linear(tf.tanh(asked + seen), scale))
        hidden = tf.tanh(asked[:, :, None] + seen[:, None])  # [batch, queries, source, keys]
        return tf.squeeze(linear(hidden, scale), -1)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units, "normalize": self.normalize}
