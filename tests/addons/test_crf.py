"""The cases of TensorFlow Addons' `text/tests/crf_test.py`, for `LinearChain`, compared with every sequence."""

import itertools
from typing import NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.structured import LinearChain

TAGS = 3
DTYPES = ["float16", "float32"]
# Whole numbers: exact in half precision.
TRANSITIONS = np.array([[2, -1, 0], [-2, 1, 3], [1, 4, -3]])
LONG = np.array([[1, 3, -2], [0, 2, 2], [4, -1, 1], [-3, 0, 2], [9, 9, 9]])  # only four of these positions count
CASES = {"four of five": (LONG, 4), "one of five": (LONG, 1), "one of one": (LONG[2:3], 1)}
BITMAP = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 0, 1], [1, 0, 0]], bool)


class Every(NamedTuple):
    """All sequences of one row."""

    tags: np.ndarray  # [sequences, length]
    unary: np.ndarray
    binary: np.ndarray

    @property
    def scores(self):
        return self.unary + self.binary


def every(inputs, length, transitions=TRANSITIONS):
    tags = np.array(list(itertools.product(range(TAGS), repeat=length)))
    unary = inputs[np.arange(length), tags].sum(1)
    return Every(tags, unary, transitions[tags[:, :-1], tags[:, 1:]].sum(1))


def chain_of(inputs, length, dtype, transitions=TRANSITIONS):
    return LinearChain(tf.cast(inputs[None], dtype), tf.cast(transitions, dtype), tf.constant([length]))


def padded(tags, inputs, dtype="int32"):
    """Return the tags of one sequence as `[1, time]`, padded with ones rather than zeros."""
    return tf.constant(np.pad(tags, (0, len(inputs) - len(tags)), constant_values=1)[None], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_scores_and_their_sum(case, dtype):
    inputs, length = CASES[case]
    chain, found = chain_of(inputs, length, dtype), every(inputs, length)
    for number in range(0, len(found.tags), 7):
        np.testing.assert_allclose(chain.score(padded(found.tags[number], inputs)), [found.scores[number]], rtol=1e-6)
    np.testing.assert_allclose(chain.log_partition, [np.logaddexp.reduce(found.scores)], rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("labels", ["int32", "int64"])
def test_the_two_halves_of_a_score(labels, dtype):
    found = every(LONG, 4)
    tags = padded(found.tags[50], LONG, labels)
    unary = chain_of(LONG, 4, dtype, transitions=np.zeros([TAGS, TAGS]))
    binary = chain_of(np.zeros_like(LONG), 4, dtype)
    assert found.unary[50] * found.binary[50] != 0
    np.testing.assert_allclose(unary.score(tags), [found.unary[50]])
    np.testing.assert_allclose(binary.score(tags), [found.binary[50]])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_tags_that_may_not_be(case, dtype):
    inputs, length = CASES[case]
    bitmap = BITMAP[: len(inputs)]
    filtered = tf.where(bitmap, tf.cast(inputs, dtype), -float("inf"))
    np.testing.assert_array_equal(filtered[bitmap], inputs[bitmap])
    chain, found = LinearChain(filtered[None], tf.cast(TRANSITIONS, dtype), [length]), every(inputs, length)
    may = bitmap[np.arange(length), found.tags].all(1)
    assert 0 < may.sum() < len(may)
    np.testing.assert_allclose(chain.log_partition, [np.logaddexp.reduce(found.scores[may])], rtol=1e-6)
    assert (chain.marginals.numpy()[0, :length][~bitmap[:length]] == 0).all()
    best = np.where(may, found.scores, -np.inf).argmax()
    np.testing.assert_array_equal(chain.argmax[0, :length], found.tags[best])
    np.testing.assert_allclose(chain.top_k(1).scores, [[found.scores[best]]])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_the_best_sequence_and_its_score(case, dtype):
    inputs, length = CASES[case]
    chain, found = chain_of(inputs, length, dtype), every(inputs, length)
    assert (found.scores == found.scores.max()).sum() == 1
    np.testing.assert_array_equal(chain.argmax[0, :length], found.tags[found.scores.argmax()])
    np.testing.assert_allclose(chain.top_k(1).scores, [[found.scores.max()]])
    alone = LinearChain(tf.cast(inputs[None, :length], dtype), tf.cast(TRANSITIONS, dtype))  # one row, no lengths
    np.testing.assert_array_equal(alone.argmax[0], chain.argmax[0, :length])


@pytest.mark.parametrize("dtype", DTYPES)
def test_probabilities_sum_to_one(dtype):
    tags = every(LONG, 4).tags
    rows = len(tags)
    chain = LinearChain(tf.cast(np.tile(LONG, [rows, 1, 1]), dtype), tf.cast(TRANSITIONS, dtype), np.full(rows, 4))
    likelihoods = chain.log_prob(np.pad(tags, [(0, 0), (0, 1)])).numpy()
    assert (likelihoods < 0).all()
    np.testing.assert_allclose(np.exp(likelihoods).sum(), 1, atol=1e-5)
    with pytest.raises(TypeError):  # transitions are required
        LinearChain(tf.cast(LONG[None], dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("times", [1, 4])
def test_rows_without_a_position(times, dtype):
    chain = LinearChain(tf.ones([2, times, TAGS], dtype), tf.ones([TAGS, TAGS], dtype), [0, 0])
    np.testing.assert_array_equal(chain.log_partition, [0, 0])
    np.testing.assert_array_equal(chain.argmax, np.zeros([2, times]))
    np.testing.assert_array_equal(chain.top_k(1).scores, [[0], [0]])


@pytest.mark.parametrize("integers", ["int32", "int64"])
def test_any_integers_are_tags_and_lengths(integers):
    """All scores are equal, so all sequences are equally probable."""
    chain = LinearChain(tf.ones([2, 4, TAGS]), tf.ones([TAGS, TAGS]), tf.constant([4, 3], integers))
    found = chain.log_prob(tf.ones([2, 4], integers))
    np.testing.assert_allclose(found, [-4 * np.log(TAGS), -3 * np.log(TAGS)], rtol=1e-6)


@pytest.fixture(scope="module")
def decode():
    """A graph that returns the best tags for any number of rows and positions."""
    specs = [tf.TensorSpec([None, None, TAGS]), tf.TensorSpec([TAGS, TAGS]), tf.TensorSpec([None], tf.int32)]
    return tf.function(lambda *scores: LinearChain(*scores).argmax, input_signature=specs, autograph=False)


@pytest.mark.parametrize("times", [1, 5])
def test_in_a_graph_of_unknown_sizes(decode, times):
    lengths = [min(times, 4), 1]
    found = decode(np.stack([LONG[:times]] * 2), TRANSITIONS, lengths)
    for row, length in enumerate(lengths):
        sequences = every(LONG, length)
        np.testing.assert_array_equal(found[row, :length], sequences.tags[sequences.scores.argmax()])


@pytest.mark.parametrize("lengths", [[3, 5], [6, 6]], ids=["some", "none"])
def test_nothing_is_said_or_read_beyond_the_length(decode, lengths):
    scores = np.random.default_rng(0).normal(size=[2, 6, TAGS]).astype("float32")
    beyond = ~np.asarray(tf.sequence_mask(lengths, 6))
    found = decode(scores, TRANSITIONS, lengths)
    assert (found.numpy()[beyond] == 0).all()
    scores[beyond] = [-50, 70, 90]
    np.testing.assert_array_equal(decode(scores, TRANSITIONS, lengths), found)
    for row, length in enumerate(lengths):
        sequences = every(scores[row], length)
        np.testing.assert_array_equal(found[row, :length], sequences.tags[sequences.scores.argmax()])


class Decode(keras.layers.Layer):
    """A user-defined layer that contains a chain."""

    def call(self, scores, lengths):
        return LinearChain(scores, tf.constant(TRANSITIONS, scores.dtype), lengths).argmax

    def compute_output_shape(self, scores_shape, lengths_shape):
        return scores_shape[:2]


def test_inside_a_model_that_is_saved(tmp_path):
    scores, lengths = keras.Input((5, TAGS), name="scores"), keras.Input((), dtype="int32", name="lengths")
    model = keras.Model([scores, lengths], Decode()(keras.layers.Dense(TAGS)(scores), lengths))
    model.set_weights([np.eye(TAGS), np.zeros(TAGS)])
    data = [LONG[None].astype("float32"), np.array([4])]
    model.save(tmp_path / "decode.keras")
    again = keras.saving.load_model(tmp_path / "decode.keras", custom_objects={"Decode": Decode})
    sequences = every(LONG, 4)
    expected = sequences.tags[sequences.scores.argmax()]
    assert expected.any()
    for one in (model, again):
        np.testing.assert_array_equal(one.predict(data, verbose=0)[0, :4], expected)
