"""The base class of decoders: a cell, an attention, and the state before the first step.

    s_0 = tanh(W summary + b)        for each state of the cell, or for the first one only; or given states

A decoder runs over time (`call`, with the inputs of all steps) or one step at a time for generation (`begin`, then
`step`). Both give the same results.
"""

from typing import Any, NamedTuple

import tensorflow as tf

from seqattn_tf.attention import JointAttention, Memory
from seqattn_tf.attention.base import BaseAttention
from seqattn_tf.cells import Cell
from seqattn_tf.core.layer import Composed
from seqattn_tf.core.linear import linear
from seqattn_tf.core.masking import check_mask, mask_of, zero_masked
from seqattn_tf.core.recurrence import compiles, recur
from seqattn_tf.core.scan import size_of, to_time_major
from seqattn_tf.recurrent.base import check_states

_BRIDGES = ("all", "first")


class DecoderMemory(NamedTuple):
    """The memory that all steps of a sequence share."""

    look: Memory  # read in the loop, possibly with projected values
    values: tf.Tensor  # [batch, source, units], read by the output head, possibly projected
    again: Any = ()  # like `look`, for a second attention if there is one

    @property
    def beams(self) -> int:
        """The number of consecutive state rows that share one memory row (the beam width)."""
        return 1

    @property
    def mask(self) -> tf.Tensor:
        """The mask of the source, `[batch, source]`, True = keep."""
        return self.look.mask


class SharedMemory(DecoderMemory):
    """A memory in which several consecutive state rows, the beams of a search, share each row."""

    _beams: int

    def __new__(cls, memory: DecoderMemory, beams: int) -> "SharedMemory":
        """Create a shared copy of the memory for a beam width."""
        shared = super().__new__(cls, *memory)
        shared._beams = beams
        return shared

    @property
    def beams(self) -> int:
        """The number of consecutive state rows that share one memory row (the beam width)."""
        return self._beams


class DecoderState(NamedTuple):
    """The state passed from step to step, with the batch on the leading axis of all tensors."""

    cell: list[tf.Tensor]  # [batch, units] each
    attention: tuple  # the state of score and alignment
    fed: tuple = ()  # further feedback


class Decoder(Composed):
    """The base class of decoders with a cell and an attention.

    Args:
        cell: The recurrent cell.
        attention: An `Attention`, or a list of several (see `JointAttention`).
        jit_compile: Whether XLA compiles the loop over time. None compiles in training if the length is known.
        bridge: Which initial states are computed from a summary: `"all"`, or `"first"` for the output of the first
            layer alone, with the cells' own initial values for the other states.
    """

    parts = ("cell", "attention")

    def __init__(
        self, cell: Cell, attention: Any, jit_compile: bool | None = None, bridge: str = "all", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if bridge not in _BRIDGES:
            raise ValueError(f"bridge: expected one of {_BRIDGES}. Received: {bridge!r}")
        if isinstance(attention, (list, tuple)):
            attention = JointAttention(attention, dtype=self.dtype_policy)
        if not isinstance(cell, Cell):
            ours = "a cell of seqattn_tf.cells (its LSTMCell and GRUCell have the weights and numbers of Keras's)"
            raise ValueError(f"cell: expected {ours}. Received: {cell!r}")
        if not isinstance(attention, BaseAttention):
            raise ValueError(f"attention: expected an Attention. Received: {attention!r}")
        self.cell, self.attention, self.jit_compile, self.bridge = cell, attention, jit_compile, bridge

    @property
    def cells(self) -> list[Cell]:
        """The cells of all layers, the first layer first."""
        return [self.cell]

    @property
    def state_size(self) -> list[int]:
        """The sizes of the states of all cells."""
        return [size for cell in self.cells for size in cell.state_size]

    def _build_parts(self, inputs: int, values_shape: Any) -> None:
        """Build the attention, and the cell for inputs of this width."""
        if not self.attention.built:  # parts restored from a saved configuration are already built
            self.attention.build((None, self.cell.output_size), values_shape)
        if not self.cell.built:
            self.cell.build((None, inputs))

    def _build_first(self, summary_shape: Any) -> None:
        """Create the maps from the summary to the initial states, if there is a summary."""
        if summary_shape is None:
            return
        sizes = list(enumerate(self.state_size if self.bridge == "all" else self.state_size[:1]))
        width = summary_shape[-1]
        self.first_kernels = [self.add_weight(name=f"first_kernel_{i}", shape=(width, size)) for i, size in sizes]
        self.first_biases = [
            self.add_weight(name=f"first_bias_{i}", shape=(size,), initializer="zeros") for i, size in sizes
        ]

    def begin(
        self,
        values: tf.Tensor,
        mask: tf.Tensor | None = None,
        summary: tf.Tensor | None = None,
        initial_state: Any = None,
    ) -> tuple[DecoderMemory, DecoderState]:
        """Return the prepared memory and the state before the first step. The arguments are those of `call`."""
        mask = mask_of(values, mask)
        raw = self.attention.prepare(tf.cast(values, self.compute_dtype), mask)
        memory = DecoderMemory(raw._replace(values=self.projected(raw.values)), self.values_said(raw.values))
        states = self._first_states(raw.values, summary, initial_state)
        return memory, DecoderState(states, self.attention.initial_state(memory.look), self.first_fed(states[0]))

    def _first_states(self, values: tf.Tensor, summary: tf.Tensor | None, initial_state: Any) -> list[tf.Tensor]:
        """Return the initial states: computed from the summary, as given, or the cells' own."""
        if summary is not None and initial_state is not None:
            raise ValueError("initial_state: expected either initial_state or summary. Received: both")
        if isinstance(summary, (list, tuple)):
            raise ValueError(f"summary: expected [batch, units]; pass states as initial_state=. Received: {summary!r}")
        if initial_state is not None:
            return check_states(initial_state, self.state_size, values)
        if (summary is not None) != hasattr(self, "first_kernels"):
            built, given = ("with", "without") if summary is None else ("without", "with")
            raise ValueError(
                f"summary: expected a call {built} a summary, as when the layer was built. Received: a call {given} one"
            )
        made: list[tf.Tensor] = []
        if summary is not None:
            pairs = zip(self.first_kernels, self.first_biases, strict=True)
            made = [tf.tanh(linear(tf.cast(summary, values.dtype), kernel, bias)) for kernel, bias in pairs]
        if len(made) == len(self.state_size):
            return made
        own = [state for cell in self.cells for state in cell.get_initial_state(size_of(values, 0))]
        return made + [tf.cast(state, values.dtype) for state in own[len(made) :]]

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Propagate the mask of the steps to the logits and the weights."""
        mask = self.steps_kept(inputs)
        return mask, mask

    def masks_on(self, **given: Any) -> Any:
        """Propagate an explicit mask of the steps, which takes precedence over the implicit one."""
        mask = given.get(f"{self._names[0]}_mask")
        return None if mask is None else (mask, mask)

    def steps_kept(self, inputs: Any, mask: Any = None) -> Any:
        """Return the mask of the steps: the given mask, or that of the inputs of the steps."""
        return mask_of(inputs, mask)

    def projected(self, values: tf.Tensor) -> tf.Tensor:
        """Return the values in the form that the loop reads."""
        return values

    def values_said(self, values: tf.Tensor) -> tf.Tensor:
        """Return the values in the form that the output head reads."""
        return values

    def first_fed(self, state: tf.Tensor) -> tuple:
        """Return the feedback for the first step."""
        return ()

    def _attend(
        self, query: tf.Tensor, memory: DecoderMemory, state: Any, training: bool
    ) -> tuple[tf.Tensor, tf.Tensor, Any]:
        """Attend to the memory with one query per row, as `Attention.attend` does; beams are consecutive rows."""
        return look(self.attention, query, memory.look, memory.beams, state, training)

    def _read(self, weights: tf.Tensor, values: tf.Tensor, query: tf.Tensor, beams: int) -> tf.Tensor:
        """Read with weights `[rows, queries, source]`, as `Attention.read` does, from values that beams may share."""
        return read(self.attention, weights, values, query, beams)

    def _cell_over_time(
        self,
        projected: Any,
        states: list[tf.Tensor],
        keep: tf.Tensor | None,
        training: bool,
        cell: Cell | None = None,
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """Run a cell that does not read the attention; return states `[batch, target, units]` and the last ones."""
        cell = cell or self.cell
        compiled = compiles(self.jit_compile, projected, training)
        weights = cell.weights if compiled else ()
        stacked, last = recur(lambda x, s, _: cell.step(x, s), projected, states, (), weights, keep, compiled=compiled)
        return [to_time_major(state) for state in stacked], last

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "jit_compile": self.jit_compile, "bridge": self.bridge}


def look(
    attention: BaseAttention, query: tf.Tensor, memory: Memory, beams: int, state: Any, training: bool
) -> tuple[tf.Tensor, tf.Tensor, Any]:
    """Attend to the memory, as `Attention.attend` does, where `beams` consecutive rows share each row of the memory."""
    if beams == 1:
        return attention.attend(query, memory, state, training)
    found, weights, state = attention.attend(_apart(query, beams), memory, state, training)
    return _together(found), _together(weights), state


def read(attention: BaseAttention, weights: tf.Tensor, values: tf.Tensor, query: tf.Tensor, beams: int) -> tf.Tensor:
    """Read with weights `[rows, queries, source]`, as `Attention.read` does, from values that beams may share."""
    if beams == 1:
        return attention.read(weights, values, query)
    found = attention.read(_apart(tf.squeeze(weights, 1), beams), values, _apart(tf.squeeze(query, 1), beams))
    return _together(found)[:, None]


def time_mask(mask: tf.Tensor | None, steps: tf.Tensor) -> tf.Tensor | None:
    """Convert a mask of the steps `[batch, target]` to the time-major layout of a loop, `[target, batch]`."""
    return None if mask is None else to_time_major(check_mask(mask, steps[..., None]))


def zero_steps(mask: tf.Tensor | None, *found: tf.Tensor) -> tuple[tf.Tensor, ...]:
    """Replace values at masked steps by zeros."""
    return found if mask is None else tuple(zero_masked(one, tf.cast(mask, tf.bool)) for one in found)


def _apart(rows: tf.Tensor, beams: int) -> tf.Tensor:
    """Split the beams: `[batch x beams, n] -> [batch, beams, n]`."""
    return tf.reshape(rows, [size_of(rows, 0) // beams, beams, size_of(rows, 1)])


def _together(rows: tf.Tensor) -> tf.Tensor:
    """Merge the beams: `[batch, beams, n] -> [batch x beams, n]`."""
    return tf.reshape(rows, [size_of(rows, 0) * rows.shape[1], size_of(rows, 2)])
