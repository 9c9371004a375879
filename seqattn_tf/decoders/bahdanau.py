"""Bahdanau's decoder: the previous state is the query, and the context is an input of the step.

    c_t = attend(s_{t-1}, h)
    s_t = cell([emb(y_{t-1}); c_t], s_{t-1})        the cell owns the part of its kernel for emb
    logits_t = V tanh(R [s_t; c_t; emb(y_{t-1})])

The kernel of the cell is split: the decoder owns the part for the context. The loop contains only what depends on the
state. The projection of the embeddings and the whole output head are computed
for all steps at once. The same holds for the context, because reading is linear: `(sum_j alpha_j h_j) W_c =
sum_j alpha_j (h_j W_c)`, so the values are projected once and the loop reads the projected ones.
"""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.linear import linear
from seqattn_tf.decoders.base import DecoderMemory, DecoderState
from seqattn_tf.decoders.symbols import SymbolDecoder


@keras.saving.register_keras_serializable("seqattn_tf")
class AttentionDecoder(SymbolDecoder):
    """A recurrent decoder that attends to its memory before every step.

    The arguments and results are those of `SymbolDecoder`.

    >>> from seqattn_tf.attention import Attention
    >>> from seqattn_tf.cells import GRUCell
    >>> decoder = AttentionDecoder(GRUCell(8), Attention(units=8), vocabulary=5)
    >>> logits, weights = decoder(tf.constant([[1, 3, 4]]), tf.ones([1, 2, 6]), summary=tf.ones([1, 6]))
    >>> logits.shape.as_list(), weights.shape.as_list()
    ([1, 3, 5], [1, 3, 2])
    """

    name_in_registry = "bahdanau"

    @property
    def read_size(self) -> int:
        """The width of the projection of the cell, to which the context is added."""
        return self.cell.projected_size

    def _head_kernels(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return the parts of `R` for the state, the context and the embedded symbol."""
        own, shown = self.cell.output_size, self.embedding.output_dim
        return self.readout_kernel[:own], self.readout_kernel[own:-shown], self.readout_kernel[-shown:]

    def values_said(self, values: tf.Tensor) -> tf.Tensor:
        """Apply the readout kernel of the context to the values, position by position, because reading is linear."""
        return self.attention.through(values, self._head_kernels()[1])

    def _shown(self, embedded: tf.Tensor) -> tf.Tensor:
        return linear(embedded, self._head_kernels()[2], self.readout_bias)

    def _build_head(self, looked: int) -> None:
        wide = self.cell.output_size + looked + self.embedding.output_dim
        self.readout_kernel = self.add_weight(name="readout_kernel", shape=(wide, self.readout))
        self.readout_bias = self.add_weight(name="readout_bias", shape=(self.readout,), initializer="zeros")

    def _advance(
        self, projected: Any, state: DecoderState, memory: DecoderMemory, training: bool
    ) -> tuple[DecoderState, tf.Tensor]:
        read, weights, remembered = self._attend(state.cell[0], memory, state.attention, training)
        return DecoderState(self.cell.step(self.cell.join(projected, read), state.cell), remembered), weights

    def _logits(
        self,
        first: DecoderState,
        states: DecoderState,
        weights: tf.Tensor,
        memory: DecoderMemory,
        shown: tf.Tensor,
        training: bool,
    ) -> tf.Tensor:
        hidden = states.cell[0]  # [batch, target, units]
        asked = tf.concat([first.cell[0][:, None], hidden[:, :-1]], axis=1)
        mixed = (
            linear(hidden, self._head_kernels()[0]) + self._read(weights, memory.values, asked, memory.beams) + shown
        )
        readout = self.drop(tf.tanh(mixed), training=training)
        return linear(readout, self.output_kernel, self.output_bias)
