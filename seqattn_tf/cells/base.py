"""The contract of a cell, and what all gated cells share.

A cell is Keras's cell (`call(inputs, states) -> (output, states)`, `state_size`, `get_initial_state`), split in two:

    call(x, s) = step(project(x), s)

`project` sees no state, so a network projects all time steps at once before its loop and scans `step` alone. The
output of a cell is its first state; `gates` gives what a person may look at.
"""

from typing import Any, ClassVar

import keras
import tensorflow as tf

from seqattn_tf.layer import Named
from seqattn_tf.linear import linear


class Cell(Named, keras.layers.Layer):
    """One step of recurrence; subclasses give `state_size`, `build`, `project`, `step` and `gates`.

    >>> Cell.get("gru", units=8).state_size
    [8]
    """

    registry: ClassVar[dict[str, type]] = {}

    @property
    def state_size(self) -> list[int]:
        """Units of each state; the first state is the output."""
        raise NotImplementedError

    @property
    def output_size(self) -> int:
        """Units of the output."""
        return self.state_size[0]

    @property
    def projected_size(self) -> int:
        """Width of what `project` returns, to which a network may add projections of its own."""
        raise NotImplementedError

    def project(self, inputs: tf.Tensor) -> tf.Tensor:
        """The part of the step that depends on the inputs alone: `[..., features] -> [..., projected]`."""
        raise NotImplementedError

    def step(self, projected: tf.Tensor, states: list[tf.Tensor]) -> list[tf.Tensor]:
        """The states after one step: `[batch, projected], states -> states`."""
        raise NotImplementedError

    def gates(self, inputs: tf.Tensor, states: list[tf.Tensor]) -> dict[str, tf.Tensor]:
        """The named inner activations of one step, for inspection."""
        raise NotImplementedError

    def call(self, inputs: tf.Tensor, states: Any, training: bool = False) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """One step in Keras's form: the output, and the states after it."""
        states = self.step(self.project(inputs), tf.nest.flatten(states))
        return states[0], states

    def get_initial_state(self, batch_size: tf.Tensor | int) -> list[tf.Tensor]:
        """Zeros for every state."""
        return [tf.zeros([batch_size, size], self.compute_dtype) for size in self.state_size]


class GatedCell(Cell):
    """A cell whose gates are rows of one kernel, laid out and named as in Keras, so that weights can be exchanged."""

    gate_count: int

    def __init__(
        self,
        units: int,
        activation: str = "tanh",
        recurrent_activation: str = "sigmoid",
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(units, int) or units < 1:
            raise ValueError(f"units: expected a positive integer. Received: {units!r}")
        self.units = units
        self.activation = keras.activations.get(activation)
        self.recurrent_activation = keras.activations.get(recurrent_activation)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.recurrent_initializer = keras.initializers.get(recurrent_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)

    def build(self, input_shape: Any) -> None:
        """Create `kernel`, `recurrent_kernel` and `bias` in Keras's layout."""
        width = self.projected_size
        self.kernel = self.add_weight(
            name="kernel", shape=(input_shape[-1], width), initializer=self.kernel_initializer
        )
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel", shape=(self.units, width), initializer=self.recurrent_initializer
        )
        self.bias = self.add_weight(name="bias", shape=self.bias_shape(), initializer=self.initial_bias)
        self.built = True

    @property
    def projected_size(self) -> int:
        """One block of units for each gate."""
        return self.gate_count * self.units

    def bias_shape(self) -> tuple[int, ...]:
        """Shape of `bias`."""
        return (self.projected_size,)

    def initial_bias(self, shape: tuple[int, ...], dtype: Any = None) -> tf.Tensor:
        """First value of `bias`."""
        return self.bias_initializer(shape, dtype=dtype)

    def project(self, inputs: tf.Tensor) -> tf.Tensor:
        """`x W + b`."""
        return linear(inputs, self.kernel, self.bias)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {
            **super().get_config(),
            "units": self.units,
            "activation": keras.activations.serialize(self.activation),
            "recurrent_activation": keras.activations.serialize(self.recurrent_activation),
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "recurrent_initializer": keras.initializers.serialize(self.recurrent_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
        }
