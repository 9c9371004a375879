"""Skip connections in time (Lin et al. 1996): a step also reads the output of several steps ago."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells.base import Cell, cell_of
from seqattn_tf.core.layer import Composed
from seqattn_tf.core.linear import linear
from seqattn_tf.core.registry import check_count


@keras.saving.register_keras_serializable("seqattn_tf")
class TimeSkipCell(Composed, Cell):
    """Any cell that also reads its output of `delay` steps ago, through a separate matrix.

        s' = step(W x + V h_{t - delay}, s)

    An event `n` steps ago is then only `n / delay` steps away, so a gradient that shrinks at every step shrinks less.

    Args:
        cell: The inner `Cell`, or its name together with `units`.
        delay: The number of steps to look back.
        units: The size of the state, if the cell is given by name.

    >>> cell = TimeSkipCell("rnn", delay=3, units=4)
    >>> output, states = cell(tf.ones([2, 3]), cell.get_initial_state(2))
    >>> output.shape.as_list(), cell.state_size
    ([2, 4], [4, 12])
    """

    parts = ("cell",)

    def __init__(self, cell: str | Cell, delay: int, units: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cell = cell_of(cell, units, self.dtype_policy)
        self.delay = check_count("delay", delay)

    @property
    def state_size(self) -> list[int]:
        """The sizes of the inner cell's states, and of its last outputs concatenated from the oldest on."""
        return [*self.cell.state_size, self.delay * self.cell.output_size]

    @property
    def projected_size(self) -> int:
        return self.cell.projected_size

    @property
    def dropped_size(self) -> int:
        return self.cell.dropped_size

    def build(self, input_shape: Any) -> None:
        """Build the inner cell and create `V`."""
        if not self.cell.built:
            self.cell.build(input_shape)
        self.skip_kernel = self.add_weight(
            name="skip_kernel", shape=(self.output_size, self.projected_size), initializer="orthogonal"
        )
        self.built = True

    def project(self, inputs: tf.Tensor, training: bool = False) -> Any:
        return self.cell.project(inputs, training=training)

    def join(self, projected: Any, extra: tf.Tensor) -> Any:
        return self.cell.join(projected, extra)

    def _seen(self, projected: Any, states: list[tf.Tensor]) -> Any:
        """Add the projection of the oldest output."""
        return self.cell.join(projected, linear(states[-1][:, : self.output_size], self.skip_kernel))

    def _shifted(self, states: list[tf.Tensor], before: list[tf.Tensor]) -> list[tf.Tensor]:
        return [*states, tf.concat([before[-1][:, self.output_size :], states[0]], axis=-1)]

    def step(self, projected: Any, states: list[tf.Tensor]) -> list[tf.Tensor]:
        """Take a step of the inner cell with the delayed output added to its projection."""
        return self._shifted(self.cell.step(self._seen(projected, states), states[:-1]), states)

    def dropped_step(self, projected: Any, states: list[tf.Tensor], factors: tf.Tensor) -> list[tf.Tensor]:
        """Take one step with dropout on the inner cell's previous state, but not on the delayed output."""
        seen = self._seen(projected, states)
        return self._shifted(self.cell.dropped_step(seen, states[:-1], factors), states)

    def gates(self, inputs: tf.Tensor, states: list[tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return the gates of the inner cell, computed without the delayed output."""
        return self.cell.gates(inputs, states[:-1])

    def get_initial_state(self, batch_size: tf.Tensor | int) -> list[tf.Tensor]:
        old = tf.zeros([batch_size, self.state_size[-1]], self.compute_dtype)
        return [*self.cell.get_initial_state(batch_size), old]

    def twin(self) -> Cell:
        inner = keras.saving.serialize_keras_object(self.cell.twin())
        return type(self).from_config({**self.get_config(), "cell": inner, "name": f"{self.name}_twin"})

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "delay": self.delay}
