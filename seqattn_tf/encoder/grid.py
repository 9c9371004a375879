"""Pictures: a map of what is where, each of its cells a place to look at."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.core.registry import check_count
from seqattn_tf.encoder.base import Encoder, Read, Tensors
from seqattn_tf.vision import Backbone

_MAP = "map"  # the part of an input that a backbone has read already
_STRENGTH = 0.5  # of where a cell is, beside what it is, before anything is learned


def waves_of(rows: int, columns: int, size: int) -> np.ndarray:
    """Where each cell of a grid is, `[rows, columns, size]`: waves down and across, the longest as long as the grid.

    >>> waves_of(2, 3, 4).shape
    (2, 3, 4)
    """
    number = np.arange(size)
    down, across = ((np.arange(count) + 0.5) / count for count in (rows, columns))
    at = np.where(number % 2 == 0, down[:, None, None], across[None, :, None])
    turns, phase = 0.5 * 2 ** (number // 4 % 4), number // 2 % 2  # half a turn to four, of each a sine and a cosine
    return _STRENGTH * np.sin(np.pi * (2 * turns * at + 0.5 * phase))


@keras.saving.register_keras_serializable("seqattn_tf")
class GridEncoder(Encoder):
    """Reads pixels `[batch, height, width, 3]`; a value is a cell of the map that a backbone makes of them.

        v_ij = norm(map_ij W) + p_ij        the summary is the mean of all

    A frozen backbone gives the same map every time: what has been computed before, `INPUT_map`, is taken in place of
    the pixels where it is given.

    Args:
        backbone: what makes the map; or its name.
        height, width: of the pictures.
        units: numbers of a value; 0 for as many as the map has, without `W`.
        frozen: whether the backbone stays as it is while the rest learns.
        places: whether a cell also learns where it is, `p`, which begins as waves down and across.
        dropout: rate on the map, in training.

    >>> encoder = GridEncoder("cnn", height=32, width=48, units=8)
    >>> read = encoder({"image_pixels": tf.zeros([2, 32, 48, 3])})
    >>> read.values.shape.as_list(), encoder.rows, encoder.columns
    ([2, 24, 8], 4, 6)
    """

    name_in_registry = "grid"
    takes = "image"
    one_each = False

    def __init__(
        self,
        backbone: Backbone | str = "cnn",
        height: int = 224,
        width: int = 224,
        units: int = 0,
        frozen: bool = False,
        places: bool = True,
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{"reads": "image", **kwargs})
        self.backbone: Backbone = Backbone.get(backbone, dtype=self.dtype_policy)
        self.height, self.width = check_count("height", height), check_count("width", width)
        self.units, self.frozen, self.places = units and check_count("units", units), frozen, places
        self.rows, self.columns = self.backbone.grid(height, width)
        if not self.rows * self.columns:
            raise ValueError(f"height, width: expected a picture of at least a cell. Received: {height} x {width}")
        if frozen:
            self.backbone.trainable = False
        self.norm = keras.layers.LayerNormalization(dtype=self.dtype_policy)
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.project = keras.layers.Dense(units, use_bias=False, dtype=self.dtype_policy) if units else None

    def build(self, input_shape: Any = None) -> None:
        """Build every part; the shapes follow from the arguments."""
        if self.project is not None and not self.project.built:
            self.project.build((None, self.backbone.channels))
        if not self.norm.built:
            self.norm.build((None, None, self.map_size))
        if self.places:
            waves = np.reshape(waves_of(self.rows, self.columns, self.map_size), [-1, self.map_size])
            self.where = self.add_weight(
                name="where", shape=waves.shape, initializer=lambda shape, dtype: tf.cast(waves, dtype)
            )
        self.built = True

    @property
    def map_size(self) -> int:
        """Numbers of a cell."""
        return self.units or self.backbone.channels

    @property
    def output_size(self) -> int:
        """Of a cell."""
        return self.map_size

    @property
    def summary_size(self) -> int:
        """Of the mean."""
        return self.output_size

    def look(self, pixels: tf.Tensor) -> tf.Tensor:
        """The map of pictures `[batch, rows, columns, channels]`, as `INPUT_map` takes it."""
        return self.backbone(pixels, training=False)

    def _map(self, tensors: Tensors, training: bool) -> tf.Tensor:
        found = tensors.get(f"{self.reads}_{_MAP}") if self.frozen else None
        if found is not None:
            return tf.cast(found, self.compute_dtype)
        found = self.backbone(self.part(tensors, "pixels"), training=training and not self.frozen)
        return tf.stop_gradient(found) if self.frozen else found

    def call(self, tensors: Tensors, training: bool = False) -> Read:
        """A value for each cell, row by row."""
        found = self._map(tensors, training)
        found = tf.reshape(found, [-1, self.rows * self.columns, self.backbone.channels])
        values = self.drop(found, training=training)
        values = self.norm(values if self.project is None else self.project(values))
        if self.places:
            values += tf.cast(tf.convert_to_tensor(self.where), values.dtype)
        return Read(values, tf.ones(tf.shape(values)[:2], tf.bool), tf.reduce_mean(values, axis=1))

    def places_read(self, tensors: Tensors) -> tf.Tensor:
        """All cells."""
        given = tensors.get(f"{self.reads}_{_MAP}")
        batch = tf.shape(self.part(tensors, "pixels") if given is None else given)[:1]
        return tf.fill(batch, self.rows * self.columns)

    def at_places(self, weights: tf.Tensor, tensors: Tensors) -> tf.Tensor:
        """As of the cells of the grid: `[batch, said, rows, columns]`."""
        return tf.reshape(weights, tf.concat([tf.shape(weights)[:2], [self.rows, self.columns]], axis=0))

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {
            "backbone": keras.saving.serialize_keras_object(self.backbone),
            "height": self.height,
            "width": self.width,
            "units": self.units,
            "frozen": self.frozen,
            "places": self.places,
            "dropout": self.drop.rate,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "GridEncoder":
        """Rebuild, the backbone included."""
        return cls(**{**config, "backbone": keras.saving.deserialize_keras_object(config["backbone"])})
