"""The long short-term memory cell, with Keras's weights and numbers (gates in the order i, f, g, o)."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells.base import GatedCell
from seqattn_tf.linear import linear


@keras.saving.register_keras_serializable("seqattn_tf")
class LSTMCell(GatedCell):
    """Long short-term memory.

        [i f g o] = [sig sig tanh sig](W x + U h + b)
        c' = f * c + i * g
        h' = o * tanh(c')

    Args:
        units: size of each of the two states.
        unit_forget_bias: start the forget gate's bias at one, so that a new cell remembers.
        **kwargs: `activation`, `recurrent_activation` and initializers, as in `GRUCell`.

    >>> cell = LSTMCell(4)
    >>> output, (hidden, memory) = cell(tf.ones([2, 3]), cell.get_initial_state(2))
    >>> memory.shape.as_list()
    [2, 4]
    """

    name_in_registry = "lstm"
    gate_count = 4

    def __init__(self, units: int, unit_forget_bias: bool = True, **kwargs: Any) -> None:
        super().__init__(units, **kwargs)
        self.unit_forget_bias = unit_forget_bias

    @property
    def state_size(self) -> list[int]:
        """The hidden vector and the memory."""
        return [self.units, self.units]

    def initial_bias(self, shape: tuple[int, ...], dtype: Any = None) -> tf.Tensor:
        """The forget gate may start open."""
        bias = super().initial_bias(shape, dtype)
        if not self.unit_forget_bias:
            return bias
        before, _, after = tf.split(bias, [self.units, self.units, 2 * self.units], axis=0)
        return tf.concat([before, tf.ones([self.units], bias.dtype), after], axis=0)

    def _activations(self, projected: tf.Tensor, hidden: tf.Tensor) -> tuple[tf.Tensor, ...]:
        entry, forget, candidate, exit_ = tf.split(projected + linear(hidden, self.recurrent_kernel), 4, axis=-1)
        gate = self.recurrent_activation
        return gate(entry), gate(forget), self.activation(candidate), gate(exit_)

    def step(self, projected: tf.Tensor, states: list[tf.Tensor]) -> list[tf.Tensor]:
        """One step: `[batch, 4 units], [hidden, memory] -> [hidden, memory]`."""
        hidden, memory = states
        entry, forget, candidate, exit_ = self._activations(projected, hidden)
        memory = forget * memory + entry * candidate
        return [exit_ * self.activation(memory), memory]

    def gates(self, inputs: tf.Tensor, states: list[tf.Tensor]) -> dict[str, tf.Tensor]:
        """`input`, `forget`, `candidate` and `output` of one step, each `[batch, units]`."""
        names = ("input", "forget", "candidate", "output")
        return dict(zip(names, self._activations(self.project(inputs), states[0]), strict=True))

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "unit_forget_bias": self.unit_forget_bias}
