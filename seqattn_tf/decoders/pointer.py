"""A pointer network: every output is a position of the memory.

    x_t = h[y_{t-1}]        the value at the previous output; a trainable vector at the first step
    s_t = cell(x_t, s_{t-1})
    logits_t = score(s_t, h)

The loop does not contain the attention, so all queries are processed at once, unless the attention is stateful.
"""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention import Attention
from seqattn_tf.cells import Cell
from seqattn_tf.core.scan import scan, to_time_major
from seqattn_tf.decoders.base import Decoder, DecoderMemory, DecoderState, time_mask, zero_steps


@keras.saving.register_keras_serializable("seqattn_tf")
class PointerDecoder(Decoder):
    """A recurrent decoder whose output is its attention, for copying, sorting and selecting parts of the input.

    Args:
        cell: The recurrent cell.
        attention: The `Attention` that points.
        jit_compile: Whether XLA compiles the loop over time. None compiles in training if the length is known.

    Call arguments:
        positions: The previous output of each step (shifted right), `[batch, target]`, with -1 first.
        values: The values to point at, `[batch, source, units]`.
        summary: A vector `[batch, units]` from which the initial states are computed.
        mask: The mask of the values, `[batch, source]`, True = keep.
        initial_state: The initial states, such as those returned by an encoder, in place of a summary. Without either,
            the cell's own are used.
        positions_mask: The mask of the steps, `[batch, target]`. A masked step leaves the state unchanged and outputs
            zeros.

    Returns `(logits, weights)`, both `[batch, target, source]`: the logits for a loss, with very small values at masked
    positions, and the attention weights. The mask of the steps is propagated to both.

    >>> from seqattn_tf.attention import Attention
    >>> from seqattn_tf.cells import GRUCell
    >>> decoder = PointerDecoder(GRUCell(8), Attention(units=8))
    >>> logits, weights = decoder(tf.constant([[-1, 1, 0]]), tf.ones([1, 2, 6]), summary=tf.ones([1, 6]))
    >>> logits.shape.as_list(), weights.numpy().round(1)[0, 0].tolist()
    ([1, 3, 2], [0.5, 0.5])
    """

    def __init__(self, cell: Cell, attention: Attention, **kwargs: Any) -> None:
        super().__init__(cell, attention, **kwargs)
        if not isinstance(self.attention, Attention):
            raise ValueError(
                f"attention: expected a single Attention, whose weights are the output. Received: {attention!r}"
            )

    def build(self, positions_shape: Any, values_shape: Any, summary_shape: Any = None) -> None:
        """Build the parts and create the input of the first step."""
        self._build_parts(values_shape[-1], values_shape)
        self._build_first(summary_shape)
        self.start = self.add_weight(name="start", shape=(values_shape[-1],), initializer="glorot_uniform")
        self.built = True

    def _pointed(self, positions: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
        """Return the values at the positions: `[batch, target], [batch, source, units] -> [batch, target, units]`."""
        places = tf.one_hot(positions, tf.shape(values)[1], dtype=values.dtype)  # zeros for -1
        start = tf.cast(positions < 0, values.dtype)[..., None] * tf.cast(self.start, values.dtype)
        return tf.matmul(places, values) + start

    def _point(
        self, states: tf.Tensor, memory: DecoderMemory, state: Any, training: bool
    ) -> tuple[tf.Tensor, tf.Tensor, Any]:
        """Return logits, weights and the new state: `[batch, units] -> [batch, source]`, or for all steps."""
        logits = self.attention.logits(states, memory.look, state)
        keep = memory.mask if states.shape.rank == 2 else memory.mask[:, None]
        _, weights, state = self.attention.attend(states, memory.look, state, training)
        return tf.where(keep, logits, logits.dtype.min), weights, state

    def call(
        self,
        positions: tf.Tensor,
        values: tf.Tensor,
        summary: tf.Tensor | None = None,
        mask: tf.Tensor | None = None,
        initial_state: Any = None,
        positions_mask: tf.Tensor | None = None,
        training: bool = False,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Run all steps by teacher forcing, each with the given previous position."""
        memory, first = self.begin(values, mask, summary, initial_state)
        keep = time_mask(positions_mask, positions)
        inputs = to_time_major(self._pointed(positions, memory.values))
        states, _ = self._cell_over_time(self.cell.project(inputs, training=training), first.cell, keep, training)
        if not self.attention.stateful:
            return zero_steps(positions_mask, *self._point(states[0], memory, first.attention, training)[:2])

        def step(state: tf.Tensor, carry: tuple) -> tuple:
            return self._point(state, memory, carry[2], training)

        nothing = tf.zeros_like(memory.mask, memory.values.dtype)
        (logits, weights, _), _ = scan(step, to_time_major(states[0]), (nothing, nothing, first.attention), keep)
        return zero_steps(positions_mask, to_time_major(logits), to_time_major(weights))

    def compute_output_shape(self, positions_shape: Any, values_shape: Any, **others: Any) -> tuple[tuple, tuple]:
        return (*positions_shape, values_shape[1]), (*positions_shape, values_shape[1])

    def step(
        self, tokens: tf.Tensor, state: DecoderState, memory: DecoderMemory
    ) -> tuple[tf.Tensor, tf.Tensor, DecoderState]:
        """Take one step of generation: `positions [batch] -> (logits, weights [batch, source], state)`."""
        pointed = tf.squeeze(self._pointed(tokens[:, None], memory.values), 1)
        cell = self.cell.step(self.cell.project(pointed), state.cell)
        logits, weights, remembered = self._point(cell[0], memory, state.attention, training=False)
        return logits, weights, DecoderState(cell, remembered)
