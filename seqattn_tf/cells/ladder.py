"""The intermediate cells between a plain sum and an LSTM, sharing one implementation: each lists the gates it has.

    accumulate            c' =     c +     g        h' =     tanh(c')
    accumulate_forget     c' = f * c +     g        h' =     tanh(c')
    accumulate_input      c' = f * c + i * g        h' =     tanh(c')
    lstm                  c' = f * c + i * g        h' = o * tanh(c')

with those of `[i f g o] = [sig sig tanh sig](W x + U h + b)` that the cell has, in this order.
"""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells.base import GatedCell, recurrent_product
from seqattn_tf.core.products import compiling


class LadderCell(GatedCell):
    """A cell whose hidden state is computed from a sum of candidates. Subclasses list their gates in `blocks`.

    Args:
        units: The size of each of the two states.
        activation, recurrent_activation: The activations of the candidate and the output, and of the gates.
        unit_forget_bias: Whether the bias of the forget gate starts at one, so that an untrained cell remembers. It has
            no effect on cells without a forget gate or without biases.
        **kwargs: `use_bias`, and the initializer, regularizer and constraint of each weight, as in Keras
            (`KernelCell`).
    """

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        unit_forget_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, activation, recurrent_activation, **kwargs)
        self.unit_forget_bias = unit_forget_bias

    @property
    def state_size(self) -> list[int]:
        """The sizes of the hidden state and the cell state."""
        return [self.units, self.units]

    def initial_bias(self, shape: tuple[int, ...], dtype: Any = None) -> tf.Tensor:
        """Return the initial value of `bias`, with ones for the forget gate if `unit_forget_bias` is set."""
        bias = super().initial_bias(shape, dtype)
        if not self.unit_forget_bias or "forget" not in self.blocks:
            return bias
        parts = dict(zip(self.blocks, tf.split(bias, len(self.blocks), axis=0), strict=True))
        return tf.concat([*{**parts, "forget": tf.ones_like(parts["forget"])}.values()], axis=0)

    def _drives(self, projected: tf.Tensor, hidden: tf.Tensor, factors: tf.Tensor | None) -> tf.Tensor:
        """Compute the pre-activations of all blocks: `W x + U h + b`."""
        return projected + recurrent_product(hidden, self.recurrent_kernel, factors=factors)

    def _activated(self, drives: tf.Tensor, memory: tf.Tensor) -> dict[str, tf.Tensor]:
        """Return the activation of every block, before the cell state is updated.

        With the standard functions, one `tanh` serves all blocks, as `sig(x) = (1 + tanh(x / 2)) / 2`: XLA computes
        that twice as fast on a CPU as one function for each block.
        """
        gates = [name for name in self.blocks if name != "candidate"]
        standard = keras.activations.tanh, keras.activations.sigmoid
        if not compiling() or (self.activation, self.recurrent_activation) != standard:
            found = self._by_block(drives)
            return {name: self._opened(x) if name in gates else self.activation(x) for name, x in found.items()}
        slopes = [0.5 if name in gates else 1.0 for name in self.blocks]
        found = self._by_block(tf.tanh(drives * tf.repeat(tf.constant(slopes, drives.dtype), self.units)))
        return {name: 0.5 * x + 0.5 if name in gates else x for name, x in found.items()}

    def _by_block(self, together: tf.Tensor) -> dict[str, tf.Tensor]:
        return dict(zip(self.blocks, tf.split(together, len(self.blocks), axis=-1), strict=True))

    def _output(self, output: tf.Tensor, memory: tf.Tensor) -> tf.Tensor:
        """Return the output gate, given the new cell state."""
        return output

    def _settle(self, memory: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the new cell state as the output reads it, and as it is carried over."""
        return memory, memory

    def _advance(
        self, projected: tf.Tensor, states: list[tf.Tensor], factors: tf.Tensor | None = None
    ) -> tuple[list[tf.Tensor], tuple[tf.Tensor, ...]]:
        hidden, memory = states
        found = self._activated(self._drives(projected, hidden, factors), memory)
        kept = found["forget"] * memory if "forget" in found else memory
        added = found["input"] * found["candidate"] if "input" in found else found["candidate"]
        shown, memory = self._settle(kept + added)
        hidden = self.activation(shown)
        if "output" in found:
            found["output"] = self._output(found["output"], memory)
            hidden = found["output"] * hidden
        return [hidden, memory], tuple(found.values())

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "unit_forget_bias": self.unit_forget_bias}


@keras.saving.register_keras_serializable("seqattn_tf")
class AccumulateCell(LadderCell):
    """The first cell of the ladder: the cell state adds up candidates and forgets nothing.

        c' = c + tanh(W x + U h + b)      h' = tanh(c')

    The arguments are those of `LadderCell`.

    >>> cell = AccumulateCell(4)
    >>> [name for name in cell.blocks], cell.state_size
    (['candidate'], [4, 4])
    """

    name_in_registry = "accumulate"
    blocks = ("candidate",)


@keras.saving.register_keras_serializable("seqattn_tf")
class AccumulateForgetCell(LadderCell):
    """The second cell of the ladder: a forget gate scales the cell state.

        c' = f * c + g      h' = tanh(c')

    The arguments are those of `LadderCell`.

    >>> AccumulateForgetCell(4).projected_size
    8
    """

    name_in_registry = "accumulate_forget"
    blocks = ("forget", "candidate")


@keras.saving.register_keras_serializable("seqattn_tf")
class AccumulateInputCell(LadderCell):
    """The third cell of the ladder: an input gate scales the candidate.

        c' = f * c + i * g      h' = tanh(c')

    The arguments are those of `LadderCell`.

    >>> AccumulateInputCell(4).projected_size
    12
    """

    name_in_registry = "accumulate_input"
    blocks = ("input", "forget", "candidate")
