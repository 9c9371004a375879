"""Rows of a feature map, each read in both directions."""

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.encoders import RowEncoder
from seqattn_tf.vision import ConvolutionalBackbone


def made(**arguments):
    return RowEncoder(row_units=3, backbone=ConvolutionalBackbone((4, 6)), height=12, width=20, **arguments)


def pixels(count=2):
    return {"image_pixels": tf.constant(np.random.default_rng(1).uniform(0, 255, [count, 12, 20, 3]), "float32")}


def test_the_contract_of_an_encoder_is_kept():
    encoder = made(units=5, cell="gru", dropout=0.25)
    read = encoder(pixels())
    assert (encoder.rows, encoder.columns) == (3, 5)
    assert read.values.shape == (2, 15, encoder.output_size) == (2, 15, 6)
    assert read.summary.shape == (2, encoder.summary_size)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(encoder))
    assert again.arguments == encoder.arguments
    again(pixels())
    again.set_weights(encoder.get_weights())
    np.testing.assert_allclose(again(pixels()).values, read.values, atol=1e-6)


def test_a_cell_knows_all_of_its_row_and_nothing_of_others():
    encoder = made()
    maps = np.random.default_rng(0).normal(size=[1, 3, 5, 6]).astype("float32")
    encoder(pixels())
    encoder.frozen = True

    def values(given):
        return encoder({"image_map": tf.constant(given)}).values.numpy().reshape(3, 5, 6)

    other = maps.copy()
    other[0, 1, 4, 0] += 3
    apart = np.abs(values(maps) - values(other)).max(axis=2)
    assert (apart[1] > 1e-6).all()
    assert (apart[[0, 2]] < 1e-6).all()


def test_the_summary_is_the_mean_of_what_was_read():
    """The summary is the mean over all cells of both directions, not of the feature map, a sum or one cell."""
    read = made()(pixels())
    np.testing.assert_allclose(read.summary, np.mean(read.values, axis=1), atol=1e-6)
    assert np.abs(read.summary[0] - read.summary[1]).max() > 1e-4
    assert read.mask is None or read.mask.shape == (2, 15)
