import keras
import numpy as np
import pytest
import tensorflow as tf
from support.gradients import assert_gradient
from support.layers import random, roundtrip

from seqattn_tf.attention import AdditiveScore, Attention, Score, SoftmaxAlignment

BATCH, QUERIES, SOURCE, UNITS, WIDTH = 3, 2, 4, 5, 6
MASK = np.array([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]], bool)
QUERY, VALUES = random(BATCH, QUERIES, UNITS), random(BATCH, SOURCE, WIDTH, seed=1)


@pytest.fixture(scope="module")
def attention():
    layer = Attention(score=AdditiveScore(7), align="softmax")
    layer.build((None, UNITS), (None, None, WIDTH))
    layer.set_weights([random(*w.shape, seed=i) for i, w in enumerate(layer.get_weights())])
    return layer


def by_hand(layer, query, values, mask):
    """The formula, a place at a time."""
    u, w, v = layer.get_weights()
    logits = np.array([v[:, 0] @ np.tanh(query @ u + value @ w) for value in values])
    weights = np.where(mask, np.exp(logits), 0)
    weights = weights / weights.sum() if weights.any() else weights
    return weights @ values, weights


def test_equals_the_formula(attention):
    contexts, weights = attention(tf.constant(QUERY), tf.constant(VALUES), mask=tf.constant(MASK))
    for b in range(BATCH):
        for q in range(QUERIES):
            context, weight = by_hand(attention, QUERY[b, q], VALUES[b], MASK[b])
            np.testing.assert_allclose(weights[b, q], weight, atol=1e-6)
            np.testing.assert_allclose(contexts[b, q], context, atol=1e-5)


def test_one_query_is_a_row_of_many(attention):
    contexts, weights = attention(tf.constant(QUERY), tf.constant(VALUES), mask=tf.constant(MASK))
    memory = attention.prepare(tf.constant(VALUES), tf.constant(MASK))
    context, weight, state = attention.attend(tf.constant(QUERY[:, 1]), memory, attention.initial_state(memory))
    np.testing.assert_allclose(context, contexts[:, 1], atol=1e-6)
    np.testing.assert_allclose(weight, weights[:, 1], atol=1e-6)
    assert state == ()


def test_fully_masked_row_and_empty_source_read_zeros(attention):
    context, weights = attention(tf.constant(QUERY[:, 0]), tf.constant(VALUES), mask=tf.constant(MASK))
    assert (context[2].numpy() == 0).all()
    assert (weights[2].numpy() == 0).all()
    context, weights = attention(tf.constant(QUERY[:, 0]), tf.zeros([BATCH, 0, WIDTH]))
    assert (context.numpy() == 0).all()
    assert weights.shape == (BATCH, 0)


def test_what_stands_in_the_padding_reaches_nothing(attention):
    dirty = tf.constant(np.where(MASK[..., None], VALUES, np.nan))
    clean = attention(tf.constant(QUERY), tf.constant(VALUES), mask=tf.constant(MASK))
    for one, other in zip(attention(tf.constant(QUERY), dirty, mask=tf.constant(MASK)), clean, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_gradient_in_float64():
    layer = Attention(units=3, dtype="float64")
    layer.build((None, UNITS), (None, None, WIDTH))

    def loss(query, values, *weights):
        (context, alpha), _ = layer.stateless_call(list(weights), [], query, values, mask=tf.constant(MASK))
        return tf.reduce_sum(context**2) + tf.reduce_sum(alpha**3)

    arrays = [random(BATCH, UNITS, dtype="float64"), random(BATCH, SOURCE, WIDTH, dtype="float64")]
    assert_gradient(loss, [*arrays, *layer.get_weights()])


def test_unknown_shapes_xla_and_plain_agree(attention):
    def run(query, values, mask):
        return attention(query, values, mask=mask)

    signature = [
        tf.TensorSpec([None, UNITS]),
        tf.TensorSpec([None, None, WIDTH]),
        tf.TensorSpec([None, None], tf.bool),
    ]
    arguments = [tf.constant(a) for a in (QUERY[:, 0], VALUES, MASK)]
    plain = tf.function(run, input_signature=signature)(*arguments)
    compiled = tf.function(run, jit_compile=True)(*arguments)
    for one, other in zip(plain, compiled, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_mixed_precision(attention):
    layer = Attention(units=7, dtype="mixed_float16")
    layer.build((None, UNITS), (None, None, WIDTH))
    layer.set_weights(attention.get_weights())
    context, weights = layer(tf.constant(QUERY[:, 0]), tf.constant(VALUES), mask=tf.constant(MASK))
    assert context.dtype == weights.dtype == tf.float16
    expected, _ = attention(tf.constant(QUERY[:, 0]), tf.constant(VALUES), mask=tf.constant(MASK))
    np.testing.assert_allclose(tf.cast(context, tf.float32), expected, atol=0.02)


def test_arguments_survive_saving_and_names_are_found(attention):
    again = roundtrip(attention)
    assert again.score.units == 7
    assert isinstance(again.align, SoftmaxAlignment)
    assert again.align.meaning == "distribution"
    assert Attention(units=9).score.units == 9
    with pytest.raises(ValueError, match=r"score: expected one of \['additive'\].*Received: 'dott'"):
        Attention(score="dott")
    with pytest.raises(ValueError, match=r"alignment: expected one of \['softmax'\].*Received: 'hardd'"):
        Attention(align="hardd")


def test_a_new_score_is_one_small_class():
    class Dot(Score):
        name_in_registry = "dot_in_test"

        def build(self, query_shape, values_shape):
            self.built = True

        def prepare(self, values):
            return values

        def call(self, query, keys):
            return tf.matmul(query, keys, transpose_b=True)

    try:
        context, weights = Attention(score="dot_in_test")(tf.ones([2, WIDTH]), tf.constant(VALUES[:2]))
    finally:
        del Score.registry["dot_in_test"]
    np.testing.assert_allclose(weights, tf.nn.softmax(VALUES[:2].sum(-1)), atol=1e-6)
    assert context.shape == (2, WIDTH)


def test_wrong_rank_is_refused(attention):
    with pytest.raises(ValueError, match=r"values: expected \[batch, source, units\]"):
        attention.prepare(tf.zeros([2, WIDTH]))


def test_inside_a_functional_model():
    query, values = keras.Input((UNITS,)), keras.Input((None, WIDTH))
    context, weights = Attention(units=7)(query, values)
    model = keras.Model([query, values], [context, weights])
    assert model([QUERY[:, 0], VALUES])[1].shape == (BATCH, SOURCE)
