"""Trees with and without crossing arcs, compared with the list of all trees."""

import decimal

import numpy as np
import pytest
import tensorflow as tf
from support.gradients import assert_slopes
from support.slow import slow
from support.structures import ExactTests, Row, all_trees

from seqattn_tf.structured import spanning_heads
from seqattn_tf.structured.semirings import Dual
from seqattn_tf.structured.spanning import SpanningTree

SIZE = 5


class TestSpanningTree(ExactTests):
    ranks = False
    single_root = True

    def draw(self, dtype, seed):
        return [np.random.default_rng(seed).normal(size=(4, SIZE, SIZE + 1)).astype(dtype)]

    def build(self, arcs, lengths=None):
        return SpanningTree(arcs, lengths, single_root=self.single_root)

    def enumerate_row(self, length, scores, row):
        trees = [np.array(t + (0,) * (SIZE - length)) for t in all_trees(length, self.single_root, projective=False)]
        parts = []
        for tree in trees:
            part = np.zeros([SIZE, SIZE + 1])
            part[np.arange(length), tree[:length]] = 1
            parts.append([part])
        return Row([[tree] for tree in trees], parts, [scores[0][row]])

    def spoil(self, scores):
        [arcs] = scores
        for row, length in enumerate(self.lengths):
            arcs[row, length:] = np.nan
            arcs[row, :, length + 1 :] = np.nan
            arcs[row, np.arange(SIZE), np.arange(1, SIZE + 1)] = np.nan
        return scores

    def forbid(self, scores):
        [arcs] = scores
        arcs[0, 0, 2:4] = -np.inf
        arcs[0, 1:3, 0] = -np.inf
        arcs[1, 0, 0] = -np.inf
        return scores


class TestManyRoots(TestSpanningTree):
    single_root = False

    # Compiled once for all above.
    test_samples_are_reproducible_eager_and_compiled = None
    test_everything_compiled_and_with_unknown_shapes = None

    def test_gradient_through_marginals(self):
        super().test_gradient_through_marginals(xla=False)


@pytest.fixture(params=[True, False], ids=["single root", "many roots"])
def single_root(request):
    return request.param


def normal(*shape, scale=1.0, seed=0, dtype="float64"):
    return (scale * np.random.default_rng(seed).normal(size=shape)).astype(dtype)


def precise_marginals(powers, single_root, digits):
    """Return the log-partition and marginals of arc weights `2^power`, by inverting the Laplacian with many digits."""
    decimal.setcontext(decimal.Context(prec=digits, Emin=-(10**9), Emax=10**9))
    size = len(powers)
    two = decimal.Decimal(2)
    weights = [[two ** int(p) * (h != d) for h, p in enumerate(row)] for d, row in enumerate(powers, 1)]
    matrix = [
        [-weight for weight in row[1:]] + [decimal.Decimal(d == k) for k in range(size)]
        for d, row in enumerate(weights)
    ]
    for d, row in enumerate(weights):
        matrix[d][d] = sum(row[1:])
        matrix[d][0 if single_root else d] += row[0]
    det = decimal.Decimal(1)
    for p in reversed(range(size)):
        det *= matrix[p][p]
        matrix[p] = [x / matrix[p][p] for x in matrix[p]]
        for r in range(size):
            if r != p:
                factor = matrix[r][p]
                matrix[r] = [x - factor * y if y else x for x, y in zip(matrix[r], matrix[p], strict=True)]
    inverse = [row[size:] for row in matrix]
    marginals = np.zeros([size, size + 1])
    for d in range(size):
        marginals[d, 0] = weights[d][0] * inverse[0 if single_root else d][d]
        marginals[d, 1:] = [weights[d][h + 1] * (inverse[d][d] - inverse[h][d]) for h in range(size)]
    return float(det.ln()), marginals


@pytest.mark.parametrize(("scale", "digits"), [slow(145, 600), (15, 100)])
def test_no_digits_are_lost(single_root, scale, digits):
    powers = np.round(normal(40, 41, scale=scale))  # scores N(0, 100^2), N(0, 10^2)
    log_partition, marginals = precise_marginals(powers, single_root, digits)
    np.testing.assert_allclose(marginals.sum(-1), 1, atol=1e-12)
    wide = powers[None] * np.log(2)
    for dtype, error in (("float32", 1e-4), ("float64", 2e-11)):  # the first error includes the rounding of the scores
        dist = SpanningTree(wide.astype(dtype), single_root=single_root)
        found_log_partition, (found,) = dist._rules.infer(*dist._scores)
        np.testing.assert_allclose(found_log_partition[0], log_partition, rtol=1e-6 if dtype == "float32" else 1e-14)
        np.testing.assert_allclose(found[0], marginals, atol=error)


@pytest.mark.parametrize(("single_root", "count"), [(True, 64), (False, 125)])
def test_number_of_trees(single_root, count):
    dist = SpanningTree(tf.zeros([2, 6, 7]), [4, 1], single_root)
    np.testing.assert_allclose(tf.exp(dist.log_partition), [count, 1], rtol=1e-5)


def test_full_length(single_root):
    arcs = normal(2, 5, 6, dtype="float32")
    for dist in (SpanningTree(arcs, single_root=single_root), SpanningTree(arcs, [5, 5], single_root)):
        for row in range(2):
            trees = list(all_trees(5, single_root, projective=False))
            scores = np.array([arcs[row, np.arange(5), tree].sum() for tree in trees])
            np.testing.assert_allclose(dist.log_partition[row], np.logaddexp.reduce(scores), rtol=1e-5)
            assert tuple(dist.argmax[row].numpy()) == trees[scores.argmax()]


def test_the_roads_agree(single_root):
    """Linear and log space, values and derivatives, where both are accurate."""
    arcs = tf.constant(normal(3, 7, 8, scale=2))
    dist = SpanningTree(arcs, [7, 4, 1], single_root)
    arcs = dist._possible(arcs)
    direction = tf.where(arcs > -np.inf, normal(3, 7, 8, seed=1), 0)
    solved = dist._solve(arcs)
    assert solved.fine
    log_partition, (marginals, moved) = dist._walk(Dual(arcs, direction))
    np.testing.assert_allclose(log_partition, solved.log_partition, atol=1e-12)
    np.testing.assert_allclose(marginals, solved.marginals, atol=1e-12)
    np.testing.assert_allclose(moved, dist._tangent(solved, arcs, direction), atol=1e-11)


def test_derivatives_where_scores_are_far_apart(single_root):
    arcs = normal(1, 4, 5, scale=20)
    arcs[0, [0, 1], [2, 1]] += 80  # the first two words strongly prefer each other as heads
    dist = SpanningTree(arcs, single_root=single_root)
    assert not dist._solve(dist._possible(dist.arcs)).fine
    weights = normal(1, 4, 5, seed=1)
    for heat in (1.0, 0.02):  # log space, then the linear system

        def loss(arcs, heat=heat):
            return tf.reduce_sum(weights * SpanningTree(heat * arcs, single_root=single_root).marginals)

        assert_slopes(loss, [arcs], 1e-6, directions=2)


def test_best_tree_with_equal_scores(single_root):
    arcs = np.random.default_rng(0).integers(0, 2, size=(40, 4, 5)).astype("float32")
    dist = SpanningTree(arcs, single_root=single_root)
    trees = list(all_trees(4, single_root, projective=False))
    best = [max(row[np.arange(4), tree].sum() for tree in trees) for row in arcs]
    np.testing.assert_array_equal(dist.score(dist.argmax), best)
    assert all(tuple(heads) in trees for heads in dist.argmax.numpy())


def test_samples_where_cycles_are_hard_to_leave(single_root, monkeypatch):
    monkeypatch.setattr(spanning_heads, "ROUNDS", 1)
    dist = SpanningTree(normal(2, 4, 5, dtype="float32"), [4, 3], single_root)
    heads = dist.sample(3000, seed=1).numpy()
    drawn = (heads[..., None] == np.arange(5)).mean(0)
    np.testing.assert_allclose(drawn[0], dist.marginals[0], atol=0.04)
    np.testing.assert_allclose(drawn[1, :3], dist.marginals[1, :3], atol=0.04)
    far = SpanningTree(normal(2, 4, 5, scale=1e3), single_root=single_root)
    np.testing.assert_array_equal(far.sample(2, seed=1), [far.argmax] * 2)


def test_rows_without_a_tree(single_root):
    arcs = np.zeros([3, 3, 4], "float32")
    arcs[0] = -np.inf
    arcs[1, :2, [0, 3]] = -np.inf  # the first two words can only depend on each other
    arcs = tf.constant(arcs)
    with tf.GradientTape() as tape:
        tape.watch(arcs)
        dist = SpanningTree(arcs, single_root=single_root)
        log_partition, marginals = dist.log_partition, dist.marginals
        loss = tf.reduce_sum(marginals**2) + log_partition[2]
    assert np.isneginf(log_partition).tolist() == [True, True, False]
    assert not np.any(marginals[:2])
    assert np.all(np.isfinite(marginals[2]))
    assert np.all(np.isfinite(tape.gradient(loss, arcs)))
    assert not np.any(dist.sample(3, seed=0)[:, :2])
    assert np.all(np.isneginf(dist.score(dist.argmax)[:2]))


def test_a_row_whose_trees_all_have_several_roots():
    never = -np.inf
    dist = SpanningTree(np.array([[[0.0, 0, never], [0.0, never, 0]], np.zeros([2, 3])]))
    np.testing.assert_allclose(dist.log_partition, [never, np.log(2)])
    assert not np.any(dist.marginals[0])
    assert not np.any(dist.sample(2, seed=0)[:, 0])
    np.testing.assert_allclose(SpanningTree(dist.arcs, single_root=False).log_partition, np.log([1, 3]), atol=1e-12)


def test_errors():
    with pytest.raises(ValueError, match=r"arcs: expected 3 axes. Received: shape"):
        SpanningTree(tf.zeros([3, 4]))
    with pytest.raises(ValueError, match=r"arcs: expected \[batch, words, words \+ 1\]"):
        SpanningTree(tf.zeros([2, 3, 3]))
    with pytest.raises(ValueError, match=r"top_k: expected .* Use argmax, sample or ProjectiveTree. Received: k=3"):
        SpanningTree(tf.zeros([2, 3, 4])).top_k(3)


def test_a_row_of_no_words_beside_one_that_is_hard_to_solve():
    """The scores of arcs from the root must not affect a row without words."""
    dist = SpanningTree(normal(2, 3, 4, scale=50), [3, 0])
    log_partition, _ = dist._walk(dist._possible(dist.arcs))
    assert np.isfinite(log_partition[0])
    assert float(log_partition[1]) == 0
