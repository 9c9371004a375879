import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.decoding.best import GROUP, best


@pytest.mark.parametrize("size", [3, 511, 520, 1024, 8000])
@pytest.mark.parametrize("count", [1, 6])
def test_as_top_k(size, count):
    rng = np.random.default_rng(size)
    rows = rng.normal(size=(7, size)).astype("float32")
    rows[1] = np.round(rows[1])  # with many ties
    rows[2] = 0
    rows[3] = -np.inf
    rows[4, 2:] = -np.inf
    rows[5] = np.sort(rows[5])[::-1]
    expected = tf.math.top_k(rows, min(count, size))
    ways = [best] if size != 520 else [best, tf.function(best, jit_compile=True, autograph=False)]
    for way in ways:
        found = way(tf.constant(rows), count)
        np.testing.assert_array_equal(found[0], expected.values)
        np.testing.assert_array_equal(found[1], expected.indices)


def test_of_a_size_that_is_not_known():
    unknown = tf.function(lambda rows: best(rows, 4), input_signature=[tf.TensorSpec([None, None])])
    assert unknown(tf.zeros([2, 3]))[0].shape == (2, 3)
    assert unknown(tf.zeros([0, 20 * GROUP]))[0].shape == (0, 4)


def test_more_than_there_are_groups_of_symbols():
    rows = np.random.default_rng(0).normal(size=(2, 16 * GROUP)).astype("float32")
    for count in (16, 20):
        found, expected = best(tf.constant(rows), count), tf.math.top_k(rows, count)
        np.testing.assert_array_equal(found[1], expected.indices)


def test_of_equals_the_first_wins_though_a_later_group_has_a_larger_one():
    row = np.zeros([1, 16 * GROUP], "float32")
    row[0, [3, GROUP + 3, GROUP + 5]] = [1.0, 1.0, 2.0]
    values, symbols = best(tf.constant(row), 2)
    assert values.numpy().tolist() == [[2.0, 1.0]]
    assert symbols.numpy().tolist() == [[GROUP + 5, 3]]
