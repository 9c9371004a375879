"""A small convolutional network that is trained from scratch."""

from collections.abc import Sequence
from typing import Any

import keras

from seqattn_tf.core.registry import check_count
from seqattn_tf.vision.base import Backbone


class ConvolutionalBackbone(Backbone):
    """Stages of two convolutions, each of which halves the number of rows and columns.

    Args:
        filters: The number of filters of each stage.

    >>> import tensorflow as tf
    >>> ConvolutionalBackbone((8, 16))(tf.zeros([1, 32, 24, 3])).shape.as_list()
    [1, 8, 6, 16]
    """

    name_in_registry = "cnn"

    def __init__(self, filters: Sequence[int] = (32, 64, 96), **kwargs: Any) -> None:
        if not filters:
            raise ValueError("filters: expected at least one number, one per stage. Received: none")
        self.filters = tuple(check_count("filters", count) for count in filters)
        super().__init__(**kwargs)

    def make(self) -> keras.Model:
        """Create convolutions, each followed by a normalization over the channels of each cell."""
        alike = {"dtype": self.dtype_policy}
        found = pixels = keras.Input((None, None, 3))
        for count in self.filters:
            for strides in (2, 1):
                found = keras.layers.Conv2D(count, 3, strides, "same", use_bias=False, **alike)(found)
                found = keras.layers.LayerNormalization(**alike)(found)
                found = keras.layers.Activation("relu", **alike)(found)
        return keras.Model(pixels, found)

    @property
    def arguments(self) -> dict[str, Any]:
        return {"filters": self.filters}
