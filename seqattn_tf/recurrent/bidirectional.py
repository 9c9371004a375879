"""A cell over time in both directions."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells import Cell, cell_of
from seqattn_tf.recurrent.base import Network, RecurrentOutput, at_end, check_states
from seqattn_tf.recurrent.recurrent import Recurrent

_MERGES = {
    "concat": lambda ahead, back: tf.concat([ahead, back], axis=-1),
    "sum": lambda ahead, back: ahead + back,
    "ave": lambda ahead, back: (ahead + back) / 2,
    "mul": lambda ahead, back: ahead * back,
}


@keras.saving.register_keras_serializable("seqattn_tf")
class Bidirectional(Network):
    """Two `Recurrent` networks, one per direction, with merged outputs.

    A masked sequence is reversed within its own length: the backward network skips the padding and reads the last
    unmasked step from its initial state.

    Args:
        cell: A `Cell` or its name. The backward direction uses a twin of it.
        units: The size of the state in each direction, if the cell is given by name.
        merge_mode: How to merge the outputs of both directions: `"concat"`, `"sum"`, `"ave"` or `"mul"`, as in Keras.
        initial, context, truncate, jit_compile: As in `Recurrent`, for both directions.
        return_sequences, return_state: As in `Recurrent`.

    The call arguments are those of `Recurrent`; `initial_state` contains the states of the forward direction, then
    those of the backward direction.

    Returns the same as Keras's `Bidirectional`: the merged last outputs of both directions, that is, after the backward
    direction has read the first step. With `return_sequences`, it returns the merged outputs at every step in the order
    of the inputs; with `return_state`, also the states of the forward, then of the backward direction.

    >>> Bidirectional("lstm", units=4)(tf.ones([2, 5, 3])).shape.as_list()
    [2, 8]
    >>> outputs, *states = Bidirectional("lstm", units=4, return_sequences=True, return_state=True)(tf.ones([2, 5, 3]))
    >>> outputs.shape.as_list(), [state.shape.as_list() for state in states]
    ([2, 5, 8], [[2, 4], [2, 4], [2, 4], [2, 4]])
    """

    parts = ("cell",)

    def __init__(
        self,
        cell: str | Cell = "gru",
        units: int | None = None,
        merge_mode: str = "concat",
        initial: str = "zeros",
        context: str | None = None,
        truncate: int | None = None,
        jit_compile: bool | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(return_sequences, return_state, **kwargs)
        if merge_mode not in _MERGES:
            raise ValueError(f"merge_mode: expected one of {list(_MERGES)}. Received: {merge_mode!r}")
        self.merge_mode = merge_mode
        cell = cell_of(cell, units, self.dtype_policy)
        alike: dict[str, Any] = {"initial": initial, "context": context, "truncate": truncate}
        alike |= {"jit_compile": jit_compile, "dtype": self.dtype_policy}
        self.forward = Recurrent(cell, **alike)
        self.backward = Recurrent(cell.twin(), reverse=True, **alike)
        self.context = context

    @property
    def cell(self) -> Cell:
        """The cell of the forward direction; the backward direction has a twin of it with separate weights."""
        return self.forward.cell

    @property
    def output_size(self) -> int:
        """The width of the merged outputs."""
        return self.cell.output_size * (2 if self.merge_mode == "concat" else 1)

    @property
    def state_size(self) -> list[int]:
        """The width of each state, forward before backward."""
        return [*self.forward.state_size, *self.backward.state_size]

    def build(self, inputs_shape: Any, context_shape: Any = None) -> None:
        self.forward.build(inputs_shape, context_shape)
        self.backward.build(inputs_shape, context_shape)
        self.built = True

    def _merged(self, ahead: tf.Tensor, back: tf.Tensor) -> tf.Tensor:
        return _MERGES[self.merge_mode](ahead, back)

    def final_output(self, states: list[tf.Tensor]) -> tf.Tensor:
        """Merge the first states of both directions."""
        return self._merged(states[0], states[len(states) // 2])

    def ending(self, sequence: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
        """Return the values at the last step; for concatenated outputs, the backward half at the first step."""
        if self.merge_mode != "concat":
            return at_end(sequence, mask)
        ahead, back = tf.split(sequence, 2, axis=-1)
        return tf.concat([at_end(ahead, mask), at_end(back, mask, reverse=True)], axis=-1)

    def _read(
        self,
        inputs: tf.Tensor,
        initial_state: Any,
        mask: tf.Tensor | None,
        context: tf.Tensor | None,
        training: bool,
    ) -> RecurrentOutput:
        first: tuple[Any, Any] = (None, None)
        if initial_state is not None:
            states = check_states(initial_state, self.state_size, inputs)
            first = states[: len(states) // 2], states[len(states) // 2 :]
        ahead, back = (
            one._read(inputs, own, mask, context, training)
            for one, own in zip((self.forward, self.backward), first, strict=True)
        )
        states = [*ahead.states, *back.states]
        return RecurrentOutput(self._merged(ahead.outputs, back.outputs), self._merged(ahead.last, back.last), states)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "merge_mode": self.merge_mode,
            "initial": self.forward.initial,
            "context": self.context,
            "truncate": self.forward.truncate,
            "jit_compile": self.forward.jit_compile,
        }
