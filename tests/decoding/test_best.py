import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.decoding.best import GROUP, best


@pytest.mark.parametrize("size", [3, 511, 520, 1024, 8000])
@pytest.mark.parametrize("count", [1, 6])
def test_as_top_k(size, count):
    rng = np.random.default_rng(size)
    rows = rng.normal(size=(7, size)).astype("float32")
    rows[1] = np.round(rows[1])  # many equals
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
