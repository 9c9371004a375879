"""Encoders of frames that follow each other: the energies of a sound."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.masking import frames_mask, row_lengths
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoder.base import Encoder, Read, Tensors
from seqattn_tf.recurrent import Stack

FRAMES = "frames"  # the part of an input that is read


@keras.saving.register_keras_serializable("seqattn_tf")
class PyramidEncoder(Encoder):
    """Listens to frames `[batch, time, bands]`: networks in both directions, each with half the steps of the one below.

    A value stands for `2^(depth - 1)` frames (Chan et al., 2016). A frame of zeros is padding and is never read.

    Args:
        bands: numbers of a frame.
        units: state size of each layer and direction.
        cell: name of the recurrent cell.
        depth: number of layers.
        dropout: rate on what a layer reads from below and on the values, in training.
        reads: the name of the input.

    >>> encoder = PyramidEncoder(bands=40, units=8, depth=3)
    >>> encoder({"sound_frames": tf.ones([2, 50, 40])}).values.shape.as_list(), encoder.per_place
    ([2, 13, 16], 4)
    """

    name_in_registry = "pyramid"
    takes = "sound"

    def __init__(
        self, bands: int = 40, units: int = 128, cell: str = "lstm", depth: int = 3, dropout: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(**{"reads": "sound", **kwargs})
        self.bands, self.units, self.cell = check_count("bands", bands), units, cell
        self.depth = check_count("depth", depth)
        alike = {"dtype": self.dtype_policy}
        self.drop = keras.layers.Dropout(dropout, **alike)
        self.network = Stack(cell, units, depth, bidirectional=True, pyramid=True, dropout=dropout, **alike)

    def build(self, input_shape: Any = None) -> None:
        """Build every layer; the shapes follow from the arguments."""
        self.network.build((None, None, self.bands))
        self.built = True

    @property
    def per_place(self) -> int:
        """Frames that a value stands for."""
        return self.network.reduction

    @property
    def output_size(self) -> int:
        """Of the network."""
        return self.network.output_size

    @property
    def summary_size(self) -> int:
        """Of the network."""
        return self.network.output_size

    def call(self, tensors: Tensors, training: bool = False) -> Read:
        """A value for so many frames."""
        frames = self.part(tensors, FRAMES)
        mask = frames_mask(frames)
        found = self.network.read(frames, mask=mask, training=training)
        kept = self.network.steps_kept(mask)
        return Read(self.drop(found.outputs, training=training), kept, self.network.final_output(found.states))

    def places_read(self, tensors: Tensors) -> tf.Tensor:
        """Values with frames behind them."""
        return -(-row_lengths(frames_mask(self.part(tensors, FRAMES))) // self.per_place)

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments."""
        own = {name: getattr(self, name) for name in ("bands", "units", "cell", "depth")}
        return {**own, "dropout": self.drop.rate}
