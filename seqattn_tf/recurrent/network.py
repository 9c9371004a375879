"""A cell over time: `Recurrent` in one direction, `Bidirectional` in both."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells import Cell
from seqattn_tf.layer import Composed
from seqattn_tf.masking import blank, checked_mask
from seqattn_tf.scan import scan, to_time_major


def _cell(cell: str | Cell, units: int | None, dtype: Any) -> Cell:
    """A given cell as it is; a named one with the network's precision."""
    if isinstance(cell, str) and units is None:
        raise ValueError(f"units: expected a number for the cell {cell!r} given by name. Received: None")
    return Cell.get(cell, dtype=dtype, **({} if units is None else {"units": units}))


@keras.saving.register_keras_serializable("seqattn_tf")
class Recurrent(Composed):
    """Run a cell over the time axis: all inputs projected at once, then the steps scanned.

    Args:
        cell: a `Cell`, or the name of one together with `units`.
        units: size of the state when the cell is given by name.
        reverse: read from the last step to the first.

    Call arguments:
        inputs: `[batch, time, features]`.
        mask: `[batch, time]`, True = keep. A step that is not kept leaves the state as it is and gives zeros.
        initial_state: states before the first step; zeros when not given.

    Returns `(outputs [batch, time, units], states)`.

    >>> outputs, states = Recurrent("gru", units=4)(tf.ones([2, 5, 3]))
    >>> outputs.shape.as_list(), [s.shape.as_list() for s in states]
    ([2, 5, 4], [[2, 4]])
    """

    parts = ("cell",)

    def __init__(
        self, cell: str | Cell = "gru", units: int | None = None, reverse: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.cell = _cell(cell, units, self.dtype_policy)
        self.reverse = reverse

    def build(self, input_shape: Any) -> None:
        """Build the cell."""
        if not self.cell.built:
            self.cell.build(input_shape)
        self.built = True

    def call(
        self, inputs: tf.Tensor, mask: tf.Tensor | None = None, initial_state: Any = None
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Outputs at every step, and the states after the last."""
        if inputs.shape.rank != 3:
            raise ValueError(f"inputs: expected [batch, time, features]. Received shape: {inputs.shape}")
        if mask is not None:
            mask = checked_mask(mask)
            inputs = blank(inputs, mask)  # whatever stands in the padding, it reaches no gradient
        projected = self.cell.project(to_time_major(inputs))
        states = self.cell.get_initial_state(tf.shape(inputs)[0]) if initial_state is None else initial_state
        keep = None if mask is None else to_time_major(mask)
        stacked, last = scan(self.cell.step, projected, tf.nest.flatten(states), keep, self.reverse)
        outputs = to_time_major(stacked[0])
        return outputs if mask is None else blank(outputs, mask), last

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "reverse": self.reverse}


@keras.saving.register_keras_serializable("seqattn_tf")
class Bidirectional(Composed):
    """Two `Recurrent` networks, one in each direction, their outputs and states concatenated.

    A masked sequence is read backwards inside its own length: the steps after it are not kept, so the backward
    network enters it with its initial state.

    Args:
        cell: the name of a cell, or a `Cell`; the backward direction gets a twin of it.
        units: size of each direction's state when the cell is given by name.

    >>> outputs, states = Bidirectional("lstm", units=4)(tf.ones([2, 5, 3]))
    >>> outputs.shape.as_list(), len(states), states[0].shape.as_list()
    ([2, 5, 8], 2, [2, 8])
    """

    parts = ("cell",)

    def __init__(self, cell: str | Cell = "gru", units: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        cell = _cell(cell, units, self.dtype_policy)
        twin = type(cell).from_config({**cell.get_config(), "name": f"{cell.name}_backward"})
        self.forward = Recurrent(cell, dtype=self.dtype_policy)
        self.backward = Recurrent(twin, reverse=True, dtype=self.dtype_policy)

    @property
    def cell(self) -> Cell:
        """The cell of the forward direction, of which the backward one has a twin with weights of its own."""
        return self.forward.cell

    def build(self, input_shape: Any) -> None:
        """Build both directions."""
        self.forward.build(input_shape)
        self.backward.build(input_shape)
        self.built = True

    def call(self, inputs: tf.Tensor, mask: tf.Tensor | None = None) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Outputs `[batch, time, 2 units]`, and states `[batch, 2 units]` after each direction's last step."""
        ahead, ahead_states = self.forward(inputs, mask=mask)
        back, back_states = self.backward(inputs, mask=mask)
        states = [tf.concat(pair, axis=-1) for pair in zip(ahead_states, back_states, strict=True)]
        return tf.concat([ahead, back], axis=-1), states
