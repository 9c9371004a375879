"""A pointer network: every answer is a place of the memory.

    x_t = h[y_{t-1}]        the value pointed at before; a learned vector at first
    s_t = cell(x_t, s_{t-1})
    logits_t = score(s_t, h)

Nothing of the attention is in the loop: all states ask at once, unless the attention remembers.
"""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention import Attention
from seqattn_tf.cells import Cell
from seqattn_tf.core.scan import scan, to_time_major
from seqattn_tf.decoder.base import Decoder, DecoderMemory, DecoderState, time_mask, zero_steps


@keras.saving.register_keras_serializable("seqattn_tf")
class PointerDecoder(Decoder):
    """A recurrent decoder whose output is its attention: for copying, sorting and choosing what was read.

    Args:
        cell: the recurrence.
        attention: how it points.
        jit_compile: whether XLA compiles the loop over time; None: in training, if the length is known.

    Call arguments:
        positions: `[batch, target]`, the places pointed at before each step (shifted right); -1 at first.
        values: `[batch, source, units]` to point at.
        summary: `[batch, units]`, from which the first states are made.
        mask: of the values, `[batch, source]`, True = keep.
        initial_state: the first states themselves, such as an encoder returned, in place of a summary. Without either,
            the cell's own.
        positions_mask: of the steps, `[batch, target]`. One that is not kept leaves the state as it is and gives zeros.

    Returns `(logits, weights)`, both `[batch, target, source]`: logits for a loss (very small where nothing is kept),
    and the weights of the alignment. The mask of the steps goes on with both.

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
            raise ValueError(f"attention: expected one Attention, which points. Received: {attention!r}")

    def build(self, positions_shape: Any, values_shape: Any, summary_shape: Any = None) -> None:
        """Build the parts, and create the first input."""
        self._build_parts(values_shape[-1], values_shape)
        self._build_first(summary_shape)
        self.start = self.add_weight(name="start", shape=(values_shape[-1],), initializer="glorot_uniform")
        self.built = True

    def _pointed(self, positions: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
        """The values at the positions: `[batch, target], [batch, source, units] -> [batch, target, units]`."""
        places = tf.one_hot(positions, tf.shape(values)[1], dtype=values.dtype)  # a row of zeros for -1
        start = tf.cast(positions < 0, values.dtype)[..., None] * tf.cast(self.start, values.dtype)
        return tf.matmul(places, values) + start

    def _point(
        self, states: tf.Tensor, memory: DecoderMemory, state: Any, training: bool
    ) -> tuple[tf.Tensor, tf.Tensor, Any]:
        """Logits, weights and what is remembered: `[batch, units] -> [batch, source]`, or over time."""
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
        """All steps, the given position before each."""
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
        """Of the logits and of the weights."""
        return (*positions_shape, values_shape[1]), (*positions_shape, values_shape[1])

    def step(
        self, tokens: tf.Tensor, state: DecoderState, memory: DecoderMemory
    ) -> tuple[tf.Tensor, tf.Tensor, DecoderState]:
        """One step of generation: `positions [batch] -> (logits, weights [batch, source], state)`."""
        pointed = tf.squeeze(self._pointed(tokens[:, None], memory.values), 1)
        cell = self.cell.step(self.cell.project(pointed), state.cell)
        logits, weights, remembered = self._point(cell[0], memory, state.attention, training=False)
        return logits, weights, DecoderState(cell, remembered)
