"""Other parametrizations of a chain: hidden Markov models and sequences of facts."""

from typing import Any

import tensorflow as tf

from seqattn_tf.core.masking import length_mask
from seqattn_tf.structured.base import as_lengths, floats
from seqattn_tf.structured.chain import LinearChain


def hidden_markov(
    initial: Any, transitions: Any, emissions: Any, observations: Any, lengths: Any = None, method: str = "auto"
) -> LinearChain:
    """Return the distribution over the states of a hidden Markov model given observations.

    All parameters are log-probabilities. The log-partition is the log-likelihood of the observations.

    Args:
        initial: The log-probabilities of the first state, `[states]`.
        transitions: The log-probabilities of transitions from row to column, `[states, states]`.
        emissions: The log-probabilities of every symbol in every state, `[states, symbols]`.
        observations: The observed symbols, integers `[batch, time]`.
        lengths: The lengths `[batch]`. Defaults to the full length for every row.
        method: As in `LinearChain`.

    >>> fair = tf.math.log([[0.5, 0.5], [0.5, 0.5]])
    >>> model = hidden_markov(fair[0], fair, fair, [[0, 1, 1]])
    >>> round(float(tf.exp(model.log_partition[0])), 3)  # three tosses of a coin
    0.125
    """
    initial, transitions = floats(initial, "initial", 1), floats(transitions, "transitions", 2)
    emissions, observations = floats(emissions, "emissions", 2), tf.convert_to_tensor(observations)
    if not observations.dtype.is_integer or observations.shape.rank != 2:
        raise ValueError(
            f"observations: expected integers [batch, time]. Received: {observations.dtype.name} {observations.shape}"
        )
    seen = tf.gather(tf.transpose(emissions), observations)  # [batch, time, states]
    first = (tf.range(tf.shape(seen)[1]) == 0)[None, :, None]
    return LinearChain(tf.where(first, seen + initial, seen), transitions, lengths, method)


def fact_chain(scores: Any, pairwise: Any, facts: Any = None, method: str = "auto") -> LinearChain:
    """Return the distribution over sequences of facts, one per step, as in attention over a story in several hops.

    Args:
        scores: The log-potential of every fact at every step, `[batch, steps, facts]`.
        pairwise: The log-potentials of consecutive facts: `[facts, facts]`, `[batch, facts, facts]` or
            `[batch, steps - 1, facts, facts]`.
        facts: The number of facts in each row, `[batch]`. Defaults to all. Rows without facts have the empty sequence.
        method: As in `LinearChain`.

    >>> chain = fact_chain(tf.zeros([1, 2, 3]), tf.zeros([3, 3]), facts=[2])
    >>> chain.marginals.numpy().tolist()  # two steps, each over the two existing facts
    [[[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]]
    """
    scores = floats(scores, "scores", 3)
    counts = as_lengths(facts, scores, tf.shape(scores)[2])
    known = length_mask(counts, tf.shape(scores)[2])[:, None]
    steps = tf.where(counts > 0, tf.shape(scores)[1], 0)
    forbidden = tf.constant(-float("inf"), scores.dtype)
    return LinearChain(tf.where(known, scores, forbidden), pairwise, None if facts is None else steps, method)
