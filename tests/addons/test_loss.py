"""The cases of TensorFlow Addons' `seq2seq/tests/loss_test.py`, with Keras's cross-entropy."""

import keras
import numpy as np
import pytest
import tensorflow as tf

ROWS, TIMES, SYMBOLS = 2, 3, 5
RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=[ROWS, TIMES, SYMBOLS]).astype("float32")
TARGETS = np.array([[0, 4, 2], [3, 1, 1]])
WEIGHTS = {
    "all": np.ones([ROWS, TIMES], "float32"),
    "mask": np.array([[1, 1, 0], [1, 0, 0]], "float32"),
    "any": np.array([[0.5, 2, 0], [1, 0, 3]], "float32"),
    "a step of none": np.array([[1, 1, 0], [1, 2, 0]], "float32"),
    "none": np.zeros([ROWS, TIMES], "float32"),
}


def entropies(logits=LOGITS, targets=TARGETS):
    """Return the cross-entropy of every symbol, by the formula: `[batch, time]`."""
    wide = logits.astype("float64")
    chosen = np.take_along_axis(wide, targets[..., None], axis=2)[..., 0]
    return np.log(np.exp(wide).sum(2)) - chosen


def quotient(above, below):
    return np.divide(above, below, out=np.zeros_like(above), where=below != 0)


def loss(reduction, **arguments):
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=reduction, **arguments)


def each(weights):
    return loss(None)(TARGETS, LOGITS, weights)


@pytest.fixture(params=[True, False], ids=["eagerly", "in a graph"])
def runs(request):
    tf.config.run_functions_eagerly(request.param)
    yield tf.function
    tf.config.run_functions_eagerly(False)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_averages(weights, runs):
    """Averages over both axes, the batch, the time and no axis: the sum divided by the sum of the weights."""
    weights = WEIGHTS[weights]
    weighted = entropies() * weights
    found = runs(loss("mean_with_sample_weight"))(TARGETS, LOGITS, weights)
    np.testing.assert_allclose(found, quotient(weighted.sum(), weights.sum()), rtol=1e-5)
    np.testing.assert_allclose(runs(each)(weights), weighted, rtol=1e-5)
    for axis in (0, 1):
        found = runs(lambda w, axis=axis: tf.math.divide_no_nan(tf.reduce_sum(each(w), axis), tf.reduce_sum(w, axis)))
        np.testing.assert_allclose(found(weights), quotient(weighted.sum(axis), weights.sum(axis)), rtol=1e-5)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_sums(weights, runs):
    """Averages over both axes, the batch and the time: the sum divided by the number of nonzero weights."""
    weights = WEIGHTS[weights]
    for axis in (None, 0, 1):

        def found(w, axis=axis):
            return tf.math.divide_no_nan(tf.reduce_sum(each(w), axis), tf.math.count_nonzero(w, axis, dtype=w.dtype))

        counts = (weights != 0).sum(axis).astype("float64")
        np.testing.assert_allclose(
            runs(found)(weights), quotient((entropies() * weights).sum(axis), counts), rtol=1e-5, err_msg=str(axis)
        )


def test_of_ones_and_zeros_sum_and_average_are_one():
    mask = WEIGHTS["mask"]
    found = loss("mean_with_sample_weight")(TARGETS, LOGITS, mask)
    np.testing.assert_allclose(found, entropies()[mask > 0].mean(), rtol=1e-5)


def test_a_mask_that_travels_with_the_logits_is_a_weight():
    """Two other ways to specify the weights: a Keras mask, and an id for padding."""
    mask = WEIGHTS["mask"] > 0
    logits = tf.constant(LOGITS)
    logits._keras_mask = tf.constant(mask)
    np.testing.assert_allclose(loss("mean_with_sample_weight")(TARGETS, logits), entropies()[mask].mean(), rtol=1e-5)
    ignoring = loss("mean_with_sample_weight", ignore_class=-1)(np.where(mask, TARGETS, -1), LOGITS)
    np.testing.assert_allclose(ignoring, entropies()[mask].mean(), rtol=1e-5)


def test_in_a_model_that_is_fitted():
    """The model has the same outputs for every row; the targets are one-hot, with weights for each step."""
    inputs = keras.Input((TIMES,))
    said = keras.layers.Reshape((TIMES, SYMBOLS))(keras.layers.Dense(TIMES * SYMBOLS)(inputs))
    model = keras.Model(inputs, said)
    model.set_weights([np.zeros([TIMES, TIMES * SYMBOLS]), LOGITS[0].ravel()])
    one_hot = keras.losses.CategoricalCrossentropy(from_logits=True, reduction="mean_with_sample_weight")
    model.compile("sgd", one_hot, jit_compile=False)
    weights = WEIGHTS["any"]
    history = model.fit(np.ones([ROWS, TIMES]), np.eye(SYMBOLS)[TARGETS], sample_weight=weights, verbose=0).history
    expected = (entropies(LOGITS[[0, 0]]) * weights).sum() / weights.sum()
    np.testing.assert_allclose(history["loss"], [expected], rtol=1e-5)
