"""Networks of `keras.applications` up to one of their layers."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.vision.base import Backbone, channels_last

_FOUND = {"VGG19": "block5_conv4", "VGG16": "block5_conv3", "ResNet50": "conv4_block6_out"}  # the default layers


class ApplicationBackbone(Backbone):
    """A network of `keras.applications` up to a layer: by default VGG19's 14 x 14 x 512, as in Show, Attend and Tell.

    Args:
        application: The name of the network in `keras.applications`.
        layer: The name of the layer whose output is the map; empty for the default one.

    >>> ApplicationBackbone("MobileNetV2", "block_6_expand_relu").grid(224, 224)
    (28, 28)
    """

    name_in_registry = "application"

    def __init__(self, application: str = "VGG19", layer: str = "", **kwargs: Any) -> None:
        if not isinstance(getattr(keras.applications, application, None), type(keras.applications.VGG19)):
            raise ValueError(
                f"application: expected a model of keras.applications, such as VGG19. Received: {application!r}"
            )
        self.application, self.layer = application, layer or _FOUND.get(application, "")
        super().__init__(**kwargs)

    def make(self) -> keras.Model:
        return self._cut(None)

    def _cut(self, weights: str | None) -> keras.Model:
        whole = getattr(keras.applications, self.application)(include_top=False, weights=weights)
        names = [layer.name for layer in whole.layers]
        if self.layer and self.layer not in names:
            raise ValueError(
                f"layer: expected a layer of {self.application}, such as {names[-1]}. Received: {self.layer!r}"
            )
        found = whole.get_layer(self.layer).output if self.layer else whole.output
        if len(found.shape) != 4:
            raise ValueError(
                f"layer: expected a layer whose output is a feature map. Received: {self.layer}, {found.shape}"
            )
        return keras.Model(whole.input, found)

    def scaled(self, pixels: tf.Tensor) -> tf.Tensor:
        """Scale pixels with the `preprocess_input` function of the network's module."""
        module = getattr(keras.applications, self.application).__module__.rpartition(".")[2]
        return getattr(keras.applications, module).preprocess_input(pixels, data_format="channels_last")

    def load(self, weights: str) -> None:
        """Load `imagenet`, which Keras downloads, or a file with the weights of the full network without its top."""
        try:
            with channels_last():
                self.network.set_weights(self._cut(weights).get_weights())
        except (ValueError, OSError) as error:
            raise ValueError(f"pretrained: expected weights of {self.application}. Received: {error}") from None

    @property
    def arguments(self) -> dict[str, Any]:
        return {"application": self.application, "layer": self.layer}
