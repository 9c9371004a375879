"""Recurrent dropout with one mask for a whole sequence (Gal and Ghahramani 2016)."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells.base import Cell
from seqattn_tf.cells.wrappers.base import Drawn, WrapperCell, check_rate
from seqattn_tf.core.scan import size_of


@keras.saving.register_keras_serializable("seqattn_tf")
class DropoutCell(WrapperCell):
    """Any cell with recurrent dropout, like Keras's `recurrent_dropout`.

        h' = step(x, m * h)      m_j = 0 with probability rate, else 1 / (1 - rate); the same m at every step

    The mask applies to the hidden state where the recurrent products read it, with a separate mask for each block of
    the kernel. What a cell carries over (the cell state of an LSTM, `z * h` of a GRU) is not masked. A cell that does
    not override `Cell.dropped_step` reads its first state masked everywhere. Each call of `project` draws a mask: one
    for the whole sequence when all its steps are projected at once. Outside training, the cell is unchanged.

    Args:
        cell: The inner `Cell`, or its name together with `units`.
        rate: The probability of dropping a unit.
        units: The size of the state, if the cell is given by name.
        seed: The seed of the masks.

    >>> cell = DropoutCell("lstm", rate=0.2, units=4)
    >>> output, states = cell(tf.ones([2, 3]), cell.get_initial_state(2), training=True)
    >>> output.shape.as_list()
    [2, 4]
    """

    def __init__(
        self, cell: str | Cell, rate: float, units: int | None = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(cell, units, seed, **kwargs)
        self.rate = check_rate(rate)

    def draw(self, inputs: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """Draw the factors of the state: `[..., batch, dropped]`, the same at every step."""
        if not self.rate:
            return ()
        leading = [size_of(inputs, axis) for axis in range(inputs.shape.rank - 1)]
        ones = tf.ones([leading[-1], self.cell.dropped_size], inputs.dtype)
        factors = keras.random.dropout(ones, self.rate, seed=self.seed_generator)
        return (tf.broadcast_to(factors, [*leading, self.cell.dropped_size]),)

    def step(self, projected: Drawn, states: list[tf.Tensor]) -> list[tf.Tensor]:
        """Take a step of the inner cell, with dropout on its first state in training."""
        if not projected.numbers:
            return self.cell.step(projected.projected, states)
        return self.cell.dropped_step(projected.projected, states, *projected.numbers)

    def dropped_step(self, projected: Drawn, states: list[tf.Tensor], factors: tf.Tensor) -> list[tf.Tensor]:
        """Take a step with both the given factors and those of this wrapper."""
        for own in projected.numbers:
            factors = factors * own
        return self.cell.dropped_step(projected.projected, states, factors)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self.rate}
