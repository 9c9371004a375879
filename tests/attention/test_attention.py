"""Scores, alignments and readings together: tests that belong to no single part."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.gradients import assert_slopes
from support.layers import random, roundtrip

from seqattn_tf.attention import (
    AdditiveScore,
    Alignment,
    Attention,
    CoverageScore,
    MonotonicAlignment,
    Score,
    SoftmaxAlignment,
)

BATCH, QUERIES, SOURCE, UNITS, WIDTH = 3, 2, 4, 5, 6
MASK = np.array([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]], bool)
QUERY, VALUES = random(BATCH, QUERIES, UNITS), random(BATCH, SOURCE, WIDTH, seed=1)


@pytest.fixture(scope="module")
def gated():
    layer = Attention(AdditiveScore(7), "softmax", gate=True)
    layer.build((None, UNITS), (None, None, WIDTH))
    layer.set_weights([random(*w.shape, seed=i) for i, w in enumerate(layer.get_weights())])
    return layer


def test_a_gate_says_how_much_is_read(gated):
    kernel, bias = gated.gate_kernel.numpy(), gated.gate_bias.numpy()
    contexts, weights = gated(tf.constant(QUERY), tf.constant(VALUES), mask=tf.constant(MASK))
    beta = 1 / (1 + np.exp(-(QUERY @ kernel + bias)))
    np.testing.assert_allclose(contexts, beta * (weights.numpy() @ VALUES), atol=1e-5)
    memory = gated.prepare(tf.constant(VALUES), tf.constant(MASK))
    context, weight, _ = gated.attend(tf.constant(QUERY[:, 1]), memory, gated.initial_state(memory))
    np.testing.assert_allclose(context, contexts[:, 1], atol=1e-6)
    read = gated.read(weight, memory.values, tf.constant(QUERY[:, 1]))
    np.testing.assert_allclose(read, contexts[:, 1], atol=1e-6)
    twice = gated.read(weight, tf.concat([memory.values, 2 * memory.values], -1), tf.constant(QUERY[:, 1]))
    np.testing.assert_allclose(twice, tf.concat([read, 2 * read], -1), atol=1e-5)  # linear in the values


def test_gradient_of_a_gate_in_float64():
    layer = Attention("dot", gate=True, dtype="float64")
    layer.build((None, UNITS), (None, None, UNITS))

    @tf.function
    def loss(query, values, *weights):
        (context, _), _ = layer.stateless_call(list(weights), [], query, values, mask=tf.constant(MASK))
        return tf.reduce_sum(context**2)

    arrays = [random(BATCH, UNITS, dtype="float64"), random(BATCH, SOURCE, UNITS, dtype="float64")]
    assert_slopes(loss, [*arrays, *(w.numpy() for w in layer.trainable_variables)])


def test_logits_are_what_is_aligned(gated):
    memory = gated.prepare(tf.constant(VALUES[:1]))
    logits = gated.logits(tf.constant(QUERY[:1]), memory)
    _, weights, _ = gated.attend(tf.constant(QUERY[:1]), memory)
    np.testing.assert_allclose(tf.nn.softmax(logits), weights, atol=1e-6)
    np.testing.assert_allclose(gated.logits(tf.constant(QUERY[:1, 1]), memory), logits[:, 1], atol=1e-6)


def test_all_logits_are_of_the_state_that_is_given():
    layer = Attention(CoverageScore(4))
    layer.build((None, UNITS), (None, None, WIDTH))
    layer.set_weights([random(*w.shape, seed=i) for i, w in enumerate(layer.get_weights())])
    memory = layer.prepare(tf.constant(VALUES))
    _, _, state = layer.attend(tf.constant(QUERY[:, 0]), memory)
    logits = layer.logits(tf.constant(QUERY), memory, state)
    for place in range(QUERIES):
        alone = layer.logits(tf.constant(QUERY[:, place]), memory, state)
        np.testing.assert_allclose(logits[:, place], alone, atol=1e-6)
    assert np.abs(logits - layer.logits(tf.constant(QUERY), memory)).max() > 1e-3


def test_one_query_without_an_axis(gated):
    context, weights = gated(tf.constant(QUERY[:, 0]), tf.constant(VALUES), mask=tf.constant(MASK))
    assert (context[2].numpy() == 0).all()
    assert (weights[2].numpy() == 0).all()
    context, weights = gated(tf.constant(QUERY[:, 0]), tf.zeros([BATCH, 0, WIDTH]))
    assert (context.numpy() == 0).all()
    assert weights.shape == (BATCH, 0)


def test_score_and_alignment_remember_together():
    layer = Attention(CoverageScore(4), MonotonicAlignment())
    memory_shape = (None, None, WIDTH)
    layer.build((None, UNITS), memory_shape)
    memory = layer.prepare(tf.constant(VALUES), tf.constant(MASK))
    state = layer.initial_state(memory)
    _, weights, last = layer.attend(tf.constant(QUERY), memory, state)
    np.testing.assert_allclose(last.score[0], tf.reduce_sum(weights, 1), atol=1e-6)
    np.testing.assert_allclose(last.align[0], weights[:, -1], atol=1e-6)
    none, nothing, same = layer.attend(tf.zeros([BATCH, 0, UNITS]), memory, state)
    assert (none.shape, nothing.shape) == ((BATCH, 0, WIDTH), (BATCH, 0, SOURCE))
    for one, other in zip(tf.nest.flatten(same), tf.nest.flatten(state), strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_is_remembered_is_not_half(gated):
    layer = Attention("dot", "monotonic", dtype="mixed_float16")
    memory = layer.prepare(tf.zeros([1, 3, 2], tf.float16))
    layer.build((None, 2), (None, None, 2))
    _, weights, state = layer.attend(tf.zeros([1, 2], tf.float16), memory)
    assert (weights.dtype, state.align[0].dtype) == (tf.float16, tf.float32)


def test_arguments_survive_saving_and_names_are_found(gated):
    again = roundtrip(gated)
    assert again.score.units == 7
    assert isinstance(again.align, SoftmaxAlignment)
    assert again.gate
    assert Attention(units=9).score.units == 9
    assert Attention("location", units=9).score.units == 9
    assert not hasattr(Attention("dot", units=9).score, "units")  # it has no hidden layer
    with pytest.raises(ValueError, match=r"score: expected one of \['additive', 'average'.*Received: 'dott'"):
        Attention(score="dott")
    with pytest.raises(ValueError, match=r"alignment: expected one of \['crf', 'entmax'.*Received: 'hardd'"):
        Attention(align="hardd")


def test_every_part_says_what_it_is():
    assert all(
        kind.meaning in ("distribution", "independent", "marginals", "sample") for kind in Alignment.registry.values()
    )
    assert not Attention().stateful
    assert not Attention().random
    assert Attention("coverage").stateful
    assert Attention(align="monotonic").stateful


def test_a_new_score_is_one_small_class():
    class Sum(Score):
        name_in_registry = "sum_in_test"

        def prepare(self, values):
            return tf.reduce_sum(values, -1, keepdims=True)

        def call(self, query, keys, state=()):
            return tf.reduce_sum(query, -1, keepdims=True) + tf.linalg.matrix_transpose(keys)

    try:
        context, weights = Attention(score="sum_in_test")(tf.ones([2, WIDTH]), tf.constant(VALUES[:2]))
    finally:
        del Score.registry["sum_in_test"]
    np.testing.assert_allclose(weights, tf.nn.softmax(VALUES[:2].sum(-1)), atol=1e-6)
    assert context.shape == (2, WIDTH)


def test_wrong_shapes_and_masks_are_refused(gated):
    with pytest.raises(ValueError, match=r"values: expected \[batch, source, units\]"):
        gated.prepare(tf.zeros([2, WIDTH]))
    with pytest.raises(ValueError, match=r"mask: expected booleans, True = keep\. Received: float32"):
        gated.prepare(tf.constant(VALUES), tf.ones([BATCH, SOURCE]))


def test_inside_a_functional_model():
    query, values = keras.Input((UNITS,)), keras.Input((None, WIDTH))
    context, weights = Attention(units=7)(query, values)
    model = keras.Model([query, values], [context, weights])
    assert model([QUERY[:, 0], VALUES])[1].shape == (BATCH, SOURCE)
