"""Images of text: the rows of the feature map are read like lines."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.scan import size_of
from seqattn_tf.encoders.base import EncoderOutput, Tensors
from seqattn_tf.encoders.grid import GridEncoder
from seqattn_tf.recurrent import Bidirectional


@keras.saving.register_keras_serializable("seqattn_tf")
class RowEncoder(GridEncoder):
    """A `GridEncoder` with a bidirectional network over every row of the feature map (Deng et al., 2017).

    Args:
        row_units: The state size of each direction along a row.
        cell: The name of the recurrent cell.
        **kwargs: The arguments of a `GridEncoder`.

    >>> encoder = RowEncoder(row_units=5, backbone="cnn", height=32, width=48, units=8)
    >>> encoder({"image_pixels": tf.zeros([2, 32, 48, 3])}).values.shape.as_list()
    [2, 24, 10]
    """

    name_in_registry = "rows"

    def __init__(self, row_units: int = 128, cell: str = "lstm", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.row_units, self.cell = row_units, cell
        self.network = Bidirectional(cell, units=row_units, dtype=self.dtype_policy)

    def build(self, input_shape: Any = None) -> None:
        self.network.build((None, self.columns, self.map_size))
        super().build(input_shape)

    @property
    def output_size(self) -> int:
        return self.network.output_size

    def call(self, tensors: Tensors, training: bool = False) -> EncoderOutput:
        """Return one value per cell, row by row."""
        read = super().call(tensors, training=training)
        batch, cells = size_of(read.values, 0), self.rows * self.columns
        rows = tf.reshape(read.values, [batch * self.rows, self.columns, read.values.shape[-1]])
        values = tf.reshape(self.network.read(rows, training=training).outputs, [batch, cells, self.output_size])
        return EncoderOutput(values, read.mask, tf.reduce_mean(values, axis=1))

    @property
    def arguments(self) -> dict[str, Any]:
        return {**super().arguments, "row_units": self.row_units, "cell": self.cell}
