import numpy as np
import pytest
import tensorflow as tf
from support.gradients import assert_gradient
from support.layers import random

from seqattn_tf.core.masking import check_mask, length_mask, masked_logsumexp, masked_mean, masked_softmax

MASK = np.array([[True, True, False], [False, False, False], [True, True, True]])


def test_softmax_equals_the_one_over_the_kept_places():
    logits = random(3, 3)
    weights = masked_softmax(tf.constant(logits), tf.constant(MASK)).numpy()
    np.testing.assert_allclose(weights[0, :2], np.exp(logits[0, :2]) / np.exp(logits[0, :2]).sum(), rtol=1e-6)
    np.testing.assert_allclose(weights[2], tf.nn.softmax(logits[2]), rtol=1e-6)
    assert (weights[~MASK] == 0).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_extreme_logits_and_empty_rows_give_no_nan(dtype):
    logits = tf.cast(tf.constant([[3e4, -3e4, 0.0], [3e4, 3e4, 3e4], [-3e4, -3e4, -3e4]]), dtype)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        weights = masked_softmax(logits, tf.constant(MASK))
    gradient = tf.cast(tape.gradient(weights, logits), tf.float32)
    weights = tf.cast(weights, tf.float32).numpy()
    assert np.isfinite(gradient).all()
    np.testing.assert_allclose(weights.sum(-1), [1, 0, 1], rtol=1e-2)


def test_forbidden_places_are_not_kept():
    logits = tf.constant([[-np.inf, -np.inf, -np.inf], [0.0, -np.inf, 0.0]])
    for mask in (None, tf.constant(MASK[[2, 2]])):
        np.testing.assert_allclose(masked_softmax(logits, mask), [[0, 0, 0], [0.5, 0, 0.5]])


def test_half_precision_sums_do_not_overflow():
    values = tf.cast(tf.fill([1, 3000, 1], 40.0), tf.float16)
    assert float(masked_mean(values, tf.fill([1, 3000], True))[0, 0]) == 40
    assert np.isfinite(masked_logsumexp(tf.zeros([1, 2], tf.float16), tf.constant([[False, False]])))


def test_masks_are_boolean_or_whole_numbers():
    assert check_mask(tf.constant([[2, 0]])).numpy().tolist() == [[True, False]]
    with pytest.raises(ValueError, match=r"mask: expected booleans, True = keep\. Received: float32"):
        check_mask(tf.constant([[1.0, 0.0]]))


def test_softmax_gradient():
    weight = tf.constant(random(3, 3, seed=1, dtype="float64"))
    assert_gradient(
        lambda logits: tf.reduce_sum(weight * masked_softmax(logits, tf.constant(MASK))),
        [random(3, 3, dtype="float64")],
    )


def test_softmax_over_nothing_is_empty():
    assert masked_softmax(tf.zeros([2, 0]), tf.zeros([2, 0], tf.bool)).shape == (2, 0)


def test_logsumexp_and_mean():
    values = random(3, 3)
    sums = masked_logsumexp(tf.constant(values), tf.constant(MASK)).numpy()
    np.testing.assert_allclose(sums[0], np.log(np.exp(values[0, :2]).sum()), rtol=1e-6)
    assert np.isfinite(sums[1])
    means = masked_mean(tf.constant(values[..., None]), tf.constant(MASK)).numpy()
    np.testing.assert_allclose(means[:, 0], [values[0, :2].mean(), 0, values[2].mean()], rtol=1e-6)


def test_length_mask():
    np.testing.assert_array_equal(length_mask(tf.constant([2, 0, 3]), 3), MASK)


def test_nan_in_padding_does_not_reach_the_mean():
    """NaN times zero is NaN, so masked values must be replaced rather than multiplied by zero."""
    values = tf.constant([[[1.0], [3.0], [np.nan]], [[np.inf], [np.nan], [np.nan]]])
    mask = tf.constant([[True, True, False], [False, False, False]])
    assert masked_mean(values, mask).numpy().tolist() == [[2.0], [0.0]]
