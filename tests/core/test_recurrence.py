"""The compiled loop compared with automatic differentiation of the plain loop."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.layers import random

from seqattn_tf.core.products import product
from seqattn_tf.core.recurrence import compiles, recur

TIME, BATCH, UNITS, SOURCE = 4, 3, 2, 5
MASK = np.array([[1, 1, 1], [1, 0, 1], [1, 0, 0], [0, 1, 0]], bool)


@pytest.fixture(scope="module")
def variables():
    shapes = {"kernel": (UNITS, UNITS), "bias": (UNITS,), "unused": (3,)}
    return [
        keras.Variable(random(*shape, seed=i, dtype="float64"), dtype="float64", name=n)
        for i, (n, shape) in enumerate(shapes.items())
    ]


def step_over(variables):
    """Return a step with everything a step may have: products with a variable and with constants, and an integer."""
    kernel, bias, _ = variables

    def step(element, carry, constants):
        (inputs, numbers), (state, weights, count), (memory, scale) = element, carry, constants
        state = tf.tanh(inputs + product(state, kernel.value * 2) + bias.value * tf.cast(numbers, tf.float64)[:, None])
        weights = tf.nn.softmax(tf.squeeze(product(state[:, None], tf.transpose(memory, [0, 2, 1])), 1) * scale)
        return state + tf.squeeze(product(weights[:, None], memory), 1), weights, count + numbers

    return step


def arrays():
    return [
        random(TIME, BATCH, UNITS, dtype="float64"),
        random(BATCH, UNITS, seed=1, dtype="float64"),
        random(BATCH, SOURCE, UNITS, seed=2, dtype="float64"),
        random(SOURCE, seed=3, dtype="float64"),
    ]


def run(variables, compiled, mask, reverse, known=True):
    numbers = tf.constant(np.arange(TIME * BATCH).reshape(TIME, BATCH), tf.int32)
    shapes = [a.shape if known or a.ndim == 1 else [None, *a.shape[1:]] for a in arrays()]

    @tf.function(input_signature=[tf.TensorSpec(shape, tf.float64) for shape in shapes], autograph=False)
    def both(inputs, state, memory, scale):
        with tf.GradientTape() as tape:
            tape.watch([inputs, state, memory, scale])
            initial = (state, tf.zeros([tf.shape(state)[0], SOURCE], tf.float64), tf.zeros([BATCH], tf.int32))
            stacked, last = recur(
                step_over(variables),
                (inputs, numbers),
                initial,
                (memory, scale),
                variables,
                None if mask is None else tf.constant(mask),
                reverse,
                compiled,
            )
            value = tf.reduce_sum(stacked[0] ** 3) + tf.reduce_sum(stacked[1][1] ** 2) + tf.reduce_sum(last[0])
        sources = [inputs, state, memory, scale, *(v.value for v in variables)]
        return (*tf.nest.flatten((stacked, last)), *tape.gradient(value, sources, unconnected_gradients="zero"))

    return both(*map(tf.constant, arrays()))


@pytest.mark.parametrize(("mask", "reverse", "known"), [(None, False, True), (MASK, True, False)])
def test_compiled_loop_has_the_numbers_and_gradients_of_the_plain_one(variables, mask, reverse, known):
    plain, compiled = (run(variables, c, mask, reverse, known) for c in (False, True))
    for one, other in zip(plain, compiled, strict=True):
        np.testing.assert_allclose(other, one, atol=1e-12)
    assert all(np.abs(gradient).max() > 1e-3 for gradient in compiled[6:12])


def test_what_decides():
    known, unknown = tf.zeros([TIME, 1]), tf.TensorSpec([None, 1])
    seen = {}

    @tf.function(input_signature=[unknown], autograph=False)
    def graph(length_unknown):
        for given in (None, True, False):
            for training in (True, False):
                seen[given, training] = compiles(given, known, training), compiles(given, length_unknown, training)

    graph(known)
    assert seen == {
        (None, True): (True, False),
        (None, False): (False, False),
        (True, True): (True, True),
        (True, False): (True, True),
        (False, True): (False, False),
        (False, False): (False, False),
    }
    assert not compiles(True, known, True)  # outside a graph


def test_second_derivatives_are_refused_and_not_wrong():
    @tf.function(autograph=False)
    def twice(state):
        with tf.GradientTape() as outer:
            outer.watch(state)
            with tf.GradientTape() as inner:
                inner.watch(state)
                _, last = recur(lambda e, c, _: tf.tanh(e + c), tf.ones([3, 1, 1]), state, compiled=True)
            slope = inner.gradient(last, state)
        return outer.gradient(slope, state)

    with pytest.raises(LookupError, match="jit_compile=False"):
        twice(tf.ones([1, 1]))


def test_a_matrix_that_changes_from_step_to_step_is_refused():
    def step(element, carry, _):
        return tf.matmul(element, product(carry, carry))

    @tf.function(autograph=False)
    def slope(state):
        with tf.GradientTape() as tape:
            tape.watch(state)
            _, last = recur(step, tf.ones([3, 2, 2, 2]), state, compiled=True)
        return tape.gradient(last, state)

    with pytest.raises(ValueError, match="product: expected a matrix that is constant over time"):
        slope(tf.ones([2, 2, 2]))


def test_sums_over_time_are_not_taken_in_half_precision():
    bias = keras.Variable(tf.zeros([1]))

    def step(element, carry, _):
        return element + 0 * carry + tf.cast(bias.value, tf.bfloat16)

    @tf.function(autograph=False)
    def slope():
        with tf.GradientTape() as tape:
            stacked, _ = recur(
                step, tf.zeros([3000, 1, 1], tf.bfloat16), tf.zeros([1, 1], tf.bfloat16), (), [bias], compiled=True
            )
            loss = tf.reduce_sum(tf.cast(stacked, tf.float32))
        return tape.gradient(loss, bias.value)

    np.testing.assert_allclose(slope(), 3000, rtol=0.01)
