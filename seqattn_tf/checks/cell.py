"""Checks of a cell inside a `Recurrent` network."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.cells import Cell
from seqattn_tf.checks.base import expect, expect_close
from seqattn_tf.checks.sequence import BATCH, TIME, WIDTH, LayerChecks, normal, pairs
from seqattn_tf.recurrent import Recurrent


class CellChecks(LayerChecks):
    """Checks of a cell.

    Args:
        part: A cell. It is not modified.
    """

    family = Cell
    half = 0.05
    needs_every_weight = True

    def layer(self, dtype: str) -> Any:
        """Return a network of the cell that returns all outputs and the last states."""
        cell = self.clone(self.part, {"dtype": dtype})
        network = Recurrent(cell, dtype=dtype, return_sequences=True, return_state=True)
        network.build((None, None, WIDTH))
        return network

    def arrays(self) -> list[np.ndarray]:
        """Return the inputs."""
        return [normal(BATCH, TIME, WIDTH)]

    def call(self, layer: Any, arrays: Sequence[tf.Tensor], mask: tf.Tensor) -> list[tf.Tensor]:
        """Return the outputs and all last states."""
        return tf.nest.flatten(layer(arrays[0], mask=mask))

    def without_padding(self, outputs: Sequence[tf.Tensor], row: int, length: int) -> list[tf.Tensor]:
        """Truncate the outputs; states have no padding."""
        return [outputs[0][row : row + 1, :length], *(state[row : row + 1] for state in outputs[1:])]

    def names_of(self, outputs: Sequence[tf.Tensor]) -> list[str]:
        return ["outputs", *(f"state {number}" for number in range(len(outputs) - 1))]

    def model(self) -> tuple[keras.Model, list[np.ndarray]]:
        """Return a model of the cell with a readout."""
        inputs = keras.Input((None, WIDTH))
        outputs = Recurrent(self.clone(self.part, {"dtype": "float32"}), return_sequences=True)(inputs)
        return keras.Model(inputs, keras.layers.Dense(1)(outputs)), [self.arrays()[0].astype("float32")]

    def system(self) -> Any:
        """Return an encoder-decoder that uses the cell with its default arguments."""
        return pairs(cell=self.part.name_in_registry)

    def check_step(self) -> None:
        """Check that `call(x, s)` equals `step(project(x), s)` and that the output is the first state."""
        cell = self.made().cell
        inputs = tf.constant(self.arrays()[0][:, 0])
        sizes = cell.state_size
        states = [tf.constant(normal(BATCH, size, seed=i)) for i, size in enumerate(sizes)]
        output, after = cell(inputs, states)
        expect(len(after) == len(sizes), f"call: expected {len(sizes)} states. Received: {len(after)}")
        expect_close(output, after[0], 0, "output of call, compared with its first state")
        for number, (one, other) in enumerate(zip(after, cell.step(cell.project(inputs), states), strict=True)):
            expect_close(one, other, 1e-12, f"state {number} of call, compared with step(project(x), s)")

    def check_gates(self) -> None:
        """Check that `gates` returns activations by name, with one row per row of the inputs."""
        cell = self.made().cell
        found = cell.gates(tf.constant(self.arrays()[0][:, 0]), cell.get_initial_state(BATCH))
        for name, values in found.items():
            expect(len(values) == BATCH, f"gate {name}: expected {BATCH} rows. Received: {len(values)}")
            expect(np.isfinite(values).all(), f"gate {name}: expected finite numbers. Received: NaN or infinity")
