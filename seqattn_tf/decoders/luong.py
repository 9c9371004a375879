"""Luong's decoder: the state after the step is the query.

    s_t = cell([emb(y_{t-1}); a_{t-1}], s_{t-1})        without input feeding, emb alone
    c_t = attend(s_t, h)        a_t = tanh(R [s_t; c_t])        logits_t = V a_t

Without input feeding, the loop does not contain the attention: all queries are processed at once.
"""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells import Cell
from seqattn_tf.core.linear import linear
from seqattn_tf.core.scan import to_time_major
from seqattn_tf.decoders.base import DecoderMemory, DecoderState
from seqattn_tf.decoders.symbols import SymbolDecoder


@keras.saving.register_keras_serializable("seqattn_tf")
class LuongDecoder(SymbolDecoder):
    """A recurrent decoder that attends to its memory after every step.

    The other arguments and the results are those of `SymbolDecoder`.

    Args:
        input_feeding: Whether the attentional vector `a` of a step is an input of the next one.

    >>> from seqattn_tf.attention import Attention
    >>> from seqattn_tf.cells import GRUCell
    >>> decoder = LuongDecoder(GRUCell(8), Attention("general"), vocabulary=5, readout=8)
    >>> logits, weights = decoder(tf.constant([[1, 3, 4]]), tf.ones([1, 2, 6]), summary=tf.ones([1, 6]))
    >>> logits.shape.as_list(), weights.shape.as_list()
    ([1, 3, 5], [1, 3, 2])
    """

    name_in_registry = "luong"

    def __init__(self, cell: Cell, attention: Any, vocabulary: int, input_feeding: bool = True, **kwargs: Any) -> None:
        super().__init__(cell, attention, vocabulary, **kwargs)
        self.input_feeding = input_feeding

    @property
    def read_size(self) -> int:
        """The width of the attentional vector, of which the context is a part."""
        return self.readout

    def _build_head(self, looked: int) -> None:
        if self.input_feeding:
            self.feed_kernel = self.add_weight(name="feed_kernel", shape=(self.readout, self.cell.projected_size))
        self.state_kernel = self.add_weight(name="state_kernel", shape=(self.cell.output_size, self.readout))
        self.readout_bias = self.add_weight(name="readout_bias", shape=(self.readout,), initializer="zeros")

    def _loop_weights(self) -> list:
        fed = [self.feed_kernel, self.state_kernel, self.readout_bias] if self.input_feeding else []
        return [*super()._loop_weights(), *fed]

    def first_fed(self, state: tf.Tensor) -> tuple:
        """Return zeros with input feeding, otherwise nothing."""
        return (tf.zeros([tf.shape(state)[0], self.readout], state.dtype),) if self.input_feeding else ()

    def _attentional(self, states: tf.Tensor, read: tf.Tensor) -> tf.Tensor:
        return tf.tanh(linear(states, self.state_kernel, self.readout_bias) + read)

    def _over_time(
        self, projected: Any, memory: DecoderMemory, first: DecoderState, keep: tf.Tensor | None, training: bool
    ) -> tuple[DecoderState, tf.Tensor, DecoderState]:
        if self.input_feeding:
            return super()._over_time(projected, memory, first, keep, training)
        states, last = self._cell_over_time(projected, first.cell, keep, training)
        kept = None if keep is None else to_time_major(keep)
        _, weights, remembered = self.attention.attend(states[0], memory.look, first.attention, training, kept)
        return DecoderState(states, ()), weights, DecoderState(last, remembered)

    def _advance(
        self, projected: Any, state: DecoderState, memory: DecoderMemory, training: bool
    ) -> tuple[DecoderState, tf.Tensor]:
        if self.input_feeding:
            projected = self.cell.join(projected, linear(state.fed[0], self.feed_kernel))
        cell = self.cell.step(projected, state.cell)
        read, weights, remembered = self._attend(cell[0], memory, state.attention, training)
        fed = (self._attentional(cell[0], read),) if self.input_feeding else ()
        return DecoderState(cell, remembered, fed), weights

    def _logits(
        self,
        first: DecoderState,
        states: DecoderState,
        weights: tf.Tensor,
        memory: DecoderMemory,
        shown: tuple,
        training: bool,
    ) -> tf.Tensor:
        if self.input_feeding:
            attentional = states.fed[0]
        else:
            asked = states.cell[0]
            read = self._read(weights, memory.look.values, asked, memory.beams)
            attentional = self._attentional(asked, read)
        return linear(self.drop(attentional, training=training), self.output_kernel, self.output_bias)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "input_feeding": self.input_feeding}
