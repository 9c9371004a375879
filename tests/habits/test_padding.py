"""A tagger and a classifier with masks from `Embedding` alone: additional padding changes nothing."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.layers import random

from seqattn_tf import CRF, Attention, Bidirectional, CRFModel
from seqattn_tf.attention import AttentionPooling

WORDS = np.random.default_rng(0).integers(1, 30, [4, 4]) * (np.arange(4) < [[4], [2], [1], [4]])
TAGS = np.random.default_rng(1).integers(0, 3, [4, 4])
LABELS = np.random.default_rng(2).integers(0, 2, [4])
MORE = 3


def wider(array):
    return np.pad(array, [[0, 0], [0, MORE]])


def tagger():
    words = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(30, 8, mask_zero=True)(words)
    x = Bidirectional("lstm", units=5, return_sequences=True)(x)
    model = CRFModel(words, CRF(3, transition_initializer="glorot_uniform")(x))
    model.compile(keras.optimizers.SGD(0.1), run_eagerly=True)
    return model, TAGS


def classifier():
    words = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(30, 8, mask_zero=True)(words)
    values = Bidirectional("gru", units=4, return_sequences=True)(x)
    pooled, _ = AttentionPooling(6)(values)
    read, _ = Attention("additive", units=6)(pooled, values)
    model = keras.Model(words, keras.layers.Dense(2)(keras.layers.Concatenate()([pooled, read])))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.1), loss, run_eagerly=True)
    return model, LABELS


@pytest.fixture(scope="module", params=[tagger, classifier])
def made(request):
    keras.utils.set_random_seed(3)
    model, labels = request.param()
    for number, weight in enumerate(model.trainable_variables):
        weight.assign(random(*weight.shape, seed=number))  # large enough for significant gradients
    return model, labels


def padded(labels):
    return wider(labels) if labels.ndim == 2 else labels


def slopes(model, words, labels):
    with tf.GradientTape() as tape:
        loss = model.compute_loss(x=words, y=tf.constant(labels), y_pred=model(words, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    return [loss, *map(tf.convert_to_tensor, gradients)]


def predicted(model, words):
    return model.predict(words, verbose=0)[:, : WORDS.shape[1]]


def check(model, labels):
    for one, other in zip(slopes(model, WORDS, labels), slopes(model, wider(WORDS), padded(labels)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
        assert np.abs(one).max() > 1e-4
    np.testing.assert_allclose(predicted(model, WORDS), predicted(model, wider(WORDS)), atol=1e-6)
    few = model.evaluate(WORDS, labels, verbose=0)
    np.testing.assert_allclose(few, model.evaluate(wider(WORDS), padded(labels), verbose=0), atol=1e-6)


def test_loss_gradients_and_predictions(made):
    check(*made)


@pytest.mark.slow
def test_after_saving(made, tmp_path):
    model, labels = made
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    for one, other in zip(slopes(again, wider(WORDS), padded(labels)), slopes(model, WORDS, labels), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    np.testing.assert_allclose(predicted(again, wider(WORDS)), predicted(model, WORDS), atol=1e-6)


@pytest.mark.slow
def test_after_export(made, tmp_path):
    model, _ = made
    model.export(tmp_path / "exported", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "exported")

    def answered(words):
        found = loaded.serve(tf.constant(words, tf.int32))
        return (found["tags"] if isinstance(found, dict) else found).numpy()[:, : WORDS.shape[1]]

    np.testing.assert_allclose(answered(WORDS), predicted(model, WORDS), atol=1e-6)
    np.testing.assert_allclose(answered(wider(WORDS)), predicted(model, WORDS), atol=1e-6)


@pytest.mark.slow
def test_training_goes_the_same_way(made):
    """Three epochs of `fit` in a graph, from the same weights."""
    model, labels = made
    model.run_eagerly = False
    start, ends = model.get_weights(), []
    for words, given in ((WORDS, labels), (wider(WORDS), padded(labels))):
        model.set_weights(start)
        model.fit(words, given, batch_size=4, epochs=3, shuffle=False, verbose=0)
        ends.append(model.get_weights())
    model.set_weights(start)
    model.run_eagerly = True
    for one, other in zip(*ends, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
