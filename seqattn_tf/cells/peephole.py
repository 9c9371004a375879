"""An LSTM whose gates read the cell state (Gers and Schmidhuber 2000)."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells.lstm import LSTMCell


@keras.saving.register_keras_serializable("seqattn_tf")
class PeepholeLSTMCell(LSTMCell):
    """An LSTM with peepholes: every gate reads the cell state unit by unit, which lets the cell learn precise timing.

        i = sig(W_i x + U_i h + p_i * c + b_i)      f = sig(W_f x + U_f h + p_f * c + b_f)
        c' = f * c + i * tanh(W_g x + U_g h + b_g)
        o = sig(W_o x + U_o h + p_o * c' + b_o)      h' = o * tanh(c')

    The results equal those of TensorFlow Addons' `PeepholeLSTMCell`; the three rows of its `peepholes` are i, f, o.

    Args:
        units: The size of each of the two states.
        peephole_initializer, peephole_regularizer, peephole_constraint: Those of the peepholes.
        **kwargs: As in `LSTMCell`.

    >>> cell = PeepholeLSTMCell(4)
    >>> output, states = cell(tf.ones([2, 3]), cell.get_initial_state(2))
    >>> tuple(cell.peepholes.shape)
    (3, 4)
    """

    name_in_registry = "peephole_lstm"
    looking = ("input", "forget", "output")  # the rows of the peepholes

    def __init__(
        self,
        units: int,
        peephole_initializer: Any = "glorot_uniform",
        peephole_regularizer: Any = None,
        peephole_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, **kwargs)
        self._keep("peephole", peephole_initializer, peephole_regularizer, peephole_constraint)

    def build(self, input_shape: Any) -> None:
        """Create the weights of the LSTM and the peepholes."""
        super().build(input_shape)
        self.peepholes = self._weight("peepholes", (len(self.looking), self.units), "peephole")

    def _activated(self, drives: tf.Tensor, memory: tf.Tensor) -> dict[str, tf.Tensor]:
        """Return the activation of every block; for the output gate, which needs the new state, its pre-activation."""
        found = self._by_block(drives)
        looking = {name: self._peeping(name, found[name], memory) for name in ("input", "forget")}
        return {**found, **looking, "candidate": self.activation(found["candidate"])}

    def _output(self, output: tf.Tensor, memory: tf.Tensor) -> tf.Tensor:
        return self._peeping("output", output, memory)

    def _peeping(self, name: str, drive: tf.Tensor, memory: tf.Tensor) -> tf.Tensor:
        row = tf.cast(self.peepholes[self.looking.index(name)], memory.dtype)
        return self._opened(drive + row * memory)
