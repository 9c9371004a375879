"""The simple recurrent cell, compatible with Keras's weights and results."""

import keras
import tensorflow as tf

from seqattn_tf.cells.base import KernelCell, recurrent_product


@keras.saving.register_keras_serializable("seqattn_tf")
class RNNCell(KernelCell):
    """The simple recurrent cell.

        h' = tanh(W x + U h + b)

    Args:
        units: The size of the state.
        activation: The activation of the state.
        **kwargs: `use_bias`, and the initializer, regularizer and constraint of each weight, as in Keras
            (`KernelCell`).

    >>> cell = RNNCell(4)
    >>> output, states = cell(tf.ones([2, 3]), cell.get_initial_state(2))
    >>> output.shape.as_list()
    [2, 4]
    """

    name_in_registry = "rnn"
    blocks = ("candidate",)

    def _advance(
        self, projected: tf.Tensor, states: list[tf.Tensor], factors: tf.Tensor | None = None
    ) -> tuple[list[tf.Tensor], tuple[tf.Tensor, ...]]:
        hidden = self.activation(projected + recurrent_product(states[0], self.recurrent_kernel, factors=factors))
        return [hidden], (hidden,)
