"""Prefix recursions compared with loops, and the binary chain compared with the general one."""

import numpy as np
import pytest
import tensorflow as tf
from support.gradients import assert_slopes
from support.layers import random

from seqattn_tf.attention.alignments.binary_chain import selected
from seqattn_tf.attention.alignments.prefixes import prefixes, recurrence
from seqattn_tf.structured import LinearChain
from seqattn_tf.structured.packing import Packing


def join(before, after):
    """Compose maps `y -> factor y + number`, which do not commute."""
    return (before[0] * after[0]) % 10007, (before[1] * after[0] + after[1]) % 10007


UNKNOWN = [tf.TensorSpec([None, 2], tf.int64)] * 2
traced = tf.function(lambda *x: prefixes(join, x)[1], UNKNOWN, autograph=False)


@pytest.mark.parametrize("size", [0, 1, 4, 7, 33, 100])
def test_prefixes_in_order(size):
    words = np.random.default_rng(0).integers(1, 5, size=[size, 2])
    elements = (words + 1, words)
    expected, total = [], np.zeros(2, int)
    for factor, number in zip(*elements, strict=True):
        total = (total * factor + number) % 10007
        expected.append(total)
    found = prefixes(join, tuple(map(tf.constant, elements)))[1]
    np.testing.assert_array_equal(found, np.reshape(expected, [size, 2]))
    np.testing.assert_array_equal(traced(*elements), np.reshape(expected, [size, 2]))


def test_recurrence_and_its_derivatives():
    decay, inputs = random(5, 2, dtype="float64"), random(5, 2, seed=1, dtype="float64")
    decay[2] = 0
    expected, y = [], np.zeros(2)
    for d, x in zip(decay, inputs, strict=True):
        y = d * y + x
        expected.append(y)
    np.testing.assert_allclose(recurrence(tf.constant(decay), tf.constant(inputs)), expected)

    def squares(decay, inputs):
        return tf.reduce_sum(recurrence(decay, inputs) ** 2)

    def slope(decay, inputs):
        with tf.GradientTape() as tape:
            tape.watch((decay, inputs))
            value = squares(decay, inputs)
        return tf.add_n([tf.reduce_sum(tf.sin(g)) for g in tape.gradient(value, (decay, inputs))])

    assert_slopes(squares, [decay, inputs], directions=2)
    assert_slopes(slope, [decay, inputs], directions=2)


def packed_chain(scores, pairwise, mask):
    """Compute the same with `LinearChain`, after moving the unmasked positions to the front."""
    packing = Packing(tf.constant(mask))
    unary = packing.pack(tf.stack([tf.zeros_like(scores), scores], -1))
    return packing.unpack(LinearChain(unary, pairwise, packing.lengths, "scan").marginals[..., 1])


def test_the_general_chain_gives_the_same():
    mask = np.random.default_rng(0).random([6, 40]) < 0.7
    mask[0], mask[1, :5], mask[2] = True, False, False
    scores, pairwise = 3 * random(6, 40, dtype="float64"), random(2, 2, seed=1, dtype="float64")
    found = selected(tf.constant(scores[:, None]), tf.constant(pairwise), tf.constant(mask[:, None]))
    np.testing.assert_allclose(found[:, 0], packed_chain(tf.constant(scores), tf.constant(pairwise), mask), atol=1e-12)


def test_scores_of_any_size_in_single_precision():
    scores = np.random.default_rng(0).choice([-1e4, -30.0, 0.5, 30.0, 1e4], size=[20, 1, 50])
    scores += random(20, 1, 50)
    for size in (1.0, 100.0, 1e4):
        pairwise = size * random(2, 2, seed=2)
        found = selected(*(tf.constant(x, tf.float32) for x in (scores, pairwise)), tf.ones([20, 1, 50], tf.bool))
        single = tf.constant(pairwise, tf.float32), tf.constant(scores, tf.float32)
        wide = [tf.cast(x, tf.float64) for x in single]
        expected = packed_chain(wide[1][:, 0], wide[0], np.ones([20, 50], bool))
        np.testing.assert_allclose(found[:, 0], expected, atol=2e-3 if size == 1e4 else 2e-5)


def test_second_derivatives_of_the_chain():
    mask = tf.constant([[[True, True, False, True]]])

    def slope(scores, pairwise):
        with tf.GradientTape() as tape:
            tape.watch((scores, pairwise))
            value = tf.reduce_sum(tf.sin(3 * selected(scores, pairwise, mask)))
        return tf.add_n([tf.reduce_sum(tf.sin(g)) for g in tape.gradient(value, (scores, pairwise))])

    for scores, pairwise in ((random(1, 1, 4), random(2, 2, seed=1)), (np.zeros([1, 1, 4]), np.zeros([2, 2]))):
        assert_slopes(slope, [scores.astype("float64"), pairwise.astype("float64")], directions=2)
