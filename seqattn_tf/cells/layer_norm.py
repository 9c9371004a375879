"""Cells with layer normalization of the pre-activations (Ba et al. 2016).

The terms of the pre-activation are normalized at every step, in `step`. What a layer joins to the projection, such as a
context, counts as an input and is normalized with the other inputs.
"""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells.base import recurrent_product, shifted
from seqattn_tf.cells.gru import GRUCell
from seqattn_tf.cells.lstm import LSTMCell


def normalise(values: tf.Tensor, epsilon: float) -> tf.Tensor:
    """Normalize each row to mean 0 and variance 1, or less if its variance is near `epsilon`, in at least float32.

    >>> normalise(tf.constant([[1.0, 3.0], [2.0, 2.0]]), 1e-9).numpy().tolist()
    [[-1.0, 1.0], [0.0, 0.0]]
    """
    wide = tf.cast(values, tf.float32) if values.dtype.size < 4 else values
    centred = wide - tf.reduce_mean(wide, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True)
    return tf.cast(centred * tf.math.rsqrt(variance + epsilon), values.dtype)


def _checked(epsilon: float) -> float:
    if not epsilon > 0:
        raise ValueError(f"epsilon: expected a positive number. Received: {epsilon!r}")
    return epsilon


@keras.saving.register_keras_serializable("seqattn_tf")
class LayerNormLSTMCell(LSTMCell):
    """A layer-normalized LSTM; `N` normalizes a row to mean 0 and variance 1.

        [i f g o] = [sig sig tanh sig](a * N(W x) + d * N(U h) + b)
        c' = f * c + i * g
        h' = o * tanh(v * N(c') + w)

    The bias `b` is the shift of the first two normalizations: with `use_bias=False` they have none, whereas the cell
    state keeps its shift `w`. The paper carries `c'` over unchanged. TensorFlow Addons' `LayerNormLSTMCell` carries `v
    * N(c') + w` over, as this cell does with `carry_normalised`.

    Args:
        units: The size of each of the two states.
        epsilon: The number added to the variance.
        carry_normalised: Whether the normalized cell state is carried over.
        **kwargs: As in `LSTMCell`.

    >>> cell = LayerNormLSTMCell(4)
    >>> output, states = cell(tf.ones([2, 3]), cell.get_initial_state(2))
    >>> output.shape.as_list()
    [2, 4]
    """

    name_in_registry = "layer_norm_lstm"

    def __init__(self, units: int, epsilon: float = 1e-3, carry_normalised: bool = False, **kwargs: Any) -> None:
        super().__init__(units, **kwargs)
        self.epsilon = _checked(epsilon)
        self.carry_normalised = carry_normalised

    def build(self, input_shape: Any) -> None:
        """Create the weights of the LSTM, the gains, and the shift of the cell state."""
        super().build(input_shape)
        self.gain = self.add_weight(name="gain", shape=(2, self.projected_size), initializer="ones")
        self.memory_gain = self.add_weight(name="memory_gain", shape=(self.units,), initializer="ones")
        self.memory_shift = self.add_weight(name="memory_shift", shape=(self.units,), initializer="zeros")

    def project(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Compute `x W`; the bias is added after the normalization."""
        return self._product(inputs)

    def _drives(self, projected: tf.Tensor, hidden: tf.Tensor, factors: tf.Tensor | None) -> tf.Tensor:
        own = recurrent_product(hidden, self.recurrent_kernel, factors=factors)
        gain = tf.cast(self.gain, own.dtype)
        drives = gain[0] * normalise(projected, self.epsilon) + gain[1] * normalise(own, self.epsilon)
        return shifted(drives, self.bias)

    def _settle(self, memory: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        gain, shift = tf.cast(self.memory_gain, memory.dtype), tf.cast(self.memory_shift, memory.dtype)
        shown = gain * normalise(memory, self.epsilon) + shift
        return shown, shown if self.carry_normalised else memory

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "epsilon": self.epsilon, "carry_normalised": self.carry_normalised}


@keras.saving.register_keras_serializable("seqattn_tf")
class LayerNormGRUCell(GRUCell):
    """A layer-normalized gated recurrent unit; `N` normalizes a row to mean 0 and variance 1.

        [z r] = sig(a * N(W_zr x) + b + d * N(U_zr h) + e)
        c = tanh(a' * N(W_h x) + b' + r * (d' * N(U_h h) + e'))
        h' = z * h + (1 - z) * c

    Inputs and recurrence are normalized separately; in each, the two gates are normalized together and the candidate on
    its own. The shifts are the biases of a `GRUCell` with `reset_after`: with `use_bias=False` there are none.

    Args:
        units: The size of the state.
        epsilon: The number added to the variance.
        **kwargs: As in `GRUCell`, where `reset_after` must be True.

    >>> cell = LayerNormGRUCell(4)
    >>> output, states = cell(tf.ones([2, 3]), cell.get_initial_state(2))
    >>> output.shape.as_list()
    [2, 4]
    """

    name_in_registry = "layer_norm_gru"

    def __init__(self, units: int, epsilon: float = 1e-3, **kwargs: Any) -> None:
        super().__init__(units, **kwargs)
        if not self.reset_after:
            raise ValueError(
                f"reset_after: expected True, because the product is normalized. Received: {self.reset_after!r}"
            )
        self.epsilon = _checked(epsilon)

    def build(self, input_shape: Any) -> None:
        """Create the weights of the GRU and the gains of inputs and recurrence."""
        super().build(input_shape)
        self.gain = self.add_weight(name="gain", shape=(2, self.projected_size), initializer="ones")

    def project(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Compute `x W`; the bias is added after the normalization."""
        return self._product(inputs)

    def _normalised(self, values: tf.Tensor, side: int) -> tf.Tensor:
        """Normalize, scale and shift the gates and the candidate: `[batch, 3 units]`."""
        parts = tf.split(values, [2 * self.units, self.units], axis=-1)
        values = tf.concat([normalise(part, self.epsilon) for part in parts], axis=-1)
        return shifted(tf.cast(self.gain[side], values.dtype) * values, self._bias_of(side))

    def _recurrence(self, hidden: tf.Tensor, factors: tf.Tensor | None) -> tf.Tensor:
        return self._normalised(recurrent_product(hidden, self.recurrent_kernel, factors=factors), 1)

    def _advance(
        self, projected: tf.Tensor, states: list[tf.Tensor], factors: tf.Tensor | None = None
    ) -> tuple[list[tf.Tensor], tuple[tf.Tensor, ...]]:
        return super()._advance(self._normalised(projected, 0), states, factors)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "epsilon": self.epsilon}
