"""Linear chains: sequences of states with scores for every state and every transition.

score(z) = sum_t unary[t, z[t]] + sum_t pairwise[t, z[t], z[t+1]]
"""

import functools
from typing import Any

import tensorflow as tf

from seqattn_tf.core.scan import has_accelerator, size_of
from seqattn_tf.structured import contraction, exact, forward_backward, paths
from seqattn_tf.structured.base import (
    Ranked,
    Structured,
    as_lengths,
    at_least,
    check_k,
    floats,
    two_seeds,
)
from seqattn_tf.structured.forward_backward import Chain
from seqattn_tf.structured.semirings import Dual

_METHODS = ("auto", "scan", "prefix")


def _prefix_pays(states: int | None, positions: int | None) -> bool:
    """Return whether logarithmic depth beats a loop over time: for two states, and for more on a GPU."""
    if states is None or positions is None or positions < 2:
        return False
    return states <= (64 if has_accelerator() else 2)


class LinearChain(Structured):
    """A distribution over sequences of states, such as a conditional random field or a hidden Markov model.

    Args:
        unary: The log-potentials of states, `[batch, time, states]`.
        pairwise: The log-potentials of transitions: `[states, states]` for all, `[batch, states, states]` for each row,
            or `[batch, time - 1, states, states]` for each step; `pairwise[..., i, j]` scores `i` followed by `j`.
        lengths: The lengths `[batch]`. Defaults to the full length for every row.
        method: `"scan"` loops over time. `"prefix"` multiplies transitions in pairs, in logarithmic depth, and requires
            a static length. `"auto"` chooses by the device of this machine and the number of states; specify the method
            if the program is to run on another device.

    Structures are states `[batch, time]`.

    >>> unary = tf.math.log([[[0.6, 0.4], [0.1, 0.9]]])
    >>> chain = LinearChain(unary, tf.zeros([2, 2]))
    >>> chain.argmax.numpy().tolist()
    [[0, 1]]
    >>> chain.marginals.numpy().round(3).tolist()
    [[[0.6000000238418579, 0.4000000059604645], [0.10000000149011612, 0.8999999761581421]]]
    """

    def __init__(self, unary: Any, pairwise: Any, lengths: Any = None, method: str = "auto") -> None:
        self.unary = floats(unary, "unary", 3)
        self.pairwise = floats(pairwise, "pairwise", (2, 3, 4))
        if self.unary.dtype != self.pairwise.dtype:
            raise ValueError(
                f"pairwise: expected {self.unary.dtype.name}, the dtype of unary. Received: {self.pairwise.dtype.name}"
            )
        batch, times, states = self.unary.shape
        expected = [batch, None if times is None else max(times - 1, 0), states, states]
        expected = {2: expected[2:], 3: [batch, *expected[2:]], 4: expected}[self.pairwise.shape.rank]
        if not self.pairwise.shape.is_compatible_with(expected):
            raise ValueError(f"pairwise: expected shape {expected}. Received: {self.pairwise.shape.as_list()}")
        if method not in _METHODS:
            raise ValueError(f"method: expected one of {_METHODS}. Received: {method!r}")
        if method == "prefix" and times is None:
            raise ValueError(f"method: expected 'scan' or 'auto' for an unknown length. Received: {method!r}")
        if method == "auto":
            method = "prefix" if _prefix_pays(states, times) else "scan"
        self.method = "scan" if times in (0, 1) else method
        self.positions = size_of(self.unary, 1)
        self.lengths = as_lengths(lengths, self.unary, self.positions)
        self._full = lengths is None and bool(times)  # an unknown number of positions may be 0
        self.unary = at_least(1, self.unary)

    def _chain(self, unary: Any, pairwise: Any) -> Chain:
        return Chain(unary, pairwise, None if self._full else self.lengths)

    @property
    def _scores(self) -> tuple[tf.Tensor, tf.Tensor]:
        chain = self._chain(self.unary, self.pairwise)
        if self.pairwise.shape.rank == 4:
            return chain.nodes_only(self.unary), chain.edges_only(self.pairwise)
        batch, states = tf.shape(self.unary)[0], self.unary.shape[2] or tf.shape(self.unary)[2]
        return chain.nodes_only(self.unary), tf.broadcast_to(self.pairwise, [batch, states, states])

    @property
    def _rules(self) -> exact.Rules:
        posterior = (contraction if self.method == "prefix" else forward_backward).posterior
        taped = contraction.posterior if self.method == "prefix" else forward_backward.log_posterior

        def infer(unary: tf.Tensor, pairwise: tf.Tensor) -> tuple[tf.Tensor, exact.Tensors]:
            found = posterior(self._chain(unary, pairwise))
            return found.log_partition, (found.nodes, found.edges)

        def moved(posterior: Any, scores: exact.Tensors, directions: exact.Tensors) -> exact.Tensors:
            found = posterior(self._chain(*map(Dual, scores, directions)))
            return found.nodes, found.edges

        return exact.Rules(infer, functools.partial(moved, posterior), functools.partial(moved, taped))

    @property
    def edge_marginals(self) -> tf.Tensor:
        """The pairwise marginals `p(z[t] = i, z[t+1] = j)`: `[batch, time - 1, states, states]`."""
        if self.pairwise.shape.rank == 4:
            return exact.infer(self._rules, *self._scores)[1][1]  # a position that was added has no edge
        batch, times, states = tf.unstack(tf.shape(self.unary))
        pairwise = self.pairwise if self.pairwise.shape.rank == 2 else self.pairwise[:, None]
        pairwise = tf.broadcast_to(pairwise, [batch, times - 1, states, states])
        lengths = None if self._full else self.lengths
        return LinearChain(self.unary, pairwise, lengths, self.method).edge_marginals

    @property
    def argmax(self) -> tf.Tensor:
        """The best states, `int32 [batch, time]`, by the Viterbi algorithm."""
        return self._cut(paths.best_path(self._chain(*self._scores)))

    def top_k(self, k: int) -> Ranked:
        """Return the `k` best sequences, `int32 [batch, k, time]`, and their scores."""
        structures, scores = paths.best_paths(self._chain(*self._scores), check_k(k))
        return Ranked(self._cut(structures), scores)

    def sample(self, n: int, seed: Any) -> tf.Tensor:
        """Draw `n` sequences for every row, `int32 [n, batch, time]`."""
        return self._cut(paths.drawn_paths(self._chain(*self._scores), n, two_seeds(seed)))

    def score(self, structure: Any) -> tf.Tensor:
        """Return the score `[batch]` of the states `[batch, time]`: the sum of their log-potentials."""
        states = self._checked(structure, "states")
        chain = self._chain(*self._scores)
        nodes = chain.nodes_only(tf.gather(chain.unary, states, axis=2, batch_dims=2))
        pairwise = chain.pairwise[:, None] if chain.constant else chain.pairwise
        size = tf.shape(pairwise)[2]
        pairs = tf.reshape(pairwise, [tf.shape(pairwise)[0], -1, size * size])
        places = states[:, :-1] * size + states[:, 1:]
        if chain.constant:
            edges = tf.gather(pairs[:, 0], places, axis=1, batch_dims=1)
        else:
            edges = tf.gather(pairs, places, axis=2, batch_dims=2)
        return tf.reduce_sum(nodes, 1) + tf.reduce_sum(chain.edges_only(edges), 1)
