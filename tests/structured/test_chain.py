"""Linear chains compared with every sequence of states."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from support.gradients import assert_slopes
from support.structures import ExactTests, Row

from seqattn_tf.structured import LinearChain

STATES, TIMES = 3, 5


class ChainTests(ExactTests):
    """`pairwise` may be shared, or differ for each row or step."""

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
    known = (1, 2, 3)


class TestSharedTransitions(ChainTests):
    pairwise_shape = (STATES, STATES)

    def test_gradient_of_entropy_and_divergence(self):
        """Tested once for all structures, because they share the formulas."""
        scores, others = self.draw("float64", 2), self.draw("float64", 3)

        def loss(*scores):
            dist, other = (self.build(*some, lengths=np.array(self.lengths)) for some in (scores[:2], scores[2:]))
            return tf.reduce_sum(tf.sin(dist.entropy)) + tf.reduce_sum(tf.cos(dist.kl(other)))

        assert_slopes(loss, [*scores, *others], directions=2)


class TestSharedTransitionsByPrefix(TestSharedTransitions):
    method = "prefix"
    known = (1, 2)
    test_gradient_through_marginals = test_samples_are_reproducible_eager_and_compiled = None  # as above
    test_gradient_of_entropy_and_divergence = None


class TestRowTransitions(ChainTests):
    pairwise_shape = (4, STATES, STATES)
    test_everything_compiled_and_with_unknown_shapes = None  # equals shared scores once they are repeated for every row
    test_gradient_through_marginals = test_samples_are_reproducible_eager_and_compiled = None


def test_prefix_needs_a_known_length():
    @tf.function(input_signature=[tf.TensorSpec([None, None, 2])])
    def chain(unary):
        return LinearChain(unary, tf.zeros([2, 2]), method="prefix").log_partition

    with pytest.raises(ValueError, match="expected 'scan' or 'auto' for an unknown length"):
        chain(tf.zeros([1, 3, 2]))


def test_the_method_follows_the_number_of_states():
    assert LinearChain(tf.zeros([1, 4, 2]), tf.zeros([2, 2])).method == "prefix"
    assert LinearChain(tf.zeros([1, 1, 2]), tf.zeros([2, 2])).method == "scan"
    assert LinearChain(tf.zeros([1, 4, 2]), tf.zeros([2, 2]), method="scan").method == "scan"
    many = LinearChain(tf.zeros([1, 4, 64]), tf.zeros([64, 64]))
    assert many.method == "scan"


def test_one_position():
    chain = LinearChain(tf.math.log([[[0.25, 0.75]]]), tf.zeros([1, 0, 2, 2]))
    np.testing.assert_allclose(chain.marginals, [[[0.25, 0.75]]], rtol=1e-6)
    np.testing.assert_allclose(chain.log_partition, [0.0], atol=1e-6)
    assert chain.edge_marginals.shape == (1, 0, 2, 2)
    assert chain.argmax.numpy().tolist() == [[1]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([2, 3], [3, 3]), "unary: expected 3 axes. Received: shape"),
        (([2, 3, 4], [4]), "pairwise: expected 2 or 3 or 4 axes"),
        (([2, 3, 4], [3, 3]), r"pairwise: expected shape \[4, 4\]. Received: \[3, 3\]"),
        (([2, 3, 4], [2, 3, 4, 4]), r"pairwise: expected shape \[2, 2, 4, 4\]"),
        (([2, 0, 4], [2, 1, 4, 4]), r"pairwise: expected shape \[2, 0, 4, 4\]"),
    ],
)
def test_wrong_shapes(arguments, message):
    with pytest.raises(ValueError, match=message):
        LinearChain(*map(tf.zeros, arguments))


def test_other_wrong_arguments():
    unary, pairwise = tf.zeros([2, 3, 4]), tf.zeros([4, 4])
    with pytest.raises(ValueError, match="lengths: expected integers"):
        LinearChain(unary, pairwise, [1.0, 2.0])
    with pytest.raises(ValueError, match="lengths: expected one for each row"):
        LinearChain(unary, pairwise, [1, 2, 3])
    with pytest.raises(ValueError, match="method: expected one of"):
        LinearChain(unary, pairwise, method="fast")
    with pytest.raises(ValueError, match=r"unary: expected floating-point scores. Received: int32"):
        LinearChain(tf.zeros([2, 3, 4], tf.int32), pairwise)
    with pytest.raises(ValueError, match=r"pairwise: expected float32, the dtype of unary. Received: float64"):
        LinearChain(unary, tf.cast(pairwise, tf.float64))
    with pytest.raises(ValueError, match="states: expected integers"):
        LinearChain(unary, pairwise).log_prob(tf.zeros([2, 4], tf.int32))
    with pytest.raises(ValueError, match="seed: expected one integer or two"):
        LinearChain(unary, pairwise).sample(1, seed=0.5)
    with pytest.raises(ValueError, match=r"kl: expected a LinearChain. Received: int"):
        LinearChain(unary, pairwise).kl(3)
    with pytest.raises(ValueError, match="kl: expected scores"):
        LinearChain(unary, pairwise).kl(LinearChain(unary, tf.zeros([2, 2, 4, 4])))
