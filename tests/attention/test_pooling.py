import keras
import numpy as np
import pytest
import tensorflow as tf
from support.attention import sigmoid, softmax
from support.gradients import assert_slopes
from support.layers import random, roundtrip

from seqattn_tf.attention import AttentionPooling, SigmoidAlignment

MASK = np.array([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]], bool)
VALUES = random(3, 4, 5, dtype="float64")
DIRTY = np.where(MASK[..., None], VALUES, np.nan)


def build(align, **options):
    layer = AttentionPooling(3, align, **options)
    layer.build((None, None, 5))
    for number, weight in enumerate(layer.trainable_variables):
        weight.assign(random(*weight.shape, seed=number, dtype="float64"))
    return layer


@pytest.mark.parametrize("align", ["softmax", "sigmoid", "monotonic"])
def test_numbers_of_the_formula_and_gradient(align):
    layer = build(align, dtype="float64")
    unknown = [tf.TensorSpec([None, None, 5], tf.float64), tf.TensorSpec([None, None], tf.bool)]
    context, weights = tf.function(lambda v, m: layer(v, mask=m), unknown, autograph=False)(DIRTY, MASK)
    kernel, bias, scale, *others = (w.numpy() for w in layer.trainable_variables)
    for row, mask in enumerate(MASK):
        logits = np.array([np.tanh(value @ kernel + bias) @ scale[:, 0] for value in VALUES[row]])[mask]
        if align == "monotonic":
            stop = sigmoid(logits + others[0])
            expected = stop * np.cumprod(np.concatenate([[1], 1 - stop]))[:-1]
        else:
            expected = softmax(logits) if align == "softmax" else sigmoid(logits + others[0])
        np.testing.assert_allclose(weights[row].numpy()[mask], expected, atol=1e-12)
        np.testing.assert_allclose(context[row], expected @ VALUES[row][mask], atol=1e-12)

    def loss(values, *weights):
        (context, _), _ = layer.stateless_call(
            list(weights), [v.value for v in layer.non_trainable_variables], values, mask=tf.constant(MASK)
        )
        return tf.reduce_sum(context**2)

    arrays = [w.numpy() for w in layer.trainable_variables]
    with tf.GradientTape() as tape:
        dirty = tf.constant(DIRTY)
        tape.watch(dirty)
        value = loss(dirty, *arrays)
    gradient = tape.gradient(value, dirty).numpy()
    assert (gradient[~MASK] == 0).all()
    assert np.isfinite(gradient).all()
    assert_slopes(loss, [VALUES, *arrays], directions=2)


def test_saving_arguments_and_errors(tmp_path):
    again = roundtrip(AttentionPooling(7, SigmoidAlignment(bias=-2.0)))
    assert (again.units, again.align.bias) == (7, -2.0)
    with pytest.raises(ValueError, match=r"units: expected a positive integer\. Received: 0"):
        AttentionPooling(0)
    with pytest.raises(ValueError, match=r"values: expected \[batch, source, units\]"):
        AttentionPooling(2)(tf.zeros([2, 3]))
    inputs = keras.Input((None, 5))
    context, weights = AttentionPooling(3, "sigmoid")(inputs)
    model = keras.Model(inputs, [keras.layers.Dense(1)(context), weights])
    model.compile("adam", ["mse", None], run_eagerly=True)
    data = VALUES.astype("float32")
    model.fit(data, data[:, 0, :1], verbose=0)
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    np.testing.assert_allclose(again(data)[0], model(data)[0], atol=1e-6)


def test_half_precision_and_compiled():
    whole, half = build("crf"), build("crf", dtype="mixed_bfloat16")
    values, mask = tf.constant(VALUES, tf.float32), tf.constant(MASK)
    expected = whole(values, mask=mask)[0]
    found = half(values, mask=mask)[0]
    assert found.dtype == tf.bfloat16
    np.testing.assert_allclose(tf.cast(found, tf.float32), expected, atol=0.1)
    compiled = tf.function(lambda v, m: whole(v, mask=m)[0], jit_compile=True)
    np.testing.assert_allclose(compiled(values, mask), expected, atol=1e-5)
