"""Encoders of sequences of frames, such as the spectrogram of a sound."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.masking import frames_mask, row_lengths
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoders.base import Encoder, EncoderOutput, Tensors
from seqattn_tf.recurrent import Stack

FRAMES = "frames"  # the part of the input that the encoder reads


@keras.saving.register_keras_serializable("seqattn_tf")
class PyramidEncoder(Encoder):
    """A pyramid of bidirectional layers over frames `[batch, time, bands]`, each with half the steps of the one below.

    A value covers `2^(depth - 1)` frames (Chan et al., 2016). Frames of zeros are padding and are never read.

    Args:
        n_mels: The size of a frame.
        units: The state size of each layer and direction.
        cell: The name of the recurrent cell.
        depth: The number of layers.
        dropout: The dropout rate between layers and of the values, in training.
        input_name: The name of the input.

    >>> encoder = PyramidEncoder(n_mels=40, units=8, depth=3)
    >>> encoder({"sound_frames": tf.ones([2, 50, 40])}).values.shape.as_list(), encoder.frames_per_position
    ([2, 13, 16], 4)
    """

    name_in_registry = "pyramid"
    field_type = "sound"

    def __init__(
        self,
        n_mels: int = 40,
        units: int = 128,
        cell: str = "lstm",
        depth: int = 3,
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{"input_name": "sound", **kwargs})
        self.n_mels, self.units, self.cell = check_count("n_mels", n_mels), units, cell
        self.depth = check_count("depth", depth)
        alike = {"dtype": self.dtype_policy}
        self.drop = keras.layers.Dropout(dropout, **alike)
        self.network = Stack(cell, units, depth, bidirectional=True, pyramid=True, dropout=dropout, **alike)

    def build(self, input_shape: Any = None) -> None:
        self.network.build((None, None, self.n_mels))
        self.built = True

    @property
    def frames_per_position(self) -> int:
        """The number of frames that a value covers."""
        return self.network.reduction

    @property
    def output_size(self) -> int:
        return self.network.output_size

    @property
    def summary_size(self) -> int:
        return self.network.output_size

    def call(self, tensors: Tensors, training: bool = False) -> EncoderOutput:
        """Return one value per `frames_per_position` frames."""
        frames = self.part(tensors, FRAMES)
        mask = frames_mask(frames)
        found = self.network.read(frames, mask=mask, training=training)
        kept = self.network.steps_kept(mask)
        return EncoderOutput(self.drop(found.outputs, training=training), kept, self.network.final_output(found.states))

    def input_lengths(self, tensors: Tensors) -> tf.Tensor:
        """Return the number of values that cover unpadded frames."""
        return -(-row_lengths(frames_mask(self.part(tensors, FRAMES))) // self.frames_per_position)

    @property
    def arguments(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("n_mels", "units", "cell", "depth")}
        return {**own, "dropout": self.drop.rate}
