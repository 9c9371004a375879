"""A cell over time in both directions."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells import Cell, cell_of
from seqattn_tf.recurrent.base import Network, Reading, at_end, check_states
from seqattn_tf.recurrent.recurrent import Recurrent

_MERGES = {
    "concat": lambda ahead, back: tf.concat([ahead, back], axis=-1),
    "sum": lambda ahead, back: ahead + back,
    "ave": lambda ahead, back: (ahead + back) / 2,
    "mul": lambda ahead, back: ahead * back,
}


@keras.saving.register_keras_serializable("seqattn_tf")
class Bidirectional(Network):
    """Two `Recurrent` networks, one in each direction, their outputs merged.

    A masked sequence is read backwards inside its own length: the steps after it are not kept, so the backward
    network enters it with its initial state.

    Args:
        cell: the name of a cell, or a `Cell`; the backward direction gets a twin of it.
        units: size of each direction's state when the cell is given by name.
        merge_mode: `"concat"`, `"sum"`, `"ave"` or `"mul"` of the two directions' outputs, as in Keras.
        initial, context, truncate, jit_compile: of each direction, as in `Recurrent`.
        return_sequences, return_state: as in `Recurrent`.

    Call arguments: as of `Recurrent`; `initial_state` holds the states of the forward, then of the backward direction.

    Returns as Keras's `Bidirectional`: the last outputs of both directions, merged (the backward one has read the
    first step then); with `return_sequences`, those at every step, in the order of the inputs; with `return_state`,
    also the states of the forward, then of the backward direction.

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
        """The cell of the forward direction, of which the backward one has a twin with weights of its own."""
        return self.forward.cell

    @property
    def output_size(self) -> int:
        """Width of the outputs."""
        return self.cell.output_size * (2 if self.merge_mode == "concat" else 1)

    @property
    def state_size(self) -> list[int]:
        """Width of each state, forward and backward."""
        return [*self.forward.state_size, *self.backward.state_size]

    def build(self, inputs_shape: Any, context_shape: Any = None) -> None:
        """Build both directions."""
        self.forward.build(inputs_shape, context_shape)
        self.backward.build(inputs_shape, context_shape)
        self.built = True

    def _merged(self, ahead: tf.Tensor, back: tf.Tensor) -> tf.Tensor:
        return _MERGES[self.merge_mode](ahead, back)

    def final_output(self, states: list[tf.Tensor]) -> tf.Tensor:
        """The first states of both directions, merged."""
        return self._merged(states[0], states[len(states) // 2])

    def ending(self, sequence: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
        """What stands at the last step; side by side, in the backward half at the first."""
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
    ) -> Reading:
        """Both directions."""
        first: tuple[Any, Any] = (None, None)
        if initial_state is not None:
            states = check_states(initial_state, self.state_size, inputs)
            first = states[: len(states) // 2], states[len(states) // 2 :]
        ahead, back = (
            one._read(inputs, own, mask, context, training)
            for one, own in zip((self.forward, self.backward), first, strict=True)
        )
        states = [*ahead.states, *back.states]
        return Reading(self._merged(ahead.outputs, back.outputs), self._merged(ahead.last, back.last), states)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {
            **super().get_config(),
            "merge_mode": self.merge_mode,
            "initial": self.forward.initial,
            "context": self.context,
            "truncate": self.forward.truncate,
            "jit_compile": self.forward.jit_compile,
        }
