"""An LSTM whose gates look at the memory (Gers and Schmidhuber 2000)."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells.lstm import LSTMCell


@keras.saving.register_keras_serializable("seqattn_tf")
class PeepholeLSTMCell(LSTMCell):
    """Long short-term memory with peepholes: every gate sees the memory, unit by unit, and learns to time itself.

        i = sig(W_i x + U_i h + p_i * c + b_i)      f = sig(W_f x + U_f h + p_f * c + b_f)
        c' = f * c + i * tanh(W_g x + U_g h + b_g)
        o = sig(W_o x + U_o h + p_o * c' + b_o)      h' = o * tanh(c')

    The numbers of TensorFlow Addons' `PeepholeLSTMCell`; the three rows of its `peepholes` are i, f, o.

    Args:
        units: size of each of the two states.
        peephole_initializer, peephole_regularizer, peephole_constraint: of the peepholes.
        **kwargs: as in `LSTMCell`.

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
        """The LSTM's weights, and the peepholes."""
        super().build(input_shape)
        self.peepholes = self._weight("peepholes", (len(self.looking), self.units), "peephole")

    def _activated(self, drives: tf.Tensor, memory: tf.Tensor) -> dict[str, tf.Tensor]:
        """The output gate has to wait for the new memory: it stays a drive."""
        found = self._by_block(drives)
        looking = {name: self._peeping(name, found[name], memory) for name in ("input", "forget")}
        return {**found, **looking, "candidate": self.activation(found["candidate"])}

    def _output(self, output: tf.Tensor, memory: tf.Tensor) -> tf.Tensor:
        return self._peeping("output", output, memory)

    def _peeping(self, name: str, drive: tf.Tensor, memory: tf.Tensor) -> tf.Tensor:
        row = tf.cast(self.peepholes[self.looking.index(name)], memory.dtype)
        return self._opened(drive + row * memory)
