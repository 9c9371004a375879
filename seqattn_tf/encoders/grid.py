"""Images: a feature map, each cell of which is a position to attend to."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.core.registry import check_count
from seqattn_tf.encoders.base import Encoder, EncoderOutput, Tensors
from seqattn_tf.vision import Backbone

_MAP = "map"  # the part of the input with a precomputed feature map
_STRENGTH = 0.5  # the initial amplitude of position embeddings, relative to the normalized map


def waves_of(rows: int, columns: int, size: int) -> np.ndarray:
    """Return initial position embeddings of a grid, `[rows, columns, size]`: sine and cosine waves down and across.

    >>> waves_of(2, 3, 4).shape
    (2, 3, 4)
    """
    number = np.arange(size)
    down, across = ((np.arange(count) + 0.5) / count for count in (rows, columns))
    at = np.where(number % 2 == 0, down[:, None, None], across[None, :, None])
    turns, phase = 0.5 * 2 ** (number // 4 % 4), number // 2 % 2  # sines and cosines of half a turn to four turns
    return _STRENGTH * np.sin(np.pi * (2 * turns * at + 0.5 * phase))


@keras.saving.register_keras_serializable("seqattn_tf")
class GridEncoder(Encoder):
    """An encoder of images `[batch, height, width, 3]`; each value is a cell of the feature map computed by a backbone.

        v_ij = norm(map_ij W) + p_ij        the summary is the mean of all values

    A frozen backbone always computes the same map. If a precomputed map `INPUT_map` is given, it replaces the pixels.

    Args:
        backbone: The `Backbone` that computes the feature map, or its name.
        height, width: The size of the images.
        units: The size of a value; 0 for the number of channels of the map, without `W`.
        frozen: Whether the backbone is excluded from training.
        position_embeddings: Whether to add trainable position embeddings `p`, initialized as waves down and across.
        dropout: The dropout rate of the map, in training.

    >>> encoder = GridEncoder("cnn", height=32, width=48, units=8)
    >>> read = encoder({"image_pixels": tf.zeros([2, 32, 48, 3])})
    >>> read.values.shape.as_list(), encoder.rows, encoder.columns
    ([2, 24, 8], 4, 6)
    """

    name_in_registry = "grid"
    field_type = "image"
    one_per_token = False

    def __init__(
        self,
        backbone: Backbone | str = "cnn",
        height: int = 224,
        width: int = 224,
        units: int = 0,
        frozen: bool = False,
        position_embeddings: bool = True,
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{"input_name": "image", **kwargs})
        self.backbone: Backbone = Backbone.get(backbone, dtype=self.dtype_policy)
        self.height, self.width = check_count("height", height), check_count("width", width)
        self.units, self.frozen, self.position_embeddings = (
            units and check_count("units", units),
            frozen,
            position_embeddings,
        )
        self.rows, self.columns = self.backbone.grid(height, width)
        if not self.rows * self.columns:
            raise ValueError(f"height, width: expected a picture of at least one cell. Received: {height} x {width}")
        if frozen:
            self.backbone.trainable = False
        self.norm = keras.layers.LayerNormalization(dtype=self.dtype_policy)
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.project = keras.layers.Dense(units, use_bias=False, dtype=self.dtype_policy) if units else None

    def build(self, input_shape: Any = None) -> None:
        if self.project is not None and not self.project.built:
            self.project.build((None, self.backbone.channels))
        if not self.norm.built:
            self.norm.build((None, None, self.map_size))
        if self.position_embeddings:
            waves = np.reshape(waves_of(self.rows, self.columns, self.map_size), [-1, self.map_size])
            self.where = self.add_weight(
                name="where", shape=waves.shape, initializer=lambda shape, dtype: tf.cast(waves, dtype)
            )
        self.built = True

    @property
    def map_size(self) -> int:
        """The size of a cell."""
        return self.units or self.backbone.channels

    @property
    def output_size(self) -> int:
        return self.map_size

    @property
    def summary_size(self) -> int:
        return self.output_size

    def look(self, pixels: tf.Tensor) -> tf.Tensor:
        """Return the feature map of images, `[batch, rows, columns, channels]`, in the form of `INPUT_map`."""
        return self.backbone(pixels, training=False)

    def _map(self, tensors: Tensors, training: bool) -> tf.Tensor:
        found = tensors.get(f"{self.input_name}_{_MAP}") if self.frozen else None
        if found is not None:
            return tf.cast(found, self.compute_dtype)
        found = self.backbone(self.part(tensors, "pixels"), training=training and not self.frozen)
        return tf.stop_gradient(found) if self.frozen else found

    def call(self, tensors: Tensors, training: bool = False) -> EncoderOutput:
        """Return one value per cell, row by row."""
        found = self._map(tensors, training)
        found = tf.reshape(found, [-1, self.rows * self.columns, self.backbone.channels])
        values = self.drop(found, training=training)
        values = self.norm(values if self.project is None else self.project(values))
        if self.position_embeddings:
            values += tf.cast(tf.convert_to_tensor(self.where), values.dtype)
        return EncoderOutput(values, tf.ones(tf.shape(values)[:2], tf.bool), tf.reduce_mean(values, axis=1))

    def input_lengths(self, tensors: Tensors) -> tf.Tensor:
        """Return the number of cells."""
        given = tensors.get(f"{self.input_name}_{_MAP}")
        batch = tf.shape(self.part(tensors, "pixels") if given is None else given)[:1]
        return tf.fill(batch, self.rows * self.columns)

    def to_positions(self, weights: tf.Tensor, tensors: Tensors) -> tf.Tensor:
        """Reshape weights to the cells of the grid: `[batch, target, rows, columns]`."""
        return tf.reshape(weights, tf.concat([tf.shape(weights)[:2], [self.rows, self.columns]], axis=0))

    @property
    def arguments(self) -> dict[str, Any]:
        return {
            "backbone": keras.saving.serialize_keras_object(self.backbone),
            "height": self.height,
            "width": self.width,
            "units": self.units,
            "frozen": self.frozen,
            "position_embeddings": self.position_embeddings,
            "dropout": self.drop.rate,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "GridEncoder":
        return cls(**{**config, "backbone": keras.saving.deserialize_keras_object(config["backbone"])})
