"""A cell over time in both directions."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells import Cell, cell_of
from seqattn_tf.layer import Composed
from seqattn_tf.recurrent.recurrent import Recurrent

MERGES = {
    "concat": lambda ahead, back: tf.concat([ahead, back], axis=-1),
    "sum": lambda ahead, back: ahead + back,
    "mean": lambda ahead, back: (ahead + back) / 2,
}


@keras.saving.register_keras_serializable("seqattn_tf")
class Bidirectional(Composed):
    """Two `Recurrent` networks, one in each direction, their outputs and states merged.

    A masked sequence is read backwards inside its own length: the steps after it are not kept, so the backward
    network enters it with its initial state.

    Args:
        cell: the name of a cell, or a `Cell`; the backward direction gets a twin of it.
        units: size of each direction's state when the cell is given by name.
        merge: `"concat"`, `"sum"` or `"mean"` of the two directions, for outputs and for states.
        initial, context, truncate, jit_compile: of each direction, as in `Recurrent`.

    Call arguments: as of `Recurrent`, without `initial_state`.

    >>> outputs, states = Bidirectional("lstm", units=4)(tf.ones([2, 5, 3]))
    >>> outputs.shape.as_list(), len(states), states[0].shape.as_list()
    ([2, 5, 8], 2, [2, 8])
    """

    parts = ("cell",)

    def __init__(
        self,
        cell: str | Cell = "gru",
        units: int | None = None,
        merge: str = "concat",
        initial: str = "zeros",
        context: str | None = None,
        truncate: int | None = None,
        jit_compile: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if merge not in MERGES:
            raise ValueError(f"merge: expected one of {list(MERGES)}. Received: {merge!r}")
        self.merge = merge
        cell = cell_of(cell, units, self.dtype_policy)
        alike = {"initial": initial, "context": context, "truncate": truncate, "jit_compile": jit_compile}
        self.forward = Recurrent(cell, dtype=self.dtype_policy, **alike)
        self.backward = Recurrent(cell.twin(), reverse=True, dtype=self.dtype_policy, **alike)

    @property
    def cell(self) -> Cell:
        """The cell of the forward direction, of which the backward one has a twin with weights of its own."""
        return self.forward.cell

    @property
    def context(self) -> str | None:
        """What a fixed vector is used for."""
        return self.forward.context

    @property
    def output_size(self) -> int:
        """Width of the outputs."""
        return self.cell.output_size * (2 if self.merge == "concat" else 1)

    def build(self, inputs_shape: Any, context_shape: Any = None) -> None:
        """Build both directions."""
        self.forward.build(inputs_shape, context_shape)
        self.backward.build(inputs_shape, context_shape)
        self.built = True

    def call(
        self,
        inputs: tf.Tensor,
        mask: tf.Tensor | None = None,
        context: tf.Tensor | None = None,
        training: bool = False,
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Outputs `[batch, time, output_size]`, and the states after each direction's last step, merged alike."""
        merge = MERGES[self.merge]
        ahead, ahead_states = self.forward(inputs, mask=mask, context=context, training=training)
        back, back_states = self.backward(inputs, mask=mask, context=context, training=training)
        return merge(ahead, back), [merge(*pair) for pair in zip(ahead_states, back_states, strict=True)]

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {
            **super().get_config(),
            "merge": self.merge,
            "initial": self.forward.initial,
            "context": self.forward.context,
            "truncate": self.forward.truncate,
            "jit_compile": self.forward.jit_compile,
        }
