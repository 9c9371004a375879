"""A small convolutional network, learned from scratch."""

from collections.abc import Sequence
from typing import Any

import keras

from seqattn_tf.core.registry import check_count
from seqattn_tf.vision.base import Backbone


class ConvolutionalBackbone(Backbone):
    """Stages of two convolutions, each stage with half the rows and columns of the one before.

    Args:
        filters: of each stage.

    >>> import tensorflow as tf
    >>> ConvolutionalBackbone((8, 16))(tf.zeros([1, 32, 24, 3])).shape.as_list()
    [1, 8, 6, 16]
    """

    name_in_registry = "cnn"

    def __init__(self, filters: Sequence[int] = (32, 64, 96), **kwargs: Any) -> None:
        if not filters:
            raise ValueError("filters: expected a number for each stage, at least one. Received: none")
        self.filters = tuple(check_count("filters", count) for count in filters)
        super().__init__(**kwargs)

    def make(self) -> keras.Model:
        """Convolutions with a norm of the channels of each cell between them."""
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
        """Constructor arguments."""
        return {"filters": self.filters}
