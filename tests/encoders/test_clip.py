"""Frames of a clip: reading, padding, and features over several frames."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.encoders import ClipEncoder
from seqattn_tf.vision import ConvolutionalBackbone

LENGTHS = [5, 3, 1, 0]


def tensors(lengths=LENGTHS, longest=5, fill=0.0):
    frames = np.random.default_rng(0).uniform(0, 255, [len(lengths), longest, 12, 16, 3])
    there = np.arange(longest) < np.array(lengths)[:, None]
    frames[~there] = fill
    return {"clip_frames": tf.constant(frames, tf.float32), "clip_there": tf.constant(there, tf.int32)}


def made(**arguments):
    return ClipEncoder(ConvolutionalBackbone((4, 6)), 12, 16, units=5, **arguments)


@pytest.mark.parametrize("arguments", [{}, {"local": 3, "dropout": 0.3}, {"local": 2, "frozen": True, "cell": "lstm"}])
def test_the_contract_of_an_encoder_is_kept(arguments):
    encoder = made(**arguments)
    read = encoder(tensors())
    assert read.values.shape == (4, 5, encoder.output_size) == (4, 5, 10)
    assert read.summary.shape == (4, encoder.summary_size)
    assert encoder.input_lengths(tensors()).numpy().tolist() == LENGTHS
    assert tf.reduce_sum(tf.cast(read.mask, tf.int32), axis=1).numpy().tolist() == LENGTHS
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(encoder))
    assert again.arguments == encoder.arguments
    again(tensors())
    again.set_weights(encoder.get_weights())
    np.testing.assert_allclose(again(tensors()).values, read.values, atol=1e-6)


@pytest.mark.parametrize("local", [1, 3])
def test_padding_is_never_seen(local):
    encoder = made(local=local)
    read, dirty = encoder(tensors()), encoder(tensors(fill=255.0))
    alone = encoder({name: tensor[1:2, :3] for name, tensor in tensors().items()})
    np.testing.assert_allclose(read.values[1, :3], alone.values[0], atol=1e-5)
    np.testing.assert_allclose(dirty.values[1, :3], alone.values[0], atol=1e-5)
    np.testing.assert_allclose(dirty.summary[1], alone.summary[0], atol=1e-5)


def test_frames_together_see_what_comes_next_and_each_alone_does_not():
    there = tf.ones([1, 5], tf.bool)
    frames = tensors([5])["clip_frames"].numpy()
    other = frames.copy()
    other[0, 3] = 0
    for local, seen in ((1, [3]), (3, [2, 3, 4])):
        encoder = made(local=local)
        encoder(tensors())
        apart = np.abs(encoder.look(tf.constant(frames), there) - encoder.look(tf.constant(other), there)).max(axis=2)
        assert np.flatnonzero(apart[0] > 1e-6).tolist() == seen


def test_a_frozen_backbone_does_not_learn():
    encoder = made(frozen=True, local=3)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(encoder(tensors(), training=True).values ** 2)
    still, learning = tape.gradient(loss, [encoder.backbone.network.weights[0].value, encoder.project.kernel.value])
    assert still is None
    assert np.abs(learning).max() > 0


def test_frames_smaller_than_a_cell_are_refused():
    with pytest.raises(ValueError, match="height: expected a positive integer"):
        ClipEncoder("cnn", 0, 4)
