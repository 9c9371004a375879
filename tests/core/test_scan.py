import numpy as np
import pytest
import tensorflow as tf
from support.gradients import assert_gradient
from support.layers import random

from seqattn_tf.core.scan import fold, scan

LENGTH, BATCH = 4, 3
MASK = np.array([[1, 0, 1], [1, 0, 1], [0, 0, 1], [1, 0, 0]], bool)  # [time, batch]: a hole, an empty row, a tail


def decay(element, carry):
    return {"total": 0.5 * carry["total"] + element, "count": carry["count"] + 1}


def start():
    return {"total": tf.ones([BATCH]), "count": tf.zeros([BATCH], tf.int32)}


def by_hand(elements, mask, reverse):
    total, count, totals = np.ones(BATCH, "f"), np.zeros(BATCH, int), np.zeros(elements.shape, "f")
    for t in reversed(range(len(elements))) if reverse else range(len(elements)):
        total = np.where(mask[t], 0.5 * total + elements[t], total)
        count = np.where(mask[t], count + 1, count)
        totals[t] = total
    return totals, total, count


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("length", [0, 1, LENGTH])
@pytest.mark.parametrize("mode", ["eager", "known length", "unknown length"])
def test_equals_the_loop_by_hand(reverse, masked, length, mode):
    elements, mask = random(length, BATCH), MASK[:length] if masked else np.ones((length, BATCH), bool)

    def run(elements, mask):
        return scan(decay, elements, start(), mask if masked else None, reverse)

    if mode != "eager":
        time = length if mode == "known length" else None
        signature = [tf.TensorSpec([time, None]), tf.TensorSpec([time, None], tf.bool)]
        run = tf.function(run, input_signature=signature, autograph=False)
    stacked, last = run(tf.constant(elements), tf.constant(mask))
    totals, total, count = by_hand(elements, mask, reverse)
    np.testing.assert_allclose(stacked["total"], totals, rtol=1e-6)
    np.testing.assert_allclose(last["total"], total, rtol=1e-6)
    np.testing.assert_array_equal(last["count"], count)


@pytest.mark.parametrize(("reverse", "expected"), [(False, [[3.0], [4.5]]), (True, [[2.0], [3.5]])])
def test_the_last_carry_alone_eagerly_and_in_a_graph(reverse, expected):
    def run(elements):
        return fold(lambda x, carry: carry / 2 + x, elements, tf.constant([[4.0], [4.0]]), reverse)

    elements = tf.constant([[[0.0], [1.0]], [[2.0], [3.0]]])
    np.testing.assert_allclose(run(elements), expected)
    np.testing.assert_allclose(tf.function(run, autograph=False)(elements), expected)


def test_no_steps_with_an_unknown_batch():
    @tf.function(input_signature=[tf.TensorSpec([0, None]), tf.TensorSpec([None])])
    def run(elements, initial):
        return scan(lambda x, carry: carry + x, elements, initial)

    stacked, last = run(tf.zeros([0, 2]), tf.constant([1.0, 2.0]))
    assert stacked.shape == (0, 2)
    assert last.numpy().tolist() == [1, 2]


def test_xla_gives_the_same_numbers_and_gradients():
    elements, mask = tf.constant(random(LENGTH, BATCH)), tf.constant(MASK)

    def run():
        with tf.GradientTape() as tape:
            tape.watch(elements)
            stacked, _ = scan(lambda x, carry: tf.tanh(0.5 * carry + x), elements, tf.ones([BATCH]), mask)
            loss = tf.reduce_sum(stacked**2)
        return loss, tape.gradient(loss, elements)

    for plain, compiled in zip(tf.function(run)(), tf.function(run, jit_compile=True)(), strict=True):
        np.testing.assert_allclose(plain, compiled, rtol=1e-5)


def test_gradient_by_finite_differences():
    def loss(elements, initial):
        stacked, last = scan(lambda x, carry: tf.tanh(0.5 * carry + x), elements, initial, tf.constant(MASK), True)
        return tf.reduce_sum(stacked**2) + tf.reduce_sum(last)

    assert_gradient(loss, [random(LENGTH, BATCH, dtype="float64"), random(BATCH, seed=1, dtype="float64")])
