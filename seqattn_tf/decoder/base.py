"""What all decoders share: a cell, an attention, and the state before the first step.

    s_0 = tanh(W summary + b)        one map for each state of the cell

A decoder runs over time (`call`, the inputs of all steps given) or one step at a time (`begin`, then `step`): what
generation uses. Both give the same numbers.
"""

from typing import Any, NamedTuple

import tensorflow as tf

from seqattn_tf.attention import Attention, Memory
from seqattn_tf.cells import Cell
from seqattn_tf.layer import Composed
from seqattn_tf.linear import linear
from seqattn_tf.recurrence import compiles, recur
from seqattn_tf.scan import to_time_major


class DecoderMemory(NamedTuple):
    """What all steps of a sequence share."""

    look: Memory  # what attention reads in the loop: its values may be projected already
    values: tf.Tensor  # [batch, source, units], as they were given

    @property
    def mask(self) -> tf.Tensor:
        """`[batch, source]`, True = keep."""
        return self.look.mask


class DecoderState(NamedTuple):
    """What a step hands to the next; the batch is on the leading axis of everything."""

    cell: list[tf.Tensor]  # [batch, units] each
    attention: tuple  # what score and alignment remember
    fed: tuple = ()  # what is fed back besides


class Decoder(Composed):
    """A cell and an attention.

    Args:
        cell: the recurrence.
        attention: how it looks.
        jit_compile: whether XLA compiles the loop over time; None: in training, if the length is known.
    """

    parts = ("cell", "attention")

    def __init__(self, cell: Cell, attention: Attention, jit_compile: bool | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        for name, part, kind in (("cell", cell, Cell), ("attention", attention, Attention)):
            if not isinstance(part, kind):
                raise ValueError(f"{name}: expected an object of {kind.__name__}. Received: {part!r}")
        self.cell, self.attention, self.jit_compile = cell, attention, jit_compile

    def _build_parts(self, inputs: int, values_shape: Any) -> None:
        """Build the attention, and the cell for inputs of this width."""
        if not self.attention.built:  # parts that come out of a saved configuration are built already
            self.attention.build((None, self.cell.output_size), values_shape)
        if not self.cell.built:
            self.cell.build((None, inputs))

    def _build_first(self, summary_shape: Any) -> None:
        """Create the maps from the summary to the first states."""
        sizes = list(enumerate(self.cell.state_size))
        width = summary_shape[-1]
        self.first_kernels = [self.add_weight(name=f"first_kernel_{i}", shape=(width, size)) for i, size in sizes]
        self.first_biases = [
            self.add_weight(name=f"first_bias_{i}", shape=(size,), initializer="zeros") for i, size in sizes
        ]

    def begin(
        self, values: tf.Tensor, mask: tf.Tensor | None, summary: tf.Tensor
    ) -> tuple[DecoderMemory, DecoderState]:
        """The memory, prepared once, and the state before the first step."""
        raw = self.attention.prepare(values, mask)
        memory = DecoderMemory(raw._replace(values=self.projected(raw.values)), raw.values)
        pairs = zip(self.first_kernels, self.first_biases, strict=True)
        states = [tf.tanh(linear(summary, kernel, bias)) for kernel, bias in pairs]
        return memory, DecoderState(states, self.attention.initial_state(memory.look), self.first_fed(states[0]))

    def projected(self, values: tf.Tensor) -> tf.Tensor:
        """The values as the loop reads them."""
        return values

    def first_fed(self, state: tf.Tensor) -> tuple:
        """What is fed back to the first step."""
        return ()

    def _cell_over_time(
        self, projected: Any, states: list[tf.Tensor], training: bool
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """The cell alone, where nothing read goes into a step: states `[batch, target, units]`, and the last."""
        compiled = compiles(self.jit_compile, projected, training)
        weights = self.cell.weights if compiled else ()
        stacked, last = recur(lambda x, s, _: self.cell.step(x, s), projected, states, (), weights, compiled=compiled)
        return [to_time_major(state) for state in stacked], last

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "jit_compile": self.jit_compile}
