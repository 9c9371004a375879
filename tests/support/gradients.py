"""Gradients compared with central finite differences, in float64."""

import numpy as np
import tensorflow as tf


def assert_gradient(function, arrays, step=1e-6, tolerance=1e-6):
    """Check that the gradients of `function(*tensors) -> scalar` for every array equal the difference quotients."""
    tensors = [tf.constant(a, tf.float64) for a in arrays]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        value = function(*tensors)
    gradients = tape.gradient(value, tensors, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    for which, (array, gradient) in enumerate(zip(arrays, gradients, strict=True)):
        expected = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            shifted = [np.array(a, np.float64) for a in arrays]
            shifted[which][place] += step
            above = float(function(*map(tf.constant, shifted)))
            shifted[which][place] -= 2 * step
            expected[place] = (above - float(function(*map(tf.constant, shifted)))) / (2 * step)
        np.testing.assert_allclose(tf.convert_to_tensor(gradient), expected, atol=tolerance, rtol=tolerance)


def assert_slopes(function, arrays, step=1e-5, tolerance=1e-6, directions=4):
    """Check gradients along a few random directions: for functions of many numbers."""
    tensors = [tf.constant(a, tf.float64) for a in arrays]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        value = function(*tensors)
    gradients = [tf.convert_to_tensor(g) for g in tape.gradient(value, tensors, unconnected_gradients="zero")]
    rng = np.random.default_rng(0)
    for _ in range(directions):
        moves = [rng.normal(size=a.shape) for a in arrays]
        above, below = (
            float(function(*(tf.constant(a + sign * step * m) for a, m in zip(arrays, moves, strict=True))))
            for sign in (1, -1)
        )
        slope = sum(np.sum(g * m) for g, m in zip(gradients, moves, strict=True))
        np.testing.assert_allclose(slope, (above - below) / (2 * step), atol=tolerance, rtol=tolerance)
