"""The contract of a composition, and what the two TreeLSTMs share."""

from typing import Any, ClassVar

import tensorflow as tf

from seqattn_tf.core.layer import RegisteredLayer
from seqattn_tf.core.linear import linear
from seqattn_tf.core.registry import check_count


class Composition(RegisteredLayer):
    """One step of recursion; a subclass gives `state_count`, `projected_size`, `build`, `leaf` and `compose`.

    As in a cell, `project` is what depends on the inputs alone, and the output is the first state.

    Args:
        units: size of each state.
    """

    registry: ClassVar[dict[str, type]] = {}
    state_count: ClassVar[int] = 1
    most_children: ClassVar[int | None] = None  # None: any number, in no order

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = check_count("units", units)

    @property
    def projected_size(self) -> int:
        """Width of the projection."""
        raise NotImplementedError

    def build(self, input_shape: Any) -> None:
        """Create `kernel` and `bias` of the projection."""
        self.kernel = self.add_weight(name="kernel", shape=(input_shape[-1], self.projected_size))
        self.bias = self.add_weight(name="bias", shape=(self.projected_size,), initializer="zeros")
        self.built = True

    def project(self, inputs: tf.Tensor) -> tf.Tensor:
        """`x W + b`: `[..., features] -> [..., projected]`."""
        return linear(inputs, self.kernel, self.bias)

    def leaf(self, projected: tf.Tensor) -> list[tf.Tensor]:
        """The states of nodes without children: `[..., projected] -> [[..., units]]`."""
        raise NotImplementedError

    def compose(self, projected: tf.Tensor, children: list[tf.Tensor]) -> list[tf.Tensor]:
        """The states of parents: `[n, projected]`, states of the children `[n, children, units]` each, 0 for none."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "units": self.units}


class TreeLSTM(Composition):
    """A TreeLSTM: blocks i, o, g and f of the projection, a hidden vector and a memory (Tai et al. 2015)."""

    state_count = 2

    @property
    def projected_size(self) -> int:
        """Input, output, candidate and forget gate."""
        return 4 * self.units

    def leaf(self, projected: tf.Tensor) -> list[tf.Tensor]:
        """Nothing to forget: `c = i * g`, `h = o * tanh(c)`."""
        return self._states(projected[..., : 3 * self.units], 0.0)

    def _states(self, drives: tf.Tensor, kept: Any) -> list[tf.Tensor]:
        """From the drives of i, o, g and what is kept of the children's memories."""
        entry, exit_, candidate = tf.split(drives, 3, axis=-1)
        memory = tf.sigmoid(entry) * tf.tanh(candidate) + kept
        return [tf.sigmoid(exit_) * tf.tanh(memory), memory]
