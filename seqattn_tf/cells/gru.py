"""The gated recurrent unit, with Keras's weights and numbers (`reset_after=True`, gates in the order z, r, h)."""

import keras
import tensorflow as tf

from seqattn_tf.cells.base import GatedCell
from seqattn_tf.linear import linear


@keras.saving.register_keras_serializable("seqattn_tf")
class GRUCell(GatedCell):
    """Gated recurrent unit.

        z = sig(W_z x + U_z h + b_z)      r = sig(W_r x + U_r h + b_r)
        c = tanh(W_h x + b_h + r * (U_h h + d_h))
        h' = z * h + (1 - z) * c

    Args:
        units: size of the state.
        activation, recurrent_activation: of the candidate, of the gates.
        kernel_initializer, recurrent_initializer, bias_initializer: as in Keras.

    >>> cell = GRUCell(4)
    >>> output, states = cell(tf.ones([2, 3]), cell.get_initial_state(2))
    >>> output.shape.as_list()
    [2, 4]
    """

    name_in_registry = "gru"
    gate_count = 3

    @property
    def state_size(self) -> list[int]:
        """One state, the hidden vector."""
        return [self.units]

    def bias_shape(self) -> tuple[int, ...]:
        """One row for the inputs, one for the recurrence."""
        return (2, 3 * self.units)

    def project(self, inputs: tf.Tensor) -> tf.Tensor:
        """`x W + b`: `[..., features] -> [..., 3 units]`."""
        return linear(inputs, self.kernel, self.bias[0])

    def _activations(self, projected: tf.Tensor, hidden: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        recurrent = linear(hidden, self.recurrent_kernel, self.bias[1])
        input_update, input_reset, input_candidate = tf.split(projected, 3, axis=-1)
        own_update, own_reset, own_candidate = tf.split(recurrent, 3, axis=-1)
        update = self.recurrent_activation(input_update + own_update)
        reset = self.recurrent_activation(input_reset + own_reset)
        return update, reset, self.activation(input_candidate + reset * own_candidate)

    def step(self, projected: tf.Tensor, states: list[tf.Tensor]) -> list[tf.Tensor]:
        """One step: `[batch, 3 units], [[batch, units]] -> [[batch, units]]`."""
        (hidden,) = states
        update, _, candidate = self._activations(projected, hidden)
        return [update * hidden + (1 - update) * candidate]

    def gates(self, inputs: tf.Tensor, states: list[tf.Tensor]) -> dict[str, tf.Tensor]:
        """`update`, `reset` and `candidate` of one step, each `[batch, units]`."""
        names = ("update", "reset", "candidate")
        return dict(zip(names, self._activations(self.project(inputs), states[0]), strict=True))
