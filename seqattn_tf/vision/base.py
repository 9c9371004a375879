"""The base class of backbones, which convert pixels to a feature map."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import keras
import tensorflow as tf

from seqattn_tf.core.layer import RegisteredLayer


@contextmanager
def channels_last() -> Iterator[None]:
    """Create layers with channels on the last axis, independent of `keras.config.image_data_format`."""
    before = keras.config.image_data_format()
    keras.config.set_image_data_format("channels_last")
    try:
        yield
    finally:
        keras.config.set_image_data_format(before)


class Backbone(RegisteredLayer):
    """A layer from pixels `[batch, y, x, 3]` from 0 to 255 to a feature map `[batch, rows, columns, channels]`.

    A subclass implements `make`, which returns a Keras model from scaled pixels to the map, `scaled` and `arguments`;
    with pretrained weights, also `load`.
    """

    registry: ClassVar[dict[str, type]] = {}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with channels_last():
            self.network = self.make()

    def make(self) -> keras.Model:
        """Create the network from scaled pixels of any size to the feature map."""
        raise NotImplementedError

    def scaled(self, pixels: tf.Tensor) -> tf.Tensor:
        """Scale pixels to the range that the network requires."""
        return (pixels - 127.5) / 127.5

    def load(self, weights: str) -> None:
        """Load pretrained weights, given a name or a file."""
        raise ValueError(f"pretrained: expected none for {self.name_in_registry}. Received: {weights}")

    @property
    def channels(self) -> int:
        """The number of channels of the feature map."""
        return self.network.output_shape[-1]

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """Return the rows and columns of the feature map for images of this size."""
        shape = self.network.compute_output_shape((None, height, width, 3))
        return shape[1], shape[2]

    def build(self, input_shape: Any = None) -> None:
        """Mark the layer as built; the network already has its weights."""
        self.built = True

    def call(self, pixels: tf.Tensor, training: bool = False) -> tf.Tensor:
        return self.network(self.scaled(tf.cast(pixels, self.compute_dtype)), training=training)

    @property
    def arguments(self) -> dict[str, Any]:
        """The constructor arguments of the subclass."""
        return {}

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self.arguments}
