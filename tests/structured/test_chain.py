"""Linear chains against every sequence of states."""

import itertools

import numpy as np
import pytest
from support.structures import ExactTests, Row

from seqattn_tf.structured import LinearChain

STATES, TIMES = 3, 5


class ChainTests(ExactTests):
    """`pairwise` may be shared, of a row, or of a step."""

    method = "scan"

    def draw(self, dtype, seed):
        rng = np.random.default_rng(seed)
        return [rng.normal(size=s).astype(dtype) for s in ((4, TIMES, STATES), self.pairwise_shape)]

    def build(self, unary, pairwise, lengths=None):
        return LinearChain(unary, pairwise, lengths, method=self.method)

    def enumerate_row(self, length, scores, row):
        unary, pairwise = scores
        structures, parts = [], []
        for states in itertools.product(range(STATES), repeat=length):
            nodes, edges = np.zeros((TIMES, STATES)), np.zeros((TIMES - 1, STATES, STATES))
            nodes[np.arange(length), list(states)] = 1
            for t, pair in enumerate(itertools.pairwise(states)):
                edges[t][pair] = 1
            structures.append([np.pad(np.array(states, int), (0, TIMES - length))])
            parts.append([nodes, edges if pairwise.ndim == 4 else edges.sum(0)])
        return Row(structures, parts, [unary[row], pairwise if pairwise.ndim == 2 else pairwise[row]])

    def spoil(self, scores):
        for row, length in enumerate(self.lengths):
            scores[0][row, length:] = np.nan
            if scores[1].ndim == 4:
                scores[1][row, max(length - 1, 0) :] = np.nan
        return scores

    def forbid(self, scores):
        scores[0][0, 1, 2] = scores[1][..., 0, 1] = scores[1][..., 2, 2] = -np.inf
        return scores


class TestStepTransitions(ChainTests):
    pairwise_shape = (4, TIMES - 1, STATES, STATES)

    def test_edge_marginals(self):
        _, chain, rows = self.case()
        edges = chain.edge_marginals.numpy()
        self.near(edges, self.expected_marginals(rows, 1, edges.shape), "float64")


class TestStepTransitionsByPrefix(TestStepTransitions):
    method = "prefix"

    def test_everything_compiled_and_with_unknown_shapes(self):
        with pytest.raises(ValueError, match="expected 'scan' or 'auto' for an unknown length"):
            super().test_everything_compiled_and_with_unknown_shapes()


class TestSharedTransitions(ChainTests):
    pairwise_shape = (STATES, STATES)


class TestSharedTransitionsByPrefix(TestSharedTransitions):
    method = "prefix"

    def test_everything_compiled_and_with_unknown_shapes(self):
        pytest.skip("as above")


class TestRowTransitions(ChainTests):
    pairwise_shape = (4, STATES, STATES)
