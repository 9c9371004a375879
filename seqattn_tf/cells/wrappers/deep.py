"""Several cells per time step (Pascanu et al. 2014)."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells.base import Cell
from seqattn_tf.core.layer import Composed


@keras.saving.register_keras_serializable("seqattn_tf")
class DeepTransitionCell(Composed, Cell):
    """A deep transition from state to state: the first cell reads the input, the others only the states.

        s' = f_L(... f_2(f_1(x, s)))

    A cell without input has a kernel without rows, but still a bias.

    Args:
        cells: The `Cell` objects, first to last. Their states must have the same sizes.

    >>> from seqattn_tf.cells import GRUCell
    >>> cell = DeepTransitionCell([GRUCell(4), GRUCell(4)])
    >>> output, states = cell(tf.ones([2, 3]), cell.get_initial_state(2))
    >>> output.shape.as_list(), list(cell.gates(tf.ones([2, 3]), states))[:4]
    ([2, 4], ['1.update', '1.reset', '1.candidate', '2.update'])
    """

    parts = ("cells",)

    def __init__(self, cells: Sequence[Cell], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        cells = list(cells)
        if not cells or not all(isinstance(cell, Cell) for cell in cells):
            raise ValueError(f"cells: expected at least one Cell. Received: {cells!r}")
        sizes = [cell.state_size for cell in cells]
        if any(size != sizes[0] for size in sizes):
            raise ValueError(f"cells: expected cells with equal state sizes. Received: {sizes}")
        self.cells = cells

    @property
    def state_size(self) -> list[int]:
        return self.cells[0].state_size

    @property
    def projected_size(self) -> int:
        return self.cells[0].projected_size

    @property
    def dropped_size(self) -> int:
        return self.cells[0].dropped_size

    def build(self, input_shape: Any) -> None:
        """Build the first cell for the inputs and the others for no features."""
        for cell, features in zip(self.cells, [input_shape[-1]] + [0] * len(self.cells), strict=False):
            if not cell.built:
                cell.build((*input_shape[:-1], features))
        self.built = True

    def project(self, inputs: tf.Tensor, training: bool = False) -> tuple:
        nothing = inputs[..., :0]
        first, *others = self.cells
        return first.project(inputs, training=training), *(cell.project(nothing, training=training) for cell in others)

    def join(self, projected: tuple, extra: tf.Tensor) -> tuple:
        """Add a further term to the projection of the first cell."""
        return self.cells[0].join(projected[0], extra), *projected[1:]

    def _rest(self, projected: tuple, states: list[tf.Tensor]) -> list[tf.Tensor]:
        for cell, own in zip(self.cells[1:], projected[1:], strict=True):
            states = cell.step(own, states)
        return states

    def step(self, projected: tuple, states: list[tf.Tensor]) -> list[tf.Tensor]:
        """Take the steps of all cells in turn."""
        return self._rest(projected, self.cells[0].step(projected[0], states))

    def dropped_step(self, projected: tuple, states: list[tf.Tensor], factors: tf.Tensor) -> list[tf.Tensor]:
        """Take one step with dropout on the state that the first cell reads, that of the previous time step."""
        return self._rest(projected, self.cells[0].dropped_step(projected[0], states, factors))

    def gates(self, inputs: tf.Tensor, states: list[tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return the gates of every cell, prefixed with its number counted from 1: `"2.update"`."""
        found = {}
        for place, cell in enumerate(self.cells, 1):
            found.update({f"{place}.{name}": values for name, values in cell.gates(inputs, states).items()})
            states = cell.step(cell.project(inputs), states)
            inputs = inputs[..., :0]
        return found

    def get_initial_state(self, batch_size: tf.Tensor | int) -> list[tf.Tensor]:
        return self.cells[0].get_initial_state(batch_size)

    def twin(self) -> Cell:
        cells = [keras.saving.serialize_keras_object(cell.twin()) for cell in self.cells]
        return type(self).from_config({**self.get_config(), "cells": cells, "name": f"{self.name}_twin"})
