"""The base class of cells that wrap a cell: the inner cell takes the step, the wrapper supplies random numbers."""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seqattn_tf.cells.base import Cell, cell_of
from seqattn_tf.core.layer import Composed


class Drawn(NamedTuple):
    """A projection together with the random numbers drawn for its steps."""

    projected: Any  # what the inner cell projected
    numbers: tuple[tf.Tensor, ...]  # with the same leading axes; none outside training


def check_rate(rate: Any) -> float:
    """Return the rate, checked to be a number in `[0, 1)`."""
    if not isinstance(rate, (int, float)) or not 0 <= rate < 1:
        raise ValueError(f"rate: expected a number in [0, 1). Received: {rate!r}")
    return rate


class WrapperCell(Composed, Cell):
    """A cell that wraps another one. Subclasses define `draw`, `step` and whatever else they change.

    Args:
        cell: The inner `Cell`, or its name together with `units`.
        units: The size of the state, if the cell is given by name.
        seed: The seed of the random numbers.
    """

    parts = ("cell",)

    def __init__(self, cell: str | Cell, units: int | None = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cell = cell_of(cell, units, self.dtype_policy)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    @property
    def state_size(self) -> list[int]:
        return self.cell.state_size

    @property
    def projected_size(self) -> int:
        return self.cell.projected_size

    @property
    def dropped_size(self) -> int:
        return self.cell.dropped_size

    def build(self, input_shape: Any) -> None:
        if not self.cell.built:
            self.cell.build(input_shape)
        self.built = True

    def draw(self, inputs: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """Draw the random numbers of training, with the leading axes of the inputs."""
        raise NotImplementedError

    def project(self, inputs: tf.Tensor, training: bool = False) -> Drawn:
        """Compute the projection of the inner cell and, in training, draw the random numbers for its steps."""
        return Drawn(self.cell.project(inputs, training=training), self.draw(inputs) if training else ())

    def join(self, projected: Drawn, extra: tf.Tensor) -> Drawn:
        return projected._replace(projected=self.cell.join(projected.projected, extra))

    def gates(self, inputs: tf.Tensor, states: list[tf.Tensor]) -> dict[str, tf.Tensor]:
        return self.cell.gates(inputs, states)

    def get_initial_state(self, batch_size: tf.Tensor | int) -> list[tf.Tensor]:
        return self.cell.get_initial_state(batch_size)

    def twin(self) -> Cell:
        """Return a new wrapper around a twin of the inner cell; a given seed is incremented."""
        inner = keras.saving.serialize_keras_object(self.cell.twin())
        seed = None if self.seed is None else self.seed + 1
        return type(self).from_config({**self.get_config(), "cell": inner, "seed": seed, "name": f"{self.name}_twin"})

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "seed": self.seed}
