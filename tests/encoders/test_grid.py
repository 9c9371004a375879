"""Pictures as cells of a grid: reading, training, and precomputed feature maps as inputs."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.encoders import GridEncoder, SummaryEncoder
from seqattn_tf.encoders.grid import waves_of
from seqattn_tf.vision import ConvolutionalBackbone


def tensors(count=2, height=20, width=28):
    return {"image_pixels": tf.constant(np.random.default_rng(1).uniform(0, 255, [count, height, width, 3]), "float32")}


def made(**arguments):
    return GridEncoder(ConvolutionalBackbone((4, 6)), 20, 28, **arguments)


@pytest.mark.parametrize(
    "arguments",
    [{}, {"units": 5, "dropout": 0.3}, {"frozen": True, "position_embeddings": False}],
    ids=["plain", "wide", "frozen"],
)
def test_the_contract_of_an_encoder_is_kept(arguments):
    encoder = made(**arguments)
    read = encoder(tensors())
    assert (encoder.rows, encoder.columns) == (5, 7)
    assert read.values.shape == (2, 35, encoder.output_size) == (2, 35, arguments.get("units", 6))
    assert read.mask.numpy().all()
    np.testing.assert_allclose(read.summary, tf.reduce_mean(read.values, 1), atol=1e-6)
    assert encoder.input_lengths(tensors()).numpy().tolist() == [35, 35]
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(encoder))
    again(tensors())
    again.set_weights(encoder.get_weights())
    np.testing.assert_allclose(again(tensors()).values, read.values, atol=1e-6)


def test_a_place_is_a_cell_of_the_map_row_by_row():
    encoder = made(position_embeddings=False)
    read = encoder(tensors())
    found = encoder.norm(encoder.backbone(tensors()["image_pixels"]))
    np.testing.assert_allclose(read.values[1, 2 * 7 + 3], found[1, 2, 3], atol=1e-5)
    weights = np.zeros([2, 3, 35], "float32")
    weights[1, 2, 4 * 7 + 6] = 1
    at = encoder.to_positions(tf.constant(weights), tensors()).numpy()
    assert at.shape == (2, 3, 5, 7)
    assert at[1, 2, 4, 6] == at.sum() == 1


def test_cells_learn_where_they_are():
    encoder = made()
    blank = {"image_pixels": tf.zeros([1, 20, 28, 3])}
    before, first = encoder(blank).values, encoder.where.numpy()
    encoder.where.assign(first + np.eye(35, 6))
    np.testing.assert_allclose(encoder(blank).values - before, np.eye(35, 6)[None], atol=1e-5)
    wide = waves_of(5, 7, 16).reshape(35, 16)
    apart = np.linalg.norm(wide[:, None] - wide[None], axis=-1) + 9 * np.eye(35)
    assert apart.min() > 0.1  # the initial position embeddings of all cells differ
    assert apart[0, 34] > apart[0, 1]


def test_a_frozen_backbone_does_not_learn_and_its_maps_stand_for_pictures():
    encoder, free = made(frozen=True, dropout=0.0), made()
    encoder(tensors()), free(tensors())
    # Two of the normalization, and the position embeddings.
    assert len(free.trainable_weights) > len(encoder.trainable_weights) == 3
    maps = {"image_map": encoder.look(tensors()["image_pixels"])}
    np.testing.assert_allclose(encoder(maps).values, encoder(tensors()).values, atol=1e-5)
    assert encoder.input_lengths(maps).numpy().tolist() == [35, 35]
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(encoder(tensors(), training=True).values ** 2)
    assert tape.gradient(loss, encoder.backbone.network.weights[0]) is None


class Dropping(ConvolutionalBackbone):
    """A backbone with dropout on its feature map, as in networks that drop whole layers."""

    def make(self):
        network = super().make()
        return keras.Model(network.input, keras.layers.Dropout(0.5)(network.output))


def test_a_frozen_backbone_sees_in_training_what_it_always_sees():
    encoder = GridEncoder(Dropping((4, 6)), 20, 28, frozen=True)
    np.testing.assert_allclose(encoder(tensors(), training=True).values, encoder(tensors()).values, atol=1e-6)


def test_a_backbone_that_learns_takes_no_map():
    encoder = made()
    both = {**tensors(), "image_map": tf.zeros([2, 5, 7, 6])}
    np.testing.assert_allclose(encoder(both).values, encoder(tensors()).values)


def test_a_summary_stands_for_the_whole_picture():
    encoder = SummaryEncoder(made())
    assert encoder.input_name == "image"
    assert encoder(tensors()).values.shape == (2, 1, 6)


def test_unknown_batches_compile_and_train_in_half_precision():
    encoder = GridEncoder("cnn", 16, 16, units=4, dtype="mixed_float16")
    encoder.build()
    read = tf.function(lambda pixels: encoder({"image_pixels": pixels}, training=True).values, jit_compile=True)
    found = read.get_concrete_function(tf.TensorSpec([None, 16, 16, 3]))(tf.ones([3, 16, 16, 3]))
    assert (found.dtype, found.shape) == (tf.float16, (3, 4, 4))


def test_bad_arguments_are_refused():
    for arguments, message in (
        ({"height": 0}, "height: expected a positive integer"),
        ({"units": -1}, "units: expected a positive integer"),
        ({"backbone": "none"}, "backbone: expected one of"),
    ):
        with pytest.raises(ValueError, match=message):
            GridEncoder(**arguments)
