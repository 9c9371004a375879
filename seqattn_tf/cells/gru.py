"""The gated recurrent unit, compatible with Keras's weights and results (blocks in the order z, r, h)."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells.base import GatedCell, recurrent_product
from seqattn_tf.core.linear import linear


@keras.saving.register_keras_serializable("seqattn_tf")
class GRUCell(GatedCell):
    """The gated recurrent unit.

        z = sig(W_z x + U_z h + b_z)      r = sig(W_r x + U_r h + b_r)
        c = tanh(W_h x + b_h + r * (U_h h + d_h))      or, without `reset_after`,      tanh(W_h x + b_h + U_h (r * h))
        h' = z * h + (1 - z) * c

    Args:
        units: The size of the state.
        activation, recurrent_activation: The activations of the candidate and of the gates.
        reset_after: Whether to apply the reset gate after the recurrent product (Keras's default, which saves one
            product) or before it (Cho et al. 2014).
        **kwargs: `use_bias`, and the initializer, regularizer and constraint of each weight, as in Keras
            (`KernelCell`).

    >>> cell = GRUCell(4)
    >>> output, states = cell(tf.ones([2, 3]), cell.get_initial_state(2))
    >>> output.shape.as_list()
    [2, 4]
    """

    name_in_registry = "gru"
    blocks = ("update", "reset", "candidate")

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        reset_after: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, activation, recurrent_activation, **kwargs)
        self.reset_after = reset_after

    def bias_shape(self) -> tuple[int, ...]:
        """Return the shape of `bias`: with `reset_after`, one row for the inputs and one for the recurrence."""
        return (2, self.projected_size) if self.reset_after else (self.projected_size,)

    def project(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Compute `x W + b`: `[..., features] -> [..., 3 units]`."""
        return self._product(inputs, self._bias_of(0))

    def _bias_of(self, side: int) -> tf.Tensor | None:
        """Return the bias of the inputs (0) or of the recurrence (1), or None if there is none."""
        return self.bias[side] if self.bias is not None and self.reset_after else self.bias

    def _recurrence(self, hidden: tf.Tensor, factors: tf.Tensor | None) -> tf.Tensor:
        """Compute `h U + d`: for all blocks with `reset_after`, otherwise for the two gates."""
        if self.reset_after:
            return recurrent_product(hidden, self.recurrent_kernel, self._bias_of(1), factors)
        gates = 2 * self.units
        return recurrent_product(
            hidden, self.recurrent_kernel[:, :gates], factors=None if factors is None else factors[:, :gates]
        )

    def _advance(
        self, projected: tf.Tensor, states: list[tf.Tensor], factors: tf.Tensor | None = None
    ) -> tuple[list[tf.Tensor], tuple[tf.Tensor, ...]]:
        (hidden,) = states
        gates = 2 * self.units
        given, given_candidate = tf.split(projected, [gates, self.units], axis=-1)  # its gradient is one concat
        own = self._recurrence(hidden, factors)
        if self.reset_after:
            own, own_candidate = tf.split(own, [gates, self.units], axis=-1)
        update, reset = tf.split(self._opened(given + own), 2, axis=-1)
        if self.reset_after:
            own_candidate = reset * own_candidate
        else:
            read = hidden if factors is None else hidden * factors[:, gates:]
            own_candidate = linear(reset * read, self.recurrent_kernel[:, gates:])
        candidate = self.activation(given_candidate + own_candidate)
        return [candidate + update * (hidden - candidate)], (update, reset, candidate)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "reset_after": self.reset_after}
