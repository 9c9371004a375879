"""Inference without TensorFlow, compared with the enumeration of all structures and with `structured`."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from support.structures import all_trees, crossing_free, heads_without_cycle

from seqattn_tf.lite import numpy_inference
from seqattn_tf.structured import CRF, LinearChain, ProjectiveTree, SpanningTree

LENGTHS = (12, 7, 2, 1, 0)  # of the rows that both implementations process
TREES = {
    "projective": (numpy_inference.projective_heads, numpy_inference.projective_marginals, ProjectiveTree),
    "spanning": (numpy_inference.spanning_heads, numpy_inference.spanning_marginals, SpanningTree),
}


def drawn(*shape, scale=1.0, seed=0, forbid=0.0):
    """Return random normal scores, some of them `-inf`; for a scale of 1e4, uniform scores."""
    rng = np.random.default_rng(seed)
    scores = rng.uniform(-scale, scale, shape) if scale == 1e4 else rng.normal(0.0, scale, shape)
    return np.where(rng.uniform(size=shape) < forbid, -np.inf, scores)


@pytest.fixture(params=[True, False], ids=["single root", "many roots"])
def single_root(request):
    return request.param


@pytest.fixture(params=TREES)
def trees(request):
    return TREES[request.param]


def shares(scores):
    """Return the log-partition and the probabilities of the given structures."""
    log_partition = np.logaddexp.reduce(scores, initial=-np.inf)
    return log_partition, np.exp(scores - (log_partition if log_partition > -np.inf else 0.0))


def score_of(tags, unary, pairwise):
    """Return the score of one sequence."""
    steps = np.broadcast_to(pairwise, (len(tags), *pairwise.shape[-2:])) if pairwise.ndim == 2 else pairwise
    return sum(u[t] for u, t in zip(unary, tags, strict=True)) + sum(
        step[a, b] for step, (a, b) in zip(steps, itertools.pairwise(tags), strict=False)
    )


@pytest.mark.parametrize("forbid", [0.0, 0.3])
@pytest.mark.parametrize("each_step", [False, True])
@pytest.mark.parametrize("time", range(5))
def test_chains_against_all_of_them(time, each_step, forbid):
    unary = drawn(time, 3, seed=time, forbid=forbid)
    pairwise = drawn(*[max(time - 1, 0)] * each_step, 3, 3, seed=9, forbid=forbid)
    sequences = list(itertools.product(range(3), repeat=time))
    scores = np.array([score_of(tags, unary, pairwise) for tags in sequences], np.float64)
    order = [n for n in np.argsort(-scores) if scores[n] > -np.inf]
    for k in (1, 4, 1000):
        tags, found = numpy_inference.best_chains(unary, pairwise, k)
        assert tags.dtype == np.int32
        assert tags.shape == (min(k, len(order)), time)
        assert [sequences.index((*row,)) for row in tags.tolist()] == order[:k]
        np.testing.assert_allclose(found, scores[order[:k]], rtol=1e-12)
    log_partition, probabilities = shares(scores)
    expected = np.zeros([time, 3])
    for tags, probability in zip(sequences, probabilities, strict=True):
        expected[range(time), tags] += probability
    found, marginals = numpy_inference.chain_marginals(unary, pairwise)
    np.testing.assert_allclose(found, log_partition, atol=1e-12)
    np.testing.assert_allclose(marginals, expected, atol=1e-12)


@pytest.mark.parametrize("forbid", [0.0, 0.2])
@pytest.mark.parametrize("words", range(5))
def test_trees_against_all_of_them(words, forbid, single_root, trees):
    best, infer, kind = trees
    arcs = drawn(words, words + 1, seed=words, forbid=forbid)
    arcs[range(words), range(1, words + 1)] = [np.nan, 1e9, np.inf, 5.0][:words]  # must be ignored
    every = list(all_trees(words, single_root, kind is ProjectiveTree))
    scores = np.array([arcs[range(words), heads].sum() for heads in every])
    log_partition, probabilities = shares(scores)
    expected = np.zeros([words, words + 1])
    for heads, probability in zip(every, probabilities, strict=True):
        expected[range(words), heads] += probability
    before = arcs.copy()
    heads = best(arcs, single_root)
    assert heads.dtype == np.int32
    assert (*heads.tolist(),) == every[scores.argmax()] or log_partition == -np.inf
    found, marginals = infer(arcs, single_root)
    np.testing.assert_allclose(found, log_partition, atol=1e-12)
    np.testing.assert_allclose(marginals, expected, atol=1e-12)
    np.testing.assert_array_equal(arcs, before)


def test_equal_scores_give_different_chains_first_tags_first():
    tags, scores = numpy_inference.best_chains(np.zeros([3, 2]), np.zeros([2, 2]), 8)
    assert tags[0].tolist() == [0, 0, 0]
    assert len({(*row,) for row in tags.tolist()}) == 8
    assert not scores.any()


def test_equal_scores_give_a_tree(single_root, trees):
    best, infer, kind = trees
    heads = best(np.zeros([6, 7]), single_root).tolist()
    assert heads_without_cycle(heads)
    assert heads.count(0) == 1 or not single_root
    assert crossing_free(heads) or kind is SpanningTree
    np.testing.assert_allclose(infer(np.zeros([6, 7]), single_root)[1].sum(1), 1)


def test_no_chain():
    for unary, pairwise in (
        (np.full([3, 2], -np.inf), np.zeros([2, 2])),
        (np.zeros([3, 2]), np.full([2, 2], -np.inf)),
    ):
        tags, scores = numpy_inference.best_chains(unary, pairwise, 2)
        assert (tags.shape, scores.shape) == ((0, 3), (0,))
        log_partition, marginals = numpy_inference.chain_marginals(unary, pairwise)
        assert log_partition == -np.inf
        np.testing.assert_array_equal(marginals, np.zeros([3, 2]))


def test_no_tree(single_root, trees):
    best, infer, kind = trees
    no_root, no_head = np.zeros([4, 5]), np.zeros([4, 5])
    no_root[:, 0] = no_head[1] = -np.inf
    for arcs in (no_root, no_head, np.full([4, 5], -np.inf)):
        log_partition, marginals = infer(arcs, single_root)
        assert log_partition == -np.inf
        np.testing.assert_array_equal(marginals, np.zeros([4, 5]))
        heads = best(arcs, single_root).tolist()
        assert heads_without_cycle(heads)
        if kind is SpanningTree:
            assert heads == kind(arcs[None], single_root=single_root).argmax[0].numpy().tolist()


def test_no_tree_with_one_root(trees):
    _, infer, _ = trees
    arcs = np.full([4, 5], -np.inf)
    arcs[:, 0] = 0.0
    log_partition, marginals = infer(arcs, single_root=True)
    assert log_partition == -np.inf
    assert not marginals.any()
    log_partition, marginals = infer(arcs, single_root=False)
    assert log_partition == pytest.approx(0)
    np.testing.assert_allclose(marginals[:, 0], 1)


def check_chains(chain, unary, pairwise, lengths):
    """Compare every row with the distribution over all rows."""
    best, (ranked, scores) = chain.argmax.numpy(), chain.top_k(4)
    log_partition, marginals = chain.log_partition.numpy(), chain.marginals.numpy()
    for row, length in enumerate(lengths):
        each = unary[row, :length], pairwise if pairwise.ndim == 2 else pairwise[row, : max(length - 1, 0)]
        tags, found = numpy_inference.best_chains(*each, k=4)
        assert tags[0].tolist() == best[row, :length].tolist()
        assert tags.tolist() == ranked[row, : len(tags), :length].numpy().tolist()
        np.testing.assert_allclose(found, scores[row, : len(tags)], rtol=1e-12, atol=1e-12)
        assert np.all(np.isneginf(scores[row, len(tags) :]))
        assert numpy_inference.best_chains(*each)[0].tolist() == tags[:1].tolist()
        found, shares = numpy_inference.chain_marginals(*each)
        np.testing.assert_allclose(found, log_partition[row], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(shares, marginals[row, :length], atol=1e-10)


@pytest.mark.parametrize("scale", [1, 10, 1e4])
def test_chains_are_those_of_structured(scale):
    unary = drawn(5, 12, 6, scale=scale, seed=1)
    pairwise = drawn(6, 6, scale=scale, seed=2, forbid=0.1)
    check_chains(LinearChain(unary, pairwise, LENGTHS), unary, pairwise, LENGTHS)
    pairwise = drawn(5, 11, 6, 6, scale=scale, seed=3)
    check_chains(LinearChain(unary, pairwise, LENGTHS), unary, pairwise, LENGTHS)


def test_chains_are_those_of_a_crf_with_a_scheme():
    crf = CRF(["O", "B-X", "I-X", "B-Y", "I-Y"], scheme="BIO", use_kernel=False, transition_initializer="normal")
    crf.build((None, None, 5))
    crf.start.assign([0.5, -1.0, 3.0, 1.0, 3.0])
    crf.end.assign([-1.0, 0.5, 0.0, 2.0, 1.0])
    lengths = LENGTHS[:-1]
    mask = np.arange(12) < np.array(lengths)[:, None]
    chain = crf.distribution(drawn(4, 12, 5, seed=4), mask)
    check_chains(chain, chain.unary.numpy(), chain.pairwise.numpy(), lengths)


def check_trees(arcs, lengths, single_root, trees, error):
    """Compare every row with the distribution over all rows."""
    best, infer, kind = trees
    dist = kind(arcs, lengths, single_root)
    log_partition, (marginals,) = dist._rules.infer(*dist._scores)  # computes both at once
    heads, marginals = dist.argmax.numpy(), marginals.numpy()
    assert np.all(log_partition > -np.inf)
    for row, length in enumerate(lengths):
        mine = arcs[row, :length, : length + 1]
        assert best(mine, single_root).tolist() == heads[row, :length].tolist()
        found, shares = infer(mine, single_root)
        np.testing.assert_allclose(found, log_partition[row], rtol=1e-13, atol=1e-12)
        np.testing.assert_allclose(shares, marginals[row, :length, : length + 1], atol=error)


def test_trees_are_those_of_structured(single_root, trees):
    cases = [{"scale": 1}, {"scale": 1, "forbid": 0.15}, {"scale": 10}, {"scale": 1e4}]
    arcs = np.concatenate([drawn(5, 12, 13, seed=5, **case) for case in cases])
    arcs[:, range(12), range(1, 13)] = 1e9
    check_trees(arcs, LENGTHS * len(cases), single_root, trees, 1e-10)


def test_long_trees_of_wide_scores(single_root):
    arcs = np.stack([drawn(40, 41, scale=scale, seed=6) for scale in (1, 10, 100)])
    check_trees(arcs, (40, 40, 40), single_root, TREES["spanning"], 2e-11)


def test_both_ways_to_marginals_of_spanning_trees_agree():
    arcs = numpy_inference._arcs(drawn(40, 41, seed=7))
    solved, walked = numpy_inference._solved(arcs, single_root=False), numpy_inference._walked(arcs)
    np.testing.assert_allclose(solved[0], walked[0], rtol=1e-13)
    np.testing.assert_allclose(solved[1], walked[1], atol=1e-12)
    assert numpy_inference._solved(arcs, single_root=True) is not None
    assert numpy_inference._solved(numpy_inference._arcs(drawn(40, 41, scale=100, seed=6)), single_root=True) is None


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"unary: expected \[time, tags\].* Received: shape \(3,\)"):
        numpy_inference.best_chains(np.zeros(3), np.zeros([3, 3]))
    with pytest.raises(ValueError, match=r"unary: expected .* one tag or more. Received: shape \(3, 0\)"):
        numpy_inference.chain_marginals(np.zeros([3, 0]), np.zeros([0, 0]))
    for shape in ((3, 2), (3, 2, 2)):
        with pytest.raises(ValueError, match=r"pairwise: expected shape \(2, 2\) or \(2, 2, 2\). Received: \(3, 2"):
            numpy_inference.chain_marginals(np.zeros([3, 2]), np.zeros(shape))
    for k in (0, 1.0):
        with pytest.raises(ValueError, match=f"k: expected a positive integer. Received: {k}"):
            numpy_inference.best_chains(np.zeros([3, 2]), np.zeros([2, 2]), k)
    for function in itertools.chain.from_iterable(pair[:2] for pair in TREES.values()):
        with pytest.raises(ValueError, match=r"arcs: expected \[words, words \+ 1\].* Received: shape \(3, 3\)"):
            function(np.zeros([3, 3]))


def test_numpy_is_all_it_loads():
    code = "import sys, seqattn_tf.lite.numpy_inference; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert {"numpy", "seqattn_tf"} <= loaded
    assert not loaded & {"tensorflow", "keras", "scipy"}
