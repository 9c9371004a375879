"""Single paths through a chain, compared with a loop over every path."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.structured.forward_backward import Chain
from seqattn_tf.structured.paths import best_path, best_paths, drawn_paths

TIMES, STATES, LENGTHS = 3, 3, [3, 2, 0]
RANDOM = np.random.default_rng(0)
UNARY = RANDOM.normal(size=(3, TIMES, STATES)).astype("float32")
PAIRWISE = {
    "constant": np.broadcast_to(RANDOM.normal(size=(STATES, STATES)), (3, STATES, STATES)).astype("float32"),
    "by step": RANDOM.normal(size=(3, TIMES - 1, STATES, STATES)).astype("float32"),
}


def every_path(row, pairwise):
    """Return all paths of a row with their scores, best first."""
    length = LENGTHS[row]
    found = []
    for path in itertools.product(range(STATES), repeat=length):
        score = sum(UNARY[row, t, state] for t, state in enumerate(path))
        for t, (one, other) in enumerate(itertools.pairwise(path)):
            score += pairwise[row, one, other] if pairwise.ndim == 3 else pairwise[row, t, one, other]
        found.append((score, [*path, *[0] * (TIMES - length)]))
    return sorted(found, reverse=True)


@pytest.fixture(params=PAIRWISE)
def case(request):
    pairwise = PAIRWISE[request.param]
    return Chain(tf.constant(UNARY), tf.constant(pairwise), tf.constant(LENGTHS)), pairwise


def test_the_best_path_is_the_best_of_all(case):
    chain, pairwise = case
    assert best_path(chain).numpy().tolist() == [every_path(row, pairwise)[0][1] for row in range(3)]


def test_the_k_best_come_in_order_and_where_there_are_fewer_the_score_says_so(case):
    chain, pairwise = case
    paths, scores = best_paths(chain, 12)
    for row in range(3):
        expected = every_path(row, pairwise)[:12]
        assert paths[row, : len(expected)].numpy().tolist() == [path for _, path in expected]
        np.testing.assert_allclose(scores[row, : len(expected)], [score for score, _ in expected], rtol=1e-4)
        assert (scores[row, len(expected) :].numpy() == -np.inf).all()


def test_paths_are_drawn_by_their_probability(case):
    chain, pairwise = case
    drawn = drawn_paths(chain, 2000, tf.constant([1, 2])).numpy()
    for row in range(3):
        scores, paths = zip(*every_path(row, pairwise), strict=True)
        probabilities = np.exp(scores - np.logaddexp.reduce(scores))
        shares = [(drawn[:, row] == path).all(axis=1).mean() for path in paths]
        np.testing.assert_allclose(shares, probabilities, atol=0.05)
