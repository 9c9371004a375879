"""Long and extreme inputs: single precision against double, and against what must come out."""

import numpy as np
import pytest
import tensorflow as tf
from support.layers import random

from seqattn_tf.structured import LinearChain, ProjectiveTree, SemiMarkov


def with_gradient(build, *scores, xla=False):
    """Log-partition, marginals, and the gradient of a weighted sum of the marginals in every array of scores."""

    @tf.function(jit_compile=xla, autograph=False)
    def function(*scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            dist = build(*scores)
            marginals = dist.marginals
            weights = tf.sin(tf.reshape(tf.range(tf.size(marginals), dtype=marginals.dtype), tf.shape(marginals)))
            value = tf.reduce_sum(weights * marginals)
        return dist.log_partition, marginals, *tape.gradient(value, scores)

    return [result.numpy() for result in function(*map(tf.constant, scores))]


def compare(build, *scores, xla=False, atol=1e-5):
    """In float32 the same as in float64."""
    wide = with_gradient(build, *(s.astype("float64") for s in scores))
    narrow = with_gradient(build, *(s.astype("float32") for s in scores), xla=xla)
    np.testing.assert_allclose(narrow[0], wide[0], rtol=2e-6)
    np.testing.assert_allclose(narrow[1], wide[1], atol=atol)
    for ours, theirs in zip(narrow[2:], wide[2:], strict=True):
        assert np.all(np.isfinite(theirs))
        np.testing.assert_allclose(ours, theirs, atol=atol * max(1.0, np.abs(theirs).max()))
    return wide


@pytest.mark.parametrize(("method", "xla"), [("scan", False), ("scan", True), ("prefix", True)])
def test_ten_thousand_positions(method, xla):
    unary, pairwise = random(1, 10_000, 4), random(4, 4, seed=1)
    atol = 1e-5 if method == "scan" else 5e-5  # products of all lengths round a little more than steps
    compare(lambda u, p: LinearChain(u, p, method=method), unary, pairwise, xla=xla, atol=atol)


def test_ten_thousand_positions_in_segments():
    compare(lambda s, t: SemiMarkov(s, t), random(1, 10_000, 3, 2), random(2, 2, seed=1), xla=True, atol=1e-4)


@pytest.mark.parametrize("method", ["scan", "prefix"])
def test_states_that_fade_and_are_needed_at_the_end(method):
    """Two states that never meet. The first gains e^5 a step over the second; at the end only the second may be."""
    times, never = 100, -np.inf
    unary = np.zeros([2, times, 2], "float32")
    unary[:, :, 0] = 5.0
    unary[0, -1, 0] = never
    pairwise = np.array([[0.0, never], [never, 0.0]], "float32")
    log_partition, marginals, by_unary, by_pairwise = with_gradient(
        lambda u, p: LinearChain(u, p, method=method), unary, pairwise
    )
    np.testing.assert_allclose(log_partition, [0.0, 5.0 * times], atol=1e-4)
    np.testing.assert_allclose(marginals[0], np.tile([0.0, 1.0], (times, 1)), atol=1e-6)
    np.testing.assert_allclose(marginals[1], np.tile([1.0, 0.0], (times, 1)), atol=1e-6)
    assert np.all(np.isfinite(by_unary))
    assert np.all(np.isfinite(by_pairwise))


@pytest.mark.parametrize("shift", [-1e4, -90.0, 90.0, 1e4])
@pytest.mark.parametrize("method", ["scan", "prefix"])
def test_a_constant_on_all_scores_changes_nothing_but_the_sum(method, shift):
    unary, pairwise = random(2, 6, 3, dtype="float64"), random(3, 3, seed=1, dtype="float64")
    chain = LinearChain(unary, pairwise, [6, 3], method=method)
    moved = LinearChain(unary, pairwise + shift, [6, 3], method=method)
    np.testing.assert_allclose(moved.marginals, chain.marginals, atol=1e-10)
    np.testing.assert_allclose(moved.log_partition, chain.log_partition + shift * np.array([5, 2]), rtol=1e-12)


@pytest.mark.parametrize("method", ["scan", "prefix"])
def test_no_sequence_at_all(method):
    unary = np.zeros([2, 4, 3], "float32")
    unary[0, 2] = -np.inf
    log_partition, marginals, *gradients = with_gradient(
        lambda u: LinearChain(u, tf.zeros([3, 3]), method=method), unary
    )
    assert log_partition[0] == -np.inf
    np.testing.assert_allclose(log_partition[1], np.log(3**4), rtol=1e-6)
    assert not np.any(marginals[0])
    np.testing.assert_allclose(marginals[1], 1 / 3, rtol=1e-6)
    assert all(np.all(np.isfinite(g)) for g in gradients)


@pytest.mark.parametrize("method", ["scan", "prefix"])
def test_nan_stays_in_its_row(method):
    unary = random(2, 4, 3)
    clean = LinearChain(unary, tf.zeros([3, 3]), method=method).marginals[1]
    unary[0, 1, 1] = np.nan
    chain = LinearChain(unary, tf.zeros([3, 3]), method=method)
    assert np.isnan(chain.log_partition[0])
    np.testing.assert_allclose(chain.marginals[1], clean, atol=1e-6)


def test_trees_with_scores_far_apart():
    compare(lambda a: ProjectiveTree(a), 100 * random(2, 12, 13), atol=1e-3)
    compare(lambda a: ProjectiveTree(a, single_root=False), random(2, 30, 31), xla=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_computed_in_single(dtype):
    unary = tf.cast(random(2, 6, 3), dtype)
    chain = LinearChain(unary, tf.zeros([3, 3], dtype))
    assert chain.marginals.dtype == chain.log_partition.dtype == tf.float32
    wide = LinearChain(tf.cast(unary, tf.float32), tf.zeros([3, 3]))
    np.testing.assert_array_equal(chain.marginals, wide.marginals)
