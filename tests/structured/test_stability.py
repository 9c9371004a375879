"""Long and extreme inputs: single precision compared with double precision and with exact results."""

import numpy as np
import pytest
import tensorflow as tf
from support.layers import random
from support.slow import slow

from seqattn_tf.structured import LinearChain, ProjectiveTree, SemiMarkov, SpanningTree


def with_gradient(build, *scores, xla=False, graph=False):
    """Return log-partition, marginals, and the gradient of a weighted sum of the marginals for each array of scores."""

    def function(*scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            dist = build(*scores)
            marginals = dist.marginals
            weights = tf.sin(tf.reshape(tf.range(tf.size(marginals), dtype=marginals.dtype), tf.shape(marginals)))
            value = tf.reduce_sum(weights * marginals)
        return dist.log_partition, marginals, *tape.gradient(value, scores)

    if graph or xla:
        function = tf.function(function, jit_compile=xla, autograph=False)
    return [result.numpy() for result in function(*map(tf.constant, scores))]


def compare(build, *scores, xla=False, atol=1e-5, summed=None):
    """Compare float32 with float64; the last gradient, a sum over all positions, has the tolerance `summed`."""
    wide = with_gradient(build, *(s.astype("float64") for s in scores), graph=True)
    narrow = with_gradient(build, *(s.astype("float32") for s in scores), xla=xla, graph=True)
    np.testing.assert_allclose(narrow[0], wide[0], rtol=2e-6)
    np.testing.assert_allclose(narrow[1], wide[1], atol=atol)
    bounds = [atol] * (len(scores) - 1) + [summed or atol]
    for ours, theirs, bound in zip(narrow[2:], wide[2:], bounds, strict=True):
        assert np.all(np.isfinite(theirs))
        np.testing.assert_allclose(ours, theirs, atol=bound * max(1.0, np.abs(theirs).max()))
    return wide


PREFIX = slow("prefix", False)


@pytest.mark.parametrize(("method", "xla"), [("scan", False), ("scan", True), PREFIX])
@pytest.mark.slow
def test_ten_thousand_positions(method, xla):
    unary, pairwise = random(1, 10_000, 4), random(4, 4, seed=1)
    atol = 1e-5 if method == "scan" else 5e-5  # products of all lengths have slightly larger rounding errors than steps
    compare(lambda u, p: LinearChain(u, p, method=method), unary, pairwise, xla=xla, atol=atol)


@pytest.mark.slow
def test_ten_thousand_positions_in_segments():
    """Each position may have a rounding error; on some processors, all have the same sign."""
    summed = 10_000 * np.finfo("float32").eps
    spans, transitions = random(1, 10_000, 3, 2), random(2, 2, seed=1)
    compare(lambda s, t: SemiMarkov(s, t), spans, transitions, xla=True, atol=1e-4, summed=summed)


@pytest.mark.parametrize("method", ["scan", "prefix"])
def test_states_that_fade_and_are_needed_at_the_end(method):
    """Two disconnected states. The first gains e^5 per step over the second, but only the second may be last."""
    times, never = 40, -np.inf  # e^200 far exceeds single precision
    unary = np.zeros([2, times, 2], "float32")
    unary[:, :, 0] = 5.0
    unary[0, -1, 0] = never
    pairwise = np.array([[0.0, never], [never, 0.0]], "float32")
    log_partition, marginals, by_unary, by_pairwise = with_gradient(
        lambda u, p: LinearChain(u, p, method=method), unary, pairwise, graph=method == "scan"
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


@pytest.mark.parametrize("method", ["scan", "prefix"])
def test_a_position_whose_best_state_cannot_be_reached(method):
    """The remaining values would underflow before normalization, although they belong to the only path."""
    never = -np.inf
    unary = np.array([[[0, never, never], [0, -78.3, -85.2], [0, never, never]]], "float32")
    pairwise = np.full([1, 2, 3, 3], never, "float32")
    pairwise[0, 0, 0] = [never, -27.6, 0]
    pairwise[0, 1, :, 0] = [never, 0, -39.1]
    for lowest in (never, -200.0):
        chain = LinearChain(np.maximum(unary, lowest), np.maximum(pairwise, lowest), method=method)
        np.testing.assert_allclose(chain.log_partition, [-105.9], rtol=1e-6)
        np.testing.assert_allclose(chain.marginals[0, 1], [0, 1, 0], atol=1e-6)


def third_order(build):
    """Return a function whose gradient requires the third derivative of the log-partition."""

    def function(scores):
        with tf.GradientTape() as outer:
            outer.watch(scores)
            with tf.GradientTape() as inner:
                inner.watch(scores)
                value = tf.reduce_sum(build(scores).marginals ** 2)
            slope = tf.reduce_sum(inner.gradient(value, scores) ** 2)
        return outer.gradient(slope, scores)

    return function


@pytest.mark.slow
def test_third_derivatives_in_a_graph():
    unary = random(1, 20, 3)
    unary[:, :10, 0] += 20
    unary[:, 10:, 1] += 20
    pairwise = np.array([[0, -np.inf, 0], [-np.inf, 0, 0], [-np.inf, -np.inf, 0]], "float32")
    for build, scores, xla in (
        (lambda u: LinearChain(u, pairwise, method="scan"), unary, True),
        (SpanningTree, random(1, 4, 5), False),
    ):
        function = third_order(build)
        eager = function(tf.constant(scores))
        assert np.all(np.isfinite(eager))
        compiled = tf.function(function, jit_compile=xla)(tf.constant(scores))
        np.testing.assert_allclose(compiled, eager, atol=1e-4)


def test_entropy_and_divergence_of_huge_scores():
    unary = 1e4 * np.random.default_rng(0).integers(-1, 2, [2, 12, 3]) + random(2, 12, 3)
    pairwise = 1e4 * np.random.default_rng(1).integers(-1, 2, [3, 3]) + random(3, 3, seed=1)
    arcs = 1e4 * np.random.default_rng(2).integers(-1, 2, [2, 5, 6]) + random(2, 5, 6, seed=2)
    for build, scores in ((LinearChain, (unary, pairwise)), (ProjectiveTree, (arcs,)), (SpanningTree, (arcs,))):
        narrow = [s.astype("float32") for s in scores]
        dist, wide = build(*narrow), build(*(s.astype("float64") for s in narrow))
        entropy = wide.entropy
        assert np.all(entropy > 0.1)
        np.testing.assert_allclose(dist.entropy, entropy, rtol=1e-5)
        np.testing.assert_allclose(dist.kl(dist), [0, 0], atol=1e-6)


def test_a_row_without_a_structure_has_no_log_probability():
    unary = np.zeros([2, 3, 2], "float32")
    unary[0, 1] = -np.inf
    chain = LinearChain(unary, np.zeros([2, 2], "float32"))
    states = np.zeros([2, 3], "int64")
    np.testing.assert_allclose(chain.log_prob(states), [-np.inf, -3 * np.log(2)], rtol=1e-6)
    np.testing.assert_allclose(chain.entropy, [0, 3 * np.log(2)], rtol=1e-6)
    np.testing.assert_allclose(chain.kl(chain), [0, 0], atol=1e-6)


@pytest.mark.slow
def test_neighbouring_seeds_draw_independently():
    chain = LinearChain(np.zeros([1, 200, 2], "float32"), np.zeros([2, 2], "float32"))
    one, other = (chain.sample(20, seed=[7, second]).numpy().astype(float) for second in (0, 1))
    for ahead in range(3):  # 20 x 200 coins each: by chance, half of them agree, with a standard deviation of 0.008
        same = np.mean(one[..., ahead:] == other[..., : 200 - ahead])
        assert abs(same - 0.5) < 0.04


def test_many_best_trees_are_different_trees():
    found = ProjectiveTree(random(1, 10, 11)).top_k(np.int64(20))
    assert len({tuple(heads) for heads in found.structures[0].numpy()}) == 20
    np.testing.assert_array_equal(found.scores[0], np.sort(found.scores[0])[::-1])


@pytest.mark.slow
def test_trees_with_scores_far_apart():
    compare(lambda a: ProjectiveTree(a), 100 * random(2, 12, 13), atol=1e-3)
    compare(lambda a: ProjectiveTree(a, single_root=False), random(2, 30, 31))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_computed_in_single(dtype):
    unary = tf.cast(random(2, 6, 3), dtype)
    chain = LinearChain(unary, tf.zeros([3, 3], dtype))
    assert chain.marginals.dtype == chain.log_partition.dtype == tf.float32
    wide = LinearChain(tf.cast(unary, tf.float32), tf.zeros([3, 3]))
    np.testing.assert_array_equal(chain.marginals, wide.marginals)
