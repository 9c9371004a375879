"""The contract of a backbone: pixels in, a map out."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import keras
import tensorflow as tf

from seqattn_tf.core.layer import RegisteredLayer


@contextmanager
def channels_last() -> Iterator[None]:
    """Layers that are made here have the channels on the last axis, whatever `keras.config.image_data_format` is."""
    before = keras.config.image_data_format()
    keras.config.set_image_data_format("channels_last")
    try:
        yield
    finally:
        keras.config.set_image_data_format(before)


class Backbone(RegisteredLayer):
    """Pixels `[batch, y, x, 3]` from 0 to 255 to a map `[batch, rows, columns, channels]`.

    A subclass gives `make`, a Keras model from scaled pixels to the map, `scaled`, and `arguments`; one that has
    pretrained weights also `load`.
    """

    registry: ClassVar[dict[str, type]] = {}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with channels_last():
            self.network = self.make()

    def make(self) -> keras.Model:
        """The network, from scaled pixels of any size to the map."""
        raise NotImplementedError

    def scaled(self, pixels: tf.Tensor) -> tf.Tensor:
        """Pixels as the network wants them."""
        return (pixels - 127.5) / 127.5

    def load(self, weights: str) -> None:
        """Begin from pretrained weights: those of a name, or of a file."""
        raise ValueError(f"pretrained: expected none of {self.name_in_registry}. Received: {weights}")

    @property
    def channels(self) -> int:
        """Numbers of a cell of the map."""
        return self.network.output_shape[-1]

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of the map of a picture of this size."""
        shape = self.network.compute_output_shape((None, height, width, 3))
        return shape[1], shape[2]

    def build(self, input_shape: Any = None) -> None:
        """The network has its weights already."""
        self.built = True

    def call(self, pixels: tf.Tensor, training: bool = False) -> tf.Tensor:
        """The map."""
        return self.network(self.scaled(tf.cast(pixels, self.compute_dtype)), training=training)

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments of the subclass."""
        return {}

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), **self.arguments}
