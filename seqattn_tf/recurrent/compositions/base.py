"""The interface of a composition, and the base class of the two TreeLSTMs."""

from typing import Any, ClassVar

import tensorflow as tf

from seqattn_tf.core.layer import RegisteredLayer
from seqattn_tf.core.linear import linear
from seqattn_tf.core.registry import check_count


class Composition(RegisteredLayer):
    """One step of a recursion over trees.

    Subclasses define `state_count`, `projected_size`, `build`, `leaf` and `compose`.

    As in a cell, `project` computes what depends on the inputs alone, and the output is the first state.

    Args:
        units: The size of each state.
    """

    registry: ClassVar[dict[str, type]] = {}
    state_count: ClassVar[int] = 1
    most_children: ClassVar[int | None] = None  # None: any number of children, unordered

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = check_count("units", units)

    @property
    def projected_size(self) -> int:
        """The width of the projection."""
        raise NotImplementedError

    def build(self, input_shape: Any) -> None:
        """Create `kernel` and `bias` of the projection."""
        self.kernel = self.add_weight(name="kernel", shape=(input_shape[-1], self.projected_size))
        self.bias = self.add_weight(name="bias", shape=(self.projected_size,), initializer="zeros")
        self.built = True

    def project(self, inputs: tf.Tensor) -> tf.Tensor:
        """Compute `x W + b`: `[..., features] -> [..., projected]`."""
        return linear(inputs, self.kernel, self.bias)

    def leaf(self, projected: tf.Tensor) -> list[tf.Tensor]:
        """Return the states of nodes without children: `[..., projected] -> [[..., units]]`."""
        raise NotImplementedError

    def compose(self, projected: tf.Tensor, children: list[tf.Tensor]) -> list[tf.Tensor]:
        """Return the states of parents from `projected [n, projected]` and the states of their children.

        Each state in `children` is `[n, children, units]`, with zeros for missing children.
        """
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}


class TreeLSTM(Composition):
    """A TreeLSTM: a projection with blocks i, o, g and f, a hidden state and a cell state (Tai et al. 2015)."""

    state_count = 2

    @property
    def projected_size(self) -> int:
        """The total width of the blocks i, o, g and f."""
        return 4 * self.units

    def leaf(self, projected: tf.Tensor) -> list[tf.Tensor]:
        """Compute `c = i * g` and `h = o * tanh(c)`, without anything to forget."""
        return self._states(projected[..., : 3 * self.units], 0.0)

    def _states(self, drives: tf.Tensor, kept: Any) -> list[tf.Tensor]:
        """Return the states, given the pre-activations of i, o, g and the gated sum of the child cell states."""
        entry, exit_, candidate = tf.split(drives, 3, axis=-1)
        memory = tf.sigmoid(entry) * tf.tanh(candidate) + kept
        return [tf.sigmoid(exit_) * tf.tanh(memory), memory]
