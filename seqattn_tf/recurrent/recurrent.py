"""A cell over time."""

import dataclasses
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells import Cell, cell_of
from seqattn_tf.core.linear import linear
from seqattn_tf.core.masking import zero_masked
from seqattn_tf.core.recurrence import compiles, recur
from seqattn_tf.core.scan import has_accelerator, to_time_major, where_rows
from seqattn_tf.recurrent.base import Network, Reading, at_end, check_states
from seqattn_tf.recurrent.watch import watched

_INITIALS = ("zeros", "learned")
CONTEXTS = (None, "state", "input", "both")
_PIPELINED = 32  # rows from which on, in the plain loop on a CPU, the next inputs are projected while a step is taken


@dataclasses.dataclass(frozen=True)
class Kept:
    """What a stateful network keeps from call to call: as in Keras, none of its weights."""

    states: list[keras.Variable]  # [batch, units] each

    @property
    def batch(self) -> int:
        """Rows of every call."""
        return self.states[0].shape[0]


@keras.saving.register_keras_serializable("seqattn_tf")
class Recurrent(Network):
    """Run a cell over the time axis: all inputs projected at once, then the steps scanned.

    Only in inference, on a CPU and for a known batch of 32 and more, each input is projected beside the steps: faster
    there, as two cores work on both.

    Args:
        cell: a `Cell`, or the name of one together with `units`.
        units: size of the state when the cell is given by name.
        reverse: read from the last step to the first.
        initial: the states before the first step: `"zeros"`, or `"learned"` with the other weights.
        context: what a fixed vector `c` given in the call is used for: `"state"`, the states before the first step are
            `tanh(W c + b)`; `"input"`, its projection joins the inputs' at every step; or `"both"`.
        truncate: let no gradient through the states after every so many kept steps (truncated backpropagation through
            time). Outputs are the same.
        jit_compile: whether XLA compiles the loop over time; None: in training, if the length is known (each new length
            is compiled anew). A compiled loop has no second derivatives, and goes into an export compiled.
        stateful: begin where the last call ended, until `reset_state()`. For batches of one size, known when building.
        return_sequences: return the output at every step, not the last one alone.
        return_state: return the states after the last step too, one after the other.

    Call arguments:
        inputs: `[batch, time, features]`.
        initial_state: states before the first step, such as a former call returned; before all other choices.
        mask: `[batch, time]`, True = keep. A step that is not kept leaves the state as it is and gives zeros.
        context: `[batch, n]`, with the argument of that name.
        training: whether to draw what the cell draws in training.

    Returns as Keras's recurrent layers: the last output `[batch, units]`; with `return_sequences`, `[batch, time,
    units]`, and the mask goes on; with `return_state`, that and each state.

    >>> Recurrent("gru", units=4)(tf.ones([2, 5, 3])).shape.as_list()
    [2, 4]
    >>> network = Recurrent("lstm", units=4, return_sequences=True, return_state=True)
    >>> outputs, hidden, memory = network(tf.ones([2, 5, 3]))
    >>> outputs.shape.as_list(), memory.shape.as_list()
    ([2, 5, 4], [2, 4])
    """

    parts = ("cell",)

    def __init__(
        self,
        cell: str | Cell = "gru",
        units: int | None = None,
        reverse: bool = False,
        initial: str = "zeros",
        context: str | None = None,
        truncate: int | None = None,
        stateful: bool = False,
        jit_compile: bool | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(return_sequences, return_state, **kwargs)
        if initial not in _INITIALS:
            raise ValueError(f"initial: expected one of {_INITIALS}. Received: {initial!r}")
        if context not in CONTEXTS:
            raise ValueError(f"context: expected one of {CONTEXTS}. Received: {context!r}")
        if truncate is not None and (not isinstance(truncate, int) or truncate < 1):
            raise ValueError(f"truncate: expected a positive integer or None. Received: {truncate!r}")
        ways = [initial == "learned", context in ("state", "both"), stateful]
        if sum(ways) > 1:
            raise ValueError(
                "initial: expected one way to the first state, of learned, from the context, stateful. "
                f"Received: initial={initial!r}, context={context!r}, stateful={stateful!r}"
            )
        self.cell = cell_of(cell, units, self.dtype_policy)
        self.reverse = reverse
        self.initial = initial
        self.context = context
        self.truncate = truncate
        self.stateful = stateful
        self.jit_compile = jit_compile

    @property
    def output_size(self) -> int:
        """Width of the outputs."""
        return self.cell.output_size

    @property
    def state_size(self) -> list[int]:
        """Width of each state."""
        return self.cell.state_size

    def build(self, inputs_shape: Any, context_shape: Any = None) -> None:
        """Build the cell, and what the context and the first states need."""
        if not self.cell.built:
            self.cell.build(inputs_shape)
        if self.context is not None and context_shape is None:
            raise ValueError(f"context: expected [batch, n], for context={self.context!r}. Received: None")
        sizes = list(enumerate(self.cell.state_size))
        if self.context in ("input", "both"):
            shape = (context_shape[-1], self.cell.projected_size)
            self.context_kernel = self.add_weight(name="context_kernel", shape=shape)
        if self.context in ("state", "both"):
            shapes = [(context_shape[-1], size) for _, size in sizes]
            self.first_kernels = [self.add_weight(name=f"first_kernel_{i}", shape=s) for i, s in enumerate(shapes)]
        if self.context in ("state", "both") or self.initial == "learned":
            self.first_biases = [
                self.add_weight(name=f"first_bias_{i}", shape=(size,), initializer="zeros") for i, size in sizes
            ]
        if self.stateful:
            if inputs_shape[0] is None:
                raise ValueError(f"stateful: expected a known batch size. Received: inputs of shape {inputs_shape}")
            first = self.cell.get_initial_state(inputs_shape[0])
            self.kept = Kept(
                [keras.Variable(state, trainable=False, dtype=self.variable_dtype, name="state") for state in first]
            )
        self.built = True

    def reset_state(self) -> None:
        """Forget what the calls before left behind: the next one begins from the cell's initial state."""
        if not self.stateful:
            raise ValueError("reset_state: expected a network with stateful=True. Received: stateful=False")
        if self.built:
            self._keep(self.cell.get_initial_state(self.kept.batch))

    def _keep(self, states: list[tf.Tensor]) -> None:
        for variable, state in zip(self.kept.states, states, strict=True):
            variable.assign(tf.cast(state, variable.dtype))

    def _first_states(self, inputs: tf.Tensor, context: tf.Tensor | None) -> list[tf.Tensor]:
        if self.stateful:
            return [tf.cast(variable, inputs.dtype) for variable in self.kept.states]
        if self.context in ("state", "both"):
            pairs = zip(self.first_kernels, self.first_biases, strict=True)
            return [tf.tanh(linear(context, kernel, bias)) for kernel, bias in pairs]
        zeros = [tf.cast(state, inputs.dtype) for state in self.cell.get_initial_state(tf.shape(inputs)[0])]
        if self.initial == "learned":
            return [zero + tf.cast(own, zero.dtype) for zero, own in zip(zeros, self.first_biases, strict=True)]
        return zeros

    def _check(self, inputs: tf.Tensor, context: tf.Tensor | None) -> None:
        if (context is None) != (self.context is None):
            received = "None" if context is None else f"shape {context.shape}"
            raise ValueError(f"context: expected one with context={self.context!r} only. Received: {received}")
        if context is not None and context.shape.rank != 2:
            raise ValueError(f"context: expected [batch, n]. Received shape: {context.shape}")
        if self.stateful and inputs.shape[0] not in (None, self.kept.batch):
            raise ValueError(f"stateful: expected batches of {self.kept.batch}. Received: {inputs.shape[0]}")

    def _steps(
        self, inputs: tf.Tensor, context: tf.Tensor | None, mask: tf.Tensor | None, training: bool, compiled: bool
    ) -> tuple[Callable, Any]:
        """One step, and what it takes of every moment, for time-major inputs."""

        def project(inputs: tf.Tensor) -> Any:
            projected = self.cell.project(inputs, training=training)
            if self.context in ("input", "both"):
                added = linear(context, self.context_kernel)
                projected = self.cell.join(projected, added if inputs.shape.rank == 2 else added[None])
            return projected

        plain = not (training or compiled or has_accelerator())
        if plain and (inputs.shape[1] or 0) >= _PIPELINED:
            return lambda one, states: self.cell.step(project(one), states), inputs
        if self.truncate is None:
            return self.cell.step, project(inputs)
        return self._truncated(mask, project(inputs))

    def _truncated(self, mask: tf.Tensor | None, projected: Any) -> tuple[Callable, Any]:
        """The step that first cuts the states off where it is told to, and its elements `(projected, cut [time])`."""
        if mask is None:
            time = tf.shape(tf.nest.flatten(projected)[0])[0]
            before = tf.range(time)  # how many steps were taken
            before = time - 1 - before if self.reverse else before
        else:
            before = tf.cumsum(tf.cast(mask, tf.int32), axis=0, exclusive=True, reverse=self.reverse)
        cut = tf.logical_and(before > 0, before % self.truncate == 0)

        def step(element: tuple, states: list[tf.Tensor]) -> list[tf.Tensor]:
            inputs, cut = element
            return self.cell.step(inputs, where_rows(cut, [tf.stop_gradient(state) for state in states], states))

        return step, (projected, cut)

    def _gates(
        self, inputs: tf.Tensor, mask: tf.Tensor | None, first: list[tf.Tensor], stacked: list[tf.Tensor]
    ) -> dict[str, tf.Tensor]:
        """The gates at every kept step `[steps, units]`, from the inputs and the states before each."""

        def kept(values: tf.Tensor) -> tf.Tensor:
            if mask is None:
                return tf.reshape(values, [-1, values.shape[-1]])
            return tf.boolean_mask(values, mask)

        before = []
        for start, states in zip(first, stacked, strict=True):
            rows = [states[1:], start[None]] if self.reverse else [start[None], states[:-1]]
            before.append(kept(to_time_major(tf.concat(rows, axis=0))))
        return self.cell.gates(kept(inputs), before)

    def final_output(self, states: list[tf.Tensor]) -> tf.Tensor:
        """The first state."""
        return states[0]

    def ending(self, sequence: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
        """What stands at the last step that is read."""
        return at_end(sequence, mask, self.reverse)

    def _read(
        self,
        inputs: tf.Tensor,
        initial_state: Any,
        mask: tf.Tensor | None,
        context: tf.Tensor | None,
        training: bool,
    ) -> Reading:
        """The steps, one after the other."""
        self._check(inputs, context)
        if self.stateful:
            inputs = tf.ensure_shape(inputs, [self.kept.batch, None, None])
        keep = None if mask is None else to_time_major(mask)
        if initial_state is None:
            states = self._first_states(inputs, context)
        else:
            states = check_states(initial_state, self.state_size, inputs)
        ordered = to_time_major(inputs)
        compiled = compiles(self.jit_compile, ordered, training)
        step, elements = self._steps(ordered, context, keep, training, compiled)
        weights = self.cell.weights if compiled else ()
        stacked, final = recur(lambda x, s, _: step(x, s), elements, states, (), weights, keep, self.reverse, compiled)
        if self.stateful:
            self._keep(final)
        if (seen := watched()) is not None:
            seen.append((self.name, self._gates(inputs, mask, states, stacked)))
        outputs, last = to_time_major(stacked[0]), final[0]
        if mask is None:
            return Reading(outputs, last, final)
        return Reading(zero_masked(outputs, mask), zero_masked(last, tf.reduce_any(mask, axis=1)), final)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {
            **super().get_config(),
            "reverse": self.reverse,
            "initial": self.initial,
            "context": self.context,
            "truncate": self.truncate,
            "stateful": self.stateful,
            "jit_compile": self.jit_compile,
        }
