"""Pictures of what is written: a map whose rows are read like lines."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.scan import size_of
from seqattn_tf.encoder.base import Read, Tensors
from seqattn_tf.encoder.grid import GridEncoder
from seqattn_tf.recurrent import Bidirectional


@keras.saving.register_keras_serializable("seqattn_tf")
class RowEncoder(GridEncoder):
    """Reads pixels as a `GridEncoder`, then every row of the map from both ends (Deng et al., 2017).

    Args:
        read_units: state size of each direction along a row.
        cell: name of the recurrent cell.
        **kwargs: as of `GridEncoder`.

    >>> encoder = RowEncoder(read_units=5, backbone="cnn", height=32, width=48, units=8)
    >>> encoder({"image_pixels": tf.zeros([2, 32, 48, 3])}).values.shape.as_list()
    [2, 24, 10]
    """

    name_in_registry = "rows"

    def __init__(self, read_units: int = 128, cell: str = "lstm", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.read_units, self.cell = read_units, cell
        self.network = Bidirectional(cell, units=read_units, dtype=self.dtype_policy)

    def build(self, input_shape: Any = None) -> None:
        """Build every part."""
        self.network.build((None, self.columns, self.map_size))
        super().build(input_shape)

    @property
    def output_size(self) -> int:
        """Of the network."""
        return self.network.output_size

    def call(self, tensors: Tensors, training: bool = False) -> Read:
        """A value for each cell, row by row."""
        read = super().call(tensors, training=training)
        batch, cells = size_of(read.values, 0), self.rows * self.columns
        rows = tf.reshape(read.values, [batch * self.rows, self.columns, read.values.shape[-1]])
        values = tf.reshape(self.network.read(rows, training=training).outputs, [batch, cells, self.output_size])
        return Read(values, read.mask, tf.reduce_mean(values, axis=1))

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().arguments, "read_units": self.read_units, "cell": self.cell}
