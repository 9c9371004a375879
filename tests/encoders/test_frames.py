"""Frames of a sound in a pyramid: reading, padding, and the positions of attention."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.encoders import PyramidEncoder

LENGTHS = [11, 4, 1, 0]


def frames(lengths=LENGTHS, longest=11, dtype="float32"):
    found = np.random.default_rng(0).normal(size=(len(lengths), longest, 5))
    for row, length in enumerate(lengths):
        found[row, length:] = 0
    return {"sound_frames": tf.constant(found, dtype)}


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_contract_of_an_encoder_is_kept(depth):
    encoder = PyramidEncoder(5, units=4, depth=depth, dropout=0.25, cell="gru")
    read = encoder(frames())
    count = -(-11 // encoder.frames_per_position)
    assert encoder.frames_per_position == 2 ** (depth - 1)
    assert read.values.shape == (4, count, encoder.output_size) == (4, count, 8)
    places = [-(-length // encoder.frames_per_position) for length in LENGTHS]
    assert encoder.input_lengths(frames()).numpy().tolist() == places
    assert tf.reduce_sum(tf.cast(read.mask, tf.int32), axis=1).numpy().tolist() == places
    assert read.summary.shape == (4, encoder.summary_size)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(encoder))
    assert again.get_config() == encoder.get_config()
    again(frames())
    again.set_weights(encoder.get_weights())
    np.testing.assert_allclose(again(frames()).values, read.values, atol=1e-6)


@pytest.mark.parametrize("row", [0, 1, 2])
def test_padding_is_never_read(row):
    encoder = PyramidEncoder(5, units=4, depth=3)
    read, length = encoder(frames()), LENGTHS[row]
    alone = encoder({"sound_frames": frames()["sound_frames"][row : row + 1, :length]})
    count = alone.values.shape[1]
    np.testing.assert_allclose(read.values[row, :count], alone.values[0], atol=1e-6)
    np.testing.assert_allclose(read.summary[row], alone.summary[0], atol=1e-6)


def test_any_length_in_one_graph():
    encoder = PyramidEncoder(5, units=4, depth=2)
    spec = {"sound_frames": tf.TensorSpec([None, None, 5])}
    graph = tf.function(lambda tensors: encoder(tensors).values, [spec], autograph=False)
    for longest in (1, 2, 7):
        given = frames([longest, 1], longest)
        np.testing.assert_allclose(graph(given), encoder(given).values, atol=1e-6)


def test_compiled_by_xla():
    encoder = PyramidEncoder(5, units=4, depth=2, cell="rnn")
    compiled = tf.function(lambda tensors: encoder(tensors).values, jit_compile=True, autograph=False)
    np.testing.assert_allclose(compiled(frames()), encoder(frames()).values, atol=1e-5)
