"""Hidden Markov models and sequences of facts, compared with sums over every sequence."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from support.layers import random

from seqattn_tf.structured import fact_chain, hidden_markov


def log_distribution(*shape, seed):
    return np.asarray(tf.nn.log_softmax(random(*shape, seed=seed, dtype="float64")))


def test_hidden_markov_likelihood_and_posterior():
    initial, transitions = log_distribution(3, seed=0), log_distribution(3, 3, seed=1)
    emissions, observed, lengths = log_distribution(3, 4, seed=2), [[0, 3, 1, 2], [2, 2, 0, 0]], [4, 2]
    model = hidden_markov(initial, transitions, emissions, observed, lengths)
    for row, length in enumerate(lengths):
        likelihood, first = 0.0, np.zeros(3)
        for states in itertools.product(range(3), repeat=length):
            p = initial[states[0]] + sum(transitions[pair] for pair in itertools.pairwise(states))
            p = np.exp(p + sum(emissions[z, x] for z, x in zip(states, observed[row], strict=False)))
            likelihood += p
            first[states[0]] += p
        np.testing.assert_allclose(model.log_partition[row], np.log(likelihood))
        np.testing.assert_allclose(model.marginals[row, 0], first / likelihood)


def test_all_observations_together_are_certain():
    parameters = log_distribution(2, seed=0), log_distribution(2, 2, seed=1), log_distribution(2, 3, seed=2)
    everything = list(itertools.product(range(3), repeat=3))
    likelihoods = tf.exp(hidden_markov(*parameters, everything).log_partition)
    np.testing.assert_allclose(tf.reduce_sum(likelihoods), 1.0)


def test_facts_that_are_not_there():
    scores, pairwise = random(3, 2, 4, dtype="float64"), random(3, 4, 4, seed=1, dtype="float64")
    chain = fact_chain(scores, pairwise, facts=[4, 2, 0])
    marginals = chain.marginals.numpy()
    weights = np.exp(scores[1, 0, :2, None] + scores[1, 1, None, :2] + pairwise[1, :2, :2])
    np.testing.assert_allclose(marginals[1, 0], [*(weights.sum(1) / weights.sum()), 0, 0])
    np.testing.assert_allclose(chain.log_partition[1], np.log(weights.sum()))
    np.testing.assert_allclose(marginals.sum(-1), [[1, 1], [1, 1], [0, 0]])
    assert chain.log_partition[2] == 0
    assert np.all(chain.argmax[1] < 2)


def test_observations_are_symbols():
    with pytest.raises(ValueError, match=r"observations: expected integers \[batch, time\]. Received: float32"):
        hidden_markov(tf.zeros([2]), tf.zeros([2, 2]), tf.zeros([2, 3]), tf.zeros([1, 4]))
