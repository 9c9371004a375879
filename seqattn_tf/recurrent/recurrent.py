"""A cell over time in one direction."""

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
from seqattn_tf.recurrent.base import Network, RecurrentOutput, at_end, check_states
from seqattn_tf.recurrent.watch import watched

_INITIALS = ("zeros", "learned")
CONTEXTS = (None, "state", "input", "both")
_PIPELINED = 32  # minimum batch size for projecting inputs within the step, in the plain loop on a CPU


@dataclasses.dataclass(frozen=True)
class Kept:
    """The states that a stateful network stores between calls. As in Keras, they are not among its weights."""

    states: list[keras.Variable]  # [batch, units] each

    @property
    def batch(self) -> int:
        """The batch size of every call."""
        return self.states[0].shape[0]


@keras.saving.register_keras_serializable("seqattn_tf")
class Recurrent(Network):
    """A cell over the time axis: all inputs are projected at once, then the steps are scanned.

    Only in inference on a CPU with a known batch of at least 32 rows is each input projected within its step, which is
    faster there because two cores share the work.

    Args:
        cell: A `Cell`, or its name together with `units`.
        units: The size of the state, if the cell is given by name.
        reverse: Whether to read from the last step to the first.
        initial: The states before the first step: `"zeros"`, or `"learned"` for trainable ones.
        context: How to use a fixed vector `c` given in the call. `"state"`: the states before the first step are
            `tanh(W c + b)`. `"input"`: its projection is added to that of the inputs at every step. `"both"`: both.
        truncate: The number of unmasked steps after which the gradient through the states is cut (truncated
            backpropagation through time). Outputs do not change. None for no truncation.
        stateful: Whether each call starts from the final states of the previous one, until `reset_state()`. This
            requires a fixed batch size that is known at build time.
        jit_compile: Whether XLA compiles the loop over time. None compiles in training if the length is known (each new
            length is compiled separately). A compiled loop has no second derivatives and is exported in compiled form.
        return_sequences: Whether to return the output at every step instead of the last one alone.
        return_state: Whether to return the states after the last step in addition to the output.

    Call arguments:
        inputs: The inputs `[batch, time, features]`.
        initial_state: The states before the first step, such as those returned by an earlier call. They take precedence
            over `initial`, `context` and `stateful`.
        mask: The mask `[batch, time]`, True = keep. A masked step leaves the state unchanged and outputs zeros.
        context: The fixed vector `[batch, n]`, required by the option of the same name.
        training: Whether to run in training mode, in which the cell may draw random numbers.

    Returns the same as Keras's recurrent layers: the last output `[batch, units]`. With `return_sequences`, it returns
    all outputs `[batch, time, units]` and propagates the mask; with `return_state`, also each state.

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
                "initial: expected a single source of the initial state: learned, context or stateful. "
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
        return self.cell.output_size

    @property
    def state_size(self) -> list[int]:
        return self.cell.state_size

    def build(self, inputs_shape: Any, context_shape: Any = None) -> None:
        """Build the cell and the weights for the context and the initial states."""
        if not self.cell.built:
            self.cell.build(inputs_shape)
        if self.context is not None and context_shape is None:
            raise ValueError(f"context: expected [batch, n] with context={self.context!r}. Received: None")
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
        """Reset the states, so that the next call starts from the initial state of the cell."""
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
            expected = "None" if self.context is None else "[batch, n]"
            raise ValueError(f"context: expected {expected} with context={self.context!r}. Received: {received}")
        if context is not None and context.shape.rank != 2:
            raise ValueError(f"context: expected [batch, n]. Received shape: {context.shape}")
        if self.stateful and inputs.shape[0] not in (None, self.kept.batch):
            raise ValueError(f"stateful: expected batches of {self.kept.batch}. Received: {inputs.shape[0]}")

    def _steps(
        self, inputs: tf.Tensor, context: tf.Tensor | None, mask: tf.Tensor | None, training: bool, compiled: bool
    ) -> tuple[Callable, Any]:
        """Return the step function and its elements for every time step, given time-major inputs."""

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
        """Return a step that cuts the gradient of the states, and its elements `(projected, cut)`."""
        if mask is None:
            time = tf.shape(tf.nest.flatten(projected)[0])[0]
            before = tf.range(time)  # the number of steps taken before each step
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
        """Return the gates at every unmasked step `[steps, units]`, from the inputs and the states before each step."""

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
        return states[0]

    def ending(self, sequence: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
        """Return the values at the last step that is read."""
        return at_end(sequence, mask, self.reverse)

    def _read(
        self,
        inputs: tf.Tensor,
        initial_state: Any,
        mask: tf.Tensor | None,
        context: tf.Tensor | None,
        training: bool,
    ) -> RecurrentOutput:
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
            return RecurrentOutput(outputs, last, final)
        return RecurrentOutput(zero_masked(outputs, mask), zero_masked(last, tf.reduce_any(mask, axis=1)), final)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "reverse": self.reverse,
            "initial": self.initial,
            "context": self.context,
            "truncate": self.truncate,
            "stateful": self.stateful,
            "jit_compile": self.jit_compile,
        }
