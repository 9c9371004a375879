"""The attention decoder: a cell, an attention and an output head, over time or one step at a time.

    c_t = attend(s_{t-1}, h)                 the state before the step asks
    s_t = cell([emb(y_{t-1}); c_t], s_{t-1})        its kernel split: the cell owns the part of emb, we that of c
    logits_t = V tanh(R [s_t; c_t; emb(y_{t-1})])

The loop holds only what depends on the state. The embedded part of the cell's projection and the whole output head are
computed for all steps at once, and so is the context's part: reading is linear, `(sum_j alpha_j h_j) W_c =
sum_j alpha_j (h_j W_c)`, so the values are projected once and the loop reads the projected ones.
"""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seqattn_tf.attention import Attention, Memory
from seqattn_tf.cells import Cell
from seqattn_tf.layer import Composed
from seqattn_tf.linear import linear
from seqattn_tf.scan import scan, to_time_major


class DecoderMemory(NamedTuple):
    """What all steps of a sequence share."""

    look: Memory  # what the loop reads: its values are already projected for the cell
    values: tf.Tensor  # [batch, source, units], what the head reads

    @property
    def mask(self) -> tf.Tensor:
        """`[batch, source]`, True = keep."""
        return self.look.mask


class DecoderState(NamedTuple):
    """What a step hands to the next."""

    cell: list[tf.Tensor]  # [batch, units] each
    attention: tuple  # what the alignment remembers


@keras.saving.register_keras_serializable("seqattn_tf")
class AttentionDecoder(Composed):
    """A recurrent decoder that looks at its memory before every step.

    Args:
        cell: the recurrence.
        attention: how it looks.
        vocabulary: number of output symbols.
        embedding: size of a symbol's embedding.
        readout: width of the hidden layer before the logits.
        dropout: rate on embeddings and readout, in training.

    Call arguments:
        tokens: `[batch, target]`, the symbols before each step (shifted right).
        values: `[batch, source, units]` to look at.
        summary: `[batch, units]`, from which the first state is made.
        mask: `[batch, source]`, True = keep.

    Returns `(logits [batch, target, vocabulary], weights [batch, target, source])`.

    >>> from seqattn_tf.cells import GRUCell
    >>> decoder = AttentionDecoder(GRUCell(8), Attention(units=8), vocabulary=5)
    >>> logits, weights = decoder(tf.constant([[1, 3, 4]]), tf.ones([1, 2, 6]), summary=tf.ones([1, 6]))
    >>> logits.shape.as_list(), weights.shape.as_list()
    ([1, 3, 5], [1, 3, 2])
    """

    parts = ("cell", "attention")

    def __init__(
        self,
        cell: Cell,
        attention: Attention,
        vocabulary: int,
        embedding: int = 64,
        readout: int = 128,
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.cell = cell
        self.attention = attention
        self.vocabulary, self.readout, self.dropout = vocabulary, readout, dropout
        self.embedding = keras.layers.Embedding(
            vocabulary, embedding, embeddings_initializer="glorot_uniform", dtype=self.dtype_policy
        )
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, tokens_shape: Any, values_shape: Any, summary_shape: Any) -> None:
        """Create the head and the maps from the summary to the first states, and build the parts."""
        units, width, looked = self.cell.output_size, self.embedding.output_dim, values_shape[-1]
        self.embedding.build(tokens_shape)
        if not self.attention.built:  # parts that come out of a saved configuration are built already
            self.attention.build((None, units), values_shape)
        if not self.cell.built:
            self.cell.build((None, width))
        self.context_kernel = self.add_weight(name="context_kernel", shape=(looked, self.cell.projected_size))
        self.first_kernels = [
            self.add_weight(name=f"first_kernel_{i}", shape=(summary_shape[-1], size))
            for i, size in enumerate(self.cell.state_size)
        ]
        self.first_biases = [
            self.add_weight(name=f"first_bias_{i}", shape=(size,), initializer="zeros")
            for i, size in enumerate(self.cell.state_size)
        ]
        self.readout_kernel = self.add_weight(name="readout_kernel", shape=(units + looked + width, self.readout))
        self.readout_bias = self.add_weight(name="readout_bias", shape=(self.readout,), initializer="zeros")
        self.output_kernel = self.add_weight(name="output_kernel", shape=(self.readout, self.vocabulary))
        self.output_bias = self.add_weight(name="output_bias", shape=(self.vocabulary,), initializer="zeros")
        self.built = True

    def begin(
        self, values: tf.Tensor, mask: tf.Tensor | None, summary: tf.Tensor
    ) -> tuple[DecoderMemory, DecoderState]:
        """The memory, prepared once, and the state before the first step: `s_0 = tanh(W summary + b)`."""
        raw = self.attention.prepare(values, mask)
        look = raw._replace(values=linear(raw.values, self.context_kernel))
        pairs = zip(self.first_kernels, self.first_biases, strict=True)
        states = [tf.tanh(linear(summary, kernel, bias)) for kernel, bias in pairs]
        state = DecoderState(states, self.attention.initial_state(look))
        return DecoderMemory(look, raw.values), state

    def _advance(self, projected: tf.Tensor, state: DecoderState, look: Memory) -> tuple[DecoderState, tf.Tensor]:
        """Look, then step: `projected` is the embedded symbol's part of the cell's input projection."""
        read, weights, remembered = self.attention.attend(state.cell[0], look, state.attention)
        return DecoderState(self.cell.step(projected + read, state.cell), remembered), weights

    def _logits(self, states: tf.Tensor, contexts: tf.Tensor, embedded: tf.Tensor, training: bool) -> tf.Tensor:
        mixed = tf.concat([states, contexts, embedded], axis=-1)
        hidden = self.drop(tf.tanh(linear(mixed, self.readout_kernel, self.readout_bias)), training=training)
        return linear(hidden, self.output_kernel, self.output_bias)

    def call(
        self,
        tokens: tf.Tensor,
        values: tf.Tensor,
        summary: tf.Tensor,
        mask: tf.Tensor | None = None,
        training: bool = False,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Teacher forcing: all steps, the given symbol before each."""
        memory, state = self.begin(values, mask, summary)
        embedded = self.drop(self.embedding(tokens), training=training)
        projected = self.cell.project(to_time_major(embedded))
        carry = (state, tf.zeros_like(memory.mask, values.dtype))
        stacked, _ = scan(lambda element, last: self._advance(element, last[0], memory.look), projected, carry)
        states, weights = to_time_major(stacked[0].cell[0]), to_time_major(stacked[1])
        return self._logits(states, tf.matmul(weights, memory.values), embedded, training), weights

    def step(
        self, tokens: tf.Tensor, state: DecoderState, memory: DecoderMemory
    ) -> tuple[tf.Tensor, tf.Tensor, DecoderState]:
        """One step of generation: `tokens [batch] -> (logits [batch, vocabulary], weights [batch, source], state)`."""
        embedded = self.embedding(tokens)
        state, weights = self._advance(self.cell.project(embedded), state, memory.look)
        context = tf.squeeze(tf.matmul(weights[:, None], memory.values), 1)
        return self._logits(state.cell[0], context, embedded, training=False), weights, state

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {
            **super().get_config(),
            "vocabulary": self.vocabulary,
            "embedding": self.embedding.output_dim,
            "readout": self.readout,
            "dropout": self.dropout,
        }
