"""A decoder of two layers, each of which attends to the memory after its step.

    h_t = cell_1(emb(y_{t-1}), h_{t-1})        c_t = attend_1(h_t, values)
    g_t = cell_2([h_t; c_t], g_{t-1})          d_t = attend_2(g_t, values)
    logits_t = V tanh(R [g_t; d_t])

The first layer does not depend on any context, so that in training no loop contains an attention: each attention
processes all queries at once.
"""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells import Cell
from seqattn_tf.core.linear import linear
from seqattn_tf.core.masking import mask_of
from seqattn_tf.core.scan import to_time_major
from seqattn_tf.decoders.base import DecoderMemory, DecoderState, look, read
from seqattn_tf.decoders.symbols import SymbolDecoder


def _another(part: Any) -> Any:
    """Return a layer with the same arguments but separate weights."""
    return type(part).from_config({**part.get_config(), "name": f"{part.name}_again"})


@keras.saving.register_keras_serializable("seqattn_tf")
class StackedDecoder(SymbolDecoder):
    """A recurrent decoder of two layers that both attend to its memory.

    The arguments and results are those of `SymbolDecoder`. The cell and the attention of the second layer are
    configured like those of the first. The weights returned are those of the second attention. Dropout also applies to
    the state that the second layer reads from the first.

    >>> from seqattn_tf.attention import Attention
    >>> from seqattn_tf.cells import LSTMCell
    >>> decoder = StackedDecoder(LSTMCell(8), Attention("general"), vocabulary=5, readout=8)
    >>> logits, weights = decoder(tf.constant([[1, 3, 4]]), tf.ones([1, 2, 6]), summary=tf.ones([1, 6]))
    >>> logits.shape.as_list(), weights.shape.as_list()
    ([1, 3, 5], [1, 3, 2])
    """

    name_in_registry = "stacked"

    def __init__(self, cell: Cell, attention: Any, vocabulary: int, **kwargs: Any) -> None:
        super().__init__(cell, attention, vocabulary, **kwargs)
        self.second, self.again = _another(self.cell), _another(self.attention)

    @property
    def cells(self) -> list[Cell]:
        """The cells of both layers."""
        return [self.cell, self.second]

    @property
    def read_size(self) -> int:
        """The width of the projection of the second cell, to which the first context is added."""
        return self.second.projected_size

    def _build_parts(self, inputs: int, values_shape: Any) -> None:
        super()._build_parts(inputs, values_shape)
        if not self.again.built:
            self.again.build((None, self.second.output_size), values_shape)
        if not self.second.built:
            self.second.build((None, self.cell.output_size))

    def _build_head(self, looked: int) -> None:
        self.again_kernel = self.add_weight(name="again_kernel", shape=(looked, self.readout))
        self.state_kernel = self.add_weight(name="state_kernel", shape=(self.second.output_size, self.readout))
        self.readout_bias = self.add_weight(name="readout_bias", shape=(self.readout,), initializer="zeros")

    def _loop_weights(self) -> list:
        return [*super()._loop_weights(), *self.second.weights, *self.again.weights]

    def begin(
        self,
        values: tf.Tensor,
        mask: tf.Tensor | None = None,
        summary: tf.Tensor | None = None,
        initial_state: Any = None,
    ) -> tuple[DecoderMemory, DecoderState]:
        """Return the memories prepared for both attentions, and the state before the first step."""
        mask = mask_of(values, mask)
        memory, first = super().begin(values, mask, summary, initial_state)
        raw = self.again.prepare(tf.cast(values, self.compute_dtype), mask)
        again = raw._replace(values=self.again.through(raw.values, self.again_kernel))
        remembered = (first.attention, self.again.initial_state(again))
        return memory._replace(again=again), first._replace(attention=remembered)

    def _of_each(self, states: list[tf.Tensor]) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """Split the states by layer."""
        own = len(self.cell.state_size)
        return states[:own], states[own:]

    def _given(self, asked: tf.Tensor, found: tf.Tensor, training: bool) -> Any:
        """Return the projected input of the second cell: the state of the first cell and the projected context."""
        return self.second.join(self.second.project(self.drop(asked, training=training), training=training), found)

    def _over_time(
        self, projected: Any, memory: DecoderMemory, first: DecoderState, keep: tf.Tensor | None, training: bool
    ) -> tuple[DecoderState, tf.Tensor, DecoderState]:
        kept = None if keep is None else to_time_major(keep)
        lower, upper = self._of_each(first.cell)
        asks, asks_last = self._cell_over_time(projected, lower, keep, training)
        found, _, one = self.attention.attend(asks[0], memory.look, first.attention[0], training, kept)
        given = self._given(to_time_major(asks[0]), to_time_major(found), training)
        says, says_last = self._cell_over_time(given, upper, keep, training, self.second)
        _, weights, two = self.again.attend(says[0], memory.again, first.attention[1], training, kept)
        last = DecoderState([*asks_last, *says_last], (one, two))
        return DecoderState([*asks, *says], ()), weights, last

    def _advance(
        self, projected: Any, state: DecoderState, memory: DecoderMemory, training: bool
    ) -> tuple[DecoderState, tf.Tensor]:
        lower, upper = self._of_each(state.cell)
        asks = self.cell.step(projected, lower)
        found, _, one = self._attend(asks[0], memory, state.attention[0], training)
        says = self.second.step(self._given(asks[0], found, training), upper)
        _, weights, two = look(self.again, says[0], memory.again, memory.beams, state.attention[1], training)
        return DecoderState([*asks, *says], (one, two)), weights

    def _logits(
        self,
        first: DecoderState,
        states: DecoderState,
        weights: tf.Tensor,
        memory: DecoderMemory,
        shown: tuple,
        training: bool,
    ) -> tf.Tensor:
        _, [says, *_] = self._of_each(states.cell)
        found = read(self.again, weights, memory.again.values, says, memory.beams)
        readout = tf.tanh(linear(says, self.state_kernel, self.readout_bias) + found)
        return linear(self.drop(readout, training=training), self.output_kernel, self.output_bias)
