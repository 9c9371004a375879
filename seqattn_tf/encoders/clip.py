"""Encoders of video clips: an image encoder for every frame and a recurrent network over the frames."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.masking import row_lengths
from seqattn_tf.core.registry import check_count
from seqattn_tf.core.scan import size_of
from seqattn_tf.encoders.base import Encoder, EncoderOutput, Tensors
from seqattn_tf.recurrent import Bidirectional
from seqattn_tf.vision import Backbone
from seqattn_tf.vision.base import channels_last


@keras.saving.register_keras_serializable("seqattn_tf")
class ClipEncoder(Encoder):
    """An encoder of frames `[batch, time, height, width, 3]`, each as a feature vector, in both directions of time.

        m_t = backbone(frame_t)      m_t += relu(conv3d(m))_t, with `local`      x_t = norm(m_t W)      h = network(x)

    The convolution over `local` frames captures local motion (Yao et al., 2015); the network captures the rest.

    Args:
        backbone: The `Backbone` that computes the feature map of a frame, or its name.
        height, width: The size of the frames.
        units: The width of `x`, and of each direction of the network.
        cell: The name of the recurrent cell.
        local: The number of frames that the convolution covers; 1 for no convolution.
        frozen: Whether the backbone is excluded from training.
        dropout: The dropout rate of `x` and of the values, in training.

    >>> encoder = ClipEncoder("cnn", height=32, width=32, units=8, local=3)
    >>> frames = {"clip_frames": tf.zeros([2, 5, 32, 32, 3]), "clip_there": tf.ones([2, 5], tf.int32)}
    >>> encoder(frames).values.shape.as_list()
    [2, 5, 16]
    """

    name_in_registry = "clip"
    field_type = "clip"

    def __init__(
        self,
        backbone: Backbone | str = "cnn",
        height: int = 48,
        width: int = 48,
        units: int = 128,
        cell: str = "gru",
        local: int = 1,
        frozen: bool = False,
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{"input_name": "clip", **kwargs})
        alike = {"dtype": self.dtype_policy}
        self.backbone: Backbone = Backbone.get(backbone, **alike)
        self.height, self.width = check_count("height", height), check_count("width", width)
        self.units, self.cell = check_count("units", units), cell
        self.local, self.frozen = check_count("local", local), frozen
        self.rows, self.columns = self.backbone.grid(height, width)
        if not self.rows * self.columns:
            raise ValueError(f"height, width: expected frames of at least one cell. Received: {height} x {width}")
        if frozen:
            self.backbone.trainable = False
        channels = self.backbone.channels
        with channels_last():
            self.motion = keras.layers.Conv3D(channels, (local, 3, 3), padding="same", **alike) if local > 1 else None
        self.project = keras.layers.Dense(units, use_bias=False, **alike)
        self.norm = keras.layers.LayerNormalization(**alike)
        self.drop = keras.layers.Dropout(dropout, **alike)
        self.network = Bidirectional(cell, units=units, **alike)

    def build(self, input_shape: Any = None) -> None:
        channels = self.backbone.channels
        if self.motion is not None:
            self.motion.build((None, None, self.rows, self.columns, channels))
        self.project.build((None, self.rows * self.columns * channels))
        self.norm.build((None, None, self.units))
        self.network.build((None, None, self.units))
        self.built = True

    @property
    def output_size(self) -> int:
        return self.network.output_size

    @property
    def summary_size(self) -> int:
        return self.network.output_size

    def look(self, frames: tf.Tensor, there: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Compute a feature vector for each frame, `[batch, time, units]`, given their mask `[batch, time]`."""
        batch, time = size_of(frames, 0), size_of(frames, 1)
        pictures = tf.reshape(frames, [-1, self.height, self.width, 3])
        found = self.backbone(pictures, training=training and not self.frozen)
        found = tf.stop_gradient(found) if self.frozen else found
        shape = [self.rows, self.columns, self.backbone.channels]
        if self.motion is not None:
            maps = tf.reshape(found, [batch, time, *shape])
            maps = tf.where(there[:, :, None, None, None], maps, tf.zeros_like(maps))  # ignore padding
            found = maps + tf.nn.relu(self.motion(maps))
        flat = tf.reshape(found, [batch, time, self.rows * self.columns * self.backbone.channels])
        return self.norm(self.project(flat))

    def call(self, tensors: Tensors, training: bool = False) -> EncoderOutput:
        """Return one value per frame."""
        mask = self.part(tensors, "there") != 0
        seen = self.drop(self.look(self.part(tensors, "frames"), mask, training), training=training)
        found = self.network.read(seen, mask=mask, training=training)
        return EncoderOutput(self.drop(found.outputs, training=training), mask, self.network.final_output(found.states))

    def input_lengths(self, tensors: Tensors) -> tf.Tensor:
        """Return the number of frames without padding."""
        return row_lengths(self.part(tensors, "there") != 0)

    @property
    def arguments(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("height", "width", "units", "cell", "local", "frozen")}
        return {"backbone": keras.saving.serialize_keras_object(self.backbone), **own, "dropout": self.drop.rate}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "ClipEncoder":
        return cls(**{**config, "backbone": keras.saving.deserialize_keras_object(config["backbone"])})
