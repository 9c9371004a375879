"""The interface of a cell, and the base classes of cells with kernels.

A cell has the interface of a Keras cell (`call(inputs, states) -> (output, states)`, `state_size`,
`get_initial_state`), split in two:

    call(x, s) = step(project(x), s)

`project` does not depend on the state, so a layer projects all time steps at once before its loop and scans `step`
alone. All random numbers of a cell are drawn in `project` too and are part of what it returns, so `step` is a pure
function. The output of a cell is its first state; `gates` returns activations for inspection.
"""

from typing import Any, ClassVar

import keras
import tensorflow as tf

from seqattn_tf.core.layer import RegisteredLayer
from seqattn_tf.core.linear import linear
from seqattn_tf.core.products import compiling
from seqattn_tf.core.registry import check_count
from seqattn_tf.core.scan import size_of


class Cell(RegisteredLayer):
    """A recurrent cell. Subclasses define `state_size`, `projected_size`, `build`, `project`, `step` and `gates`.

    >>> Cell.get("gru", units=8).state_size
    [8]
    """

    registry: ClassVar[dict[str, type]] = {}

    @property
    def state_size(self) -> list[int]:
        """The size of each state. The first state is the output."""
        raise NotImplementedError

    @property
    def output_size(self) -> int:
        """The size of the output."""
        return self.state_size[0]

    @property
    def projected_size(self) -> int:
        """The width of the projection, to which a layer may `join` projections of its own."""
        raise NotImplementedError

    def project(self, inputs: tf.Tensor, training: bool = False) -> Any:
        """Compute the part of a step that depends on the inputs alone: `[..., features] -> [..., projected]`.

        A cell that needs more at every step, such as random numbers in training, returns a structure of tensors with
        the same leading axes. These are `[batch]`, or `[time, batch]` for whole sequences.
        """
        raise NotImplementedError

    def join(self, projected: Any, extra: tf.Tensor) -> Any:
        """Add a further term `[..., projected]` to the projection in what `project` returned."""
        return projected + extra

    def step(self, projected: Any, states: list[tf.Tensor]) -> list[tf.Tensor]:
        """Return the states after one step: `[batch, projected], states -> states`."""
        raise NotImplementedError

    def gates(self, inputs: tf.Tensor, states: list[tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return the named activations inside one step, for inspection."""
        raise NotImplementedError

    @property
    def dropped_size(self) -> int:
        """The width of the factors that `dropped_step` takes."""
        return self.state_size[0]

    def dropped_step(self, projected: Any, states: list[tf.Tensor], factors: tf.Tensor) -> list[tf.Tensor]:
        """Take one step with recurrent dropout: the first state is multiplied by `factors [batch, dropped_size]`.

        The factors apply only to the input of the recurrent products. A cell that also carries its first state over, as
        a GRU does, overrides this method.
        """
        return self.step(projected, [states[0] * factors, *states[1:]])

    def call(self, inputs: tf.Tensor, states: Any, training: bool = False) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Take one step with Keras's signature: return the output and the new states."""
        # A stateful network passes variables.
        states = [tf.convert_to_tensor(state) for state in tf.nest.flatten(states)]
        states = self.step(self.project(inputs, training=training), states)
        return states[0], states

    def get_initial_state(self, batch_size: tf.Tensor | int) -> list[tf.Tensor]:
        return [tf.zeros([batch_size, size], self.compute_dtype) for size in self.state_size]

    def twin(self) -> "Cell":
        """Return a new cell with the same configuration, with weights and random numbers of its own."""
        return type(self).from_config({**self.get_config(), "name": f"{self.name}_twin"})


def cell_of(cell: str | Cell, units: int | None = None, dtype: Any = None) -> Cell:
    """Return the given cell, or create the named cell with `units` units and the precision of its owner.

    >>> cell_of("lstm", 4).state_size
    [4, 4]
    """
    if isinstance(cell, str) and units is None:
        raise ValueError(f"units: expected an integer for the cell {cell!r}, which is given by name. Received: None")
    if isinstance(cell, Cell) and units not in (None, cell.output_size):
        raise ValueError(f"units: expected None for a cell instance of {cell.output_size} units. Received: {units}")
    return Cell.get(cell, dtype=dtype, **({} if units is None else {"units": units}))


def shifted(values: tf.Tensor, bias: tf.Tensor | None) -> tf.Tensor:
    """Return `values + b` in the precision of the values, or the values themselves if there is no bias."""
    return values if bias is None else values + tf.cast(bias, values.dtype)


def recurrent_product(
    hidden: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor | None = None, factors: tf.Tensor | None = None
) -> tf.Tensor:
    """Compute `h U (+ b)`; with `factors [batch, blocks x units]`, each block of `U` reads the state times its factors.

    >>> recurrent_product(tf.ones([1, 2]), tf.eye(2, 4), factors=tf.constant([[0.0, 2.0, 1.0, 1.0]])).numpy().tolist()
    [[0.0, 2.0, 0.0, 0.0]]
    """
    if factors is None:
        return linear(hidden, kernel, bias)
    blocks = kernel.shape[1] // kernel.shape[0]
    pairs = zip(tf.split(factors, blocks, axis=-1), tf.split(kernel, blocks, axis=-1), strict=True)
    return shifted(tf.concat([linear(hidden * own, block) for own, block in pairs], axis=-1), bias)


OPTIONS = {"initializer": keras.initializers, "regularizer": keras.regularizers, "constraint": keras.constraints}
_ELSEWHERE = {
    "dropout": "a `keras.layers.Dropout` before the network",
    "recurrent_dropout": "`DropoutCell(cell, rate=...)` around the cell",
    "seed": "the `seed` of `DropoutCell` or of the initializers",
    "implementation": "no such argument, because inputs are always projected in a single product",
}  # arguments that Keras's cells take and ours do not


class KernelCell(Cell):
    """A cell whose kernel consists of blocks of units, with Keras's layout and names, so that weights can be exchanged.

    A subclass names its `blocks` and defines `_advance`; `step`, `dropped_step` and `gates` are derived from it.

    Args:
        units: The size of each state.
        activation: The activation of the candidate and of the output.
        use_bias: Whether there is a bias. Without it, `bias` is None.
        kernel_initializer, recurrent_initializer, bias_initializer: As in Keras.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: As in Keras.
        kernel_constraint, recurrent_constraint, bias_constraint: As in Keras.
    """

    blocks: ClassVar[tuple[str, ...]]  # the blocks of the kernel, in order

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        for name in _ELSEWHERE:
            if name in kwargs:
                raise ValueError(f"{name}: expected {_ELSEWHERE[name]}. Received: {name}={kwargs[name]!r}")
        super().__init__(**kwargs)
        self.units = check_count("units", units)
        self.activation = keras.activations.get(activation)
        self.use_bias = use_bias
        self._weight_options: tuple[tuple[str, str], ...] = ()
        self._keep("kernel", kernel_initializer, kernel_regularizer, kernel_constraint)
        self._keep("recurrent", recurrent_initializer, recurrent_regularizer, recurrent_constraint)
        self._keep("bias", bias_initializer, bias_regularizer, bias_constraint)

    def _keep(self, kind: str, *options: Any) -> None:
        """Store the options of one kind of weight, as attributes and for `get_config`."""
        for (option, family), value in zip(OPTIONS.items(), options, strict=True):
            setattr(self, f"{kind}_{option}", family.get(value))
            self._weight_options = (*self._weight_options, (f"{kind}_{option}", option))

    def _weight(self, name: str, shape: tuple[int, ...], kind: str, **options: Any) -> tf.Tensor:
        """Create a weight with the options of its kind."""
        kept = {option: getattr(self, f"{kind}_{option}") for option in OPTIONS}
        return self.add_weight(name=name, shape=shape, **{**kept, **options})

    @property
    def state_size(self) -> list[int]:
        """The size of the only state, the hidden state."""
        return [self.units]

    @property
    def projected_size(self) -> int:
        """The total width of all blocks."""
        return len(self.blocks) * self.units

    def build(self, input_shape: Any) -> None:
        """Create `kernel`, `recurrent_kernel` and `bias` in Keras's layout."""
        width = self.projected_size
        self.kernel = self._weight("kernel", (input_shape[-1], width), "kernel")
        self.recurrent_kernel = self._weight("recurrent_kernel", (self.units, width), "recurrent")
        self.bias = None
        if self.use_bias:
            self.bias = self._weight("bias", self.bias_shape(), "bias", initializer=self.initial_bias)
        self.built = True

    def bias_shape(self) -> tuple[int, ...]:
        """Return the shape of `bias`."""
        return (self.projected_size,)

    def initial_bias(self, shape: tuple[int, ...], dtype: Any = None) -> tf.Tensor:
        """Return the initial value of `bias`."""
        return self.bias_initializer(shape, dtype=dtype)

    def project(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Compute `x W + b`."""
        return self._product(inputs, self.bias)

    def _product(self, inputs: tf.Tensor, bias: tf.Tensor | None = None) -> tf.Tensor:
        """Compute `x W (+ b)`.

        If the inputs have no features, as for a cell that reads its states alone, return `b`.
        """
        if self.kernel.shape[0]:
            return linear(inputs, self.kernel, bias)
        row = tf.reduce_sum(tf.cast(self.kernel, inputs.dtype), axis=0)  # zeros, with an empty gradient
        leading = [size_of(inputs, axis) for axis in range(inputs.shape.rank - 1)]
        return tf.broadcast_to(shifted(row, bias), [*leading, self.projected_size])

    def _advance(
        self, projected: tf.Tensor, states: list[tf.Tensor], factors: tf.Tensor | None = None
    ) -> tuple[list[tf.Tensor], tuple[tf.Tensor, ...]]:
        """Return the states after one step, and the activation of every block; `factors` as in `recurrent_product`."""
        raise NotImplementedError

    def step(self, projected: tf.Tensor, states: list[tf.Tensor]) -> list[tf.Tensor]:
        """Return the states after one step: `[batch, blocks x units], states -> states`."""
        return self._advance(projected, states)[0]

    @property
    def dropped_size(self) -> int:
        """The width of the factors: every block has its own, as in Keras."""
        return self.projected_size

    def dropped_step(self, projected: tf.Tensor, states: list[tf.Tensor], factors: tf.Tensor) -> list[tf.Tensor]:
        """Take one step whose recurrent products read the first state times `factors`.

        What is carried over to the next state is not multiplied.
        """
        return self._advance(projected, states, factors)[0]

    def gates(self, inputs: tf.Tensor, states: list[tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return the activation of every block at one step, by name: `[batch, units]` each."""
        return dict(zip(self.blocks, self._advance(self.project(inputs), states)[1], strict=True))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "units": self.units,
            "activation": keras.activations.serialize(self.activation),
            "use_bias": self.use_bias,
            **{name: OPTIONS[option].serialize(getattr(self, name)) for name, option in self._weight_options},
        }


class GatedCell(KernelCell):
    """A cell some of whose blocks are gates.

    Args:
        units, activation: As in `KernelCell`.
        recurrent_activation: The activation of the gates.
        **kwargs: As in `KernelCell`.
    """

    def __init__(
        self, units: int, activation: Any = "tanh", recurrent_activation: Any = "sigmoid", **kwargs: Any
    ) -> None:
        super().__init__(units, activation, **kwargs)
        self.recurrent_activation = keras.activations.get(recurrent_activation)

    def _opened(self, drive: tf.Tensor) -> tf.Tensor:
        """Apply the activation of the gates.

        XLA computes the logistic function faster on a CPU as `(1 + tanh(x / 2)) / 2`.
        """
        if compiling() and self.recurrent_activation is keras.activations.sigmoid:
            return 0.5 * tf.tanh(0.5 * drive) + 0.5
        return self.recurrent_activation(drive)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "recurrent_activation": keras.activations.serialize(self.recurrent_activation),
        }
