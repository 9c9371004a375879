"""Cells with an input-dependent transition between states (Sutskever et al. 2011; Krause et al. 2016)."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells.base import KernelCell, recurrent_product
from seqattn_tf.cells.lstm import LSTMCell
from seqattn_tf.cells.rnn import RNNCell
from seqattn_tf.core.linear import linear

Projected = tuple[tf.Tensor, tf.Tensor]  # the projection of the cell, and the factor of the input


class _Multiplicative(KernelCell):
    """A mixin that replaces `h` by `m = (M x) * (N h)` in the cell it is combined with."""

    def build(self, input_shape: Any) -> None:
        """Create the weights of the cell, `M` and `N`."""
        super().build(input_shape)
        self.factor_kernel = self._weight("factor_kernel", (input_shape[-1], self.units), "kernel")
        self.factor_recurrent_kernel = self._weight("factor_recurrent_kernel", (self.units, self.units), "recurrent")

    def project(self, inputs: tf.Tensor, training: bool = False) -> Projected:
        """Compute `x W + b` and `M x`."""
        return super().project(inputs, training=training), linear(inputs, self.factor_kernel)

    def join(self, projected: Projected, extra: tf.Tensor) -> Projected:
        """Add a further term to what the gates read."""
        return super().join(projected[0], extra), projected[1]

    def _advance(
        self, projected: Projected, states: list[tf.Tensor], factors: tf.Tensor | None = None
    ) -> tuple[list[tf.Tensor], tuple[tf.Tensor, ...]]:
        own, factor = projected
        product = factor * recurrent_product(states[0], self.factor_recurrent_kernel)
        return super()._advance(own, [product, *states[1:]], factors)


@keras.saving.register_keras_serializable("seqattn_tf")
class MultiplicativeRNNCell(_Multiplicative, RNNCell):
    """The multiplicative recurrent cell: the input determines the transition matrix of the state.

        m = (M x) * (N h)      h' = tanh(W x + U m + b)

    Args:
        units: The size of the state and of `m`.
        **kwargs: As in `RNNCell`.

    >>> cell = MultiplicativeRNNCell(4)
    >>> output, states = cell(tf.ones([2, 3]), cell.get_initial_state(2))
    >>> output.shape.as_list()
    [2, 4]
    """

    name_in_registry = "multiplicative_rnn"


@keras.saving.register_keras_serializable("seqattn_tf")
class MultiplicativeLSTMCell(_Multiplicative, LSTMCell):
    """The multiplicative LSTM: gates and candidate read `m` in place of `h`.

        m = (M x) * (N h)      [i f g o] = [sig sig tanh sig](W x + U m + b)
        c' = f * c + i * g      h' = o * tanh(c')

    Args:
        units: The size of each of the two states and of `m`.
        **kwargs: As in `LSTMCell`.

    >>> cell = MultiplicativeLSTMCell(4)
    >>> output, states = cell(tf.ones([2, 3]), cell.get_initial_state(2))
    >>> output.shape.as_list()
    [2, 4]
    """

    name_in_registry = "multiplicative_lstm"
