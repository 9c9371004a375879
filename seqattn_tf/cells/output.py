"""Recurrence through the output alone (Jordan 1986): the previous output is the only state."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells.base import KernelCell, recurrent_product
from seqattn_tf.core.linear import linear
from seqattn_tf.core.registry import check_count


@keras.saving.register_keras_serializable("seqattn_tf")
class OutputCell(KernelCell):
    """A cell whose only state is its output.

        h = tanh(W x + U o + b)      o' = f(V h + c)

    It forgets everything that its output does not contain. In return, no step depends on the one before it if the
    correct outputs are known: `teach` computes all steps at once.

    Args:
        units: The size of the output and of the state.
        hidden: The size of `h`. Defaults to `units`.
        activation: The activation of `h`.
        output_activation: The activation of the output.
        **kwargs: `use_bias`, and the initializer, regularizer and constraint of each weight, as in Keras
            (`KernelCell`).

    >>> cell = OutputCell(4, hidden=8, output_activation="softmax")
    >>> output, states = cell(tf.ones([2, 3]), cell.get_initial_state(2))
    >>> output.shape.as_list(), cell.teach(tf.ones([2, 5, 3]), tf.zeros([2, 5, 4])).shape.as_list()
    ([2, 4], [2, 5, 4])
    """

    name_in_registry = "output"
    blocks = ("candidate",)

    def __init__(
        self,
        units: int,
        hidden: int | None = None,
        activation: Any = "tanh",
        output_activation: Any = "tanh",
        **kwargs: Any,
    ) -> None:
        super().__init__(units, activation, **kwargs)
        self.hidden = self.units if hidden is None else check_count("hidden", hidden)
        self.output_activation = keras.activations.get(output_activation)

    @property
    def projected_size(self) -> int:
        """The size of `h`."""
        return self.hidden

    @property
    def dropped_size(self) -> int:
        """The size of the output, which is fed back."""
        return self.units

    def build(self, input_shape: Any) -> None:
        """Create `W`, `U`, `b`, `V` and `c`."""
        super().build(input_shape)
        self.output_kernel = self._weight("output_kernel", (self.hidden, self.units), "kernel")
        self.output_bias = self._weight("output_bias", (self.units,), "bias") if self.use_bias else None

    def _advance(
        self, projected: tf.Tensor, states: list[tf.Tensor], factors: tf.Tensor | None = None
    ) -> tuple[list[tf.Tensor], tuple[tf.Tensor, ...]]:
        said = states[0] if factors is None else states[0] * factors
        hidden = self.activation(projected + recurrent_product(said, self.recurrent_kernel))
        output = self.output_activation(linear(hidden, self.output_kernel, self.output_bias))
        return [output], (hidden,)

    def teach(self, inputs: tf.Tensor, targets: tf.Tensor, initial_state: tf.Tensor | None = None) -> tf.Tensor:
        """Compute the outputs of all steps by teacher forcing, without a loop.

        Args:
            inputs: The inputs `[batch, time, features]`.
            targets: The correct outputs `[batch, time, units]`.
            initial_state: The output before the first step, `[batch, units]`. Defaults to zeros.

        Returns:
            The outputs `[batch, time, units]`.
        """
        if not self.built:
            self.build(inputs.shape)
        targets = tf.cast(targets, self.compute_dtype)
        first = tf.zeros_like(targets[:, 0]) if initial_state is None else tf.cast(initial_state, targets.dtype)
        before = tf.concat([first[:, None], targets[:, :-1]], axis=1)
        return self.step(self.project(tf.cast(inputs, targets.dtype)), [before])[0]

    def get_config(self) -> dict[str, Any]:
        said = keras.activations.serialize(self.output_activation)
        return {**super().get_config(), "hidden": self.hidden, "output_activation": said}
