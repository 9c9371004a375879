"""Zoneout: units that randomly keep their previous value (Krueger et al. 2017)."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells.base import Cell
from seqattn_tf.cells.wrappers.base import Drawn, WrapperCell, check_rate
from seqattn_tf.core.scan import size_of


@keras.saving.register_keras_serializable("seqattn_tf")
class ZoneoutCell(WrapperCell):
    """Any cell with zoneout: in training, each unit of a state keeps its previous value with probability `rate`.

        training:      s' = k * s + (1 - k) * step(x, s)      k_j = 1 with probability rate, drawn at every step
        otherwise:     s' = rate * s + (1 - rate) * step(x, s)

    Args:
        cell: The inner `Cell`, or its name together with `units`.
        rate: One rate for all states, or one for each: `(0.05, 0.5)` for hidden state and cell state of an LSTM.
        units: The size of the state, if the cell is given by name.
        seed: The seed of the random numbers.

    >>> cell = ZoneoutCell("lstm", rate=(0.05, 0.5), units=4)
    >>> output, states = cell(tf.ones([2, 3]), cell.get_initial_state(2), training=True)
    >>> output.shape.as_list()
    [2, 4]
    """

    def __init__(
        self, cell: str | Cell, rate: Any, units: int | None = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(cell, units, seed, **kwargs)
        self.rate = rate
        count = len(self.cell.state_size)
        rates = list(rate) if isinstance(rate, (list, tuple)) else [rate] * count
        if len(rates) != count:
            raise ValueError(f"rate: expected a single rate, or one for each of {count} states. Received: {rate!r}")
        self.rates = [check_rate(one) for one in rates]

    def draw(self, inputs: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """Draw, for each state, the units that keep their previous value at each step: `bool [..., batch, units]`."""
        if not any(self.rates):
            return ()
        leading = [size_of(inputs, axis) for axis in range(inputs.shape.rank - 1)]
        shapes = [[*leading, size] for size in self.state_size]
        return tuple(
            keras.random.uniform(shape, seed=self.seed_generator, dtype="float32") < rate
            for shape, rate in zip(shapes, self.rates, strict=True)
        )

    def step(self, projected: Drawn, states: list[tf.Tensor]) -> list[tf.Tensor]:
        """Take a step of the inner cell and mix it with the previous states."""
        return self._mix(self.cell.step(projected.projected, states), states, projected.numbers)

    def dropped_step(self, projected: Drawn, states: list[tf.Tensor], factors: tf.Tensor) -> list[tf.Tensor]:
        """Take a step of the inner cell with dropout and mix it with the previous states."""
        return self._mix(self.cell.dropped_step(projected.projected, states, factors), states, projected.numbers)

    def _mix(self, new: list[tf.Tensor], old: list[tf.Tensor], kept: tuple[tf.Tensor, ...]) -> list[tf.Tensor]:
        if kept:
            return [tf.where(k, o, n) for k, n, o in zip(kept, new, old, strict=True)]
        return [r * o + (1 - r) * n if r else n for r, n, o in zip(self.rates, new, old, strict=True)]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self.rate}
