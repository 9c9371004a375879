"""Memory networks: several rounds of attention to a set of facts, in sequence or jointly as one chain."""

import itertools
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.base import Alignment, Attention, Memory
from seqattn_tf.core.layer import Composed
from seqattn_tf.core.linear import linear
from seqattn_tf.core.masking import bounded, masked_values, widen, zero_masked
from seqattn_tf.core.registry import check_count
from seqattn_tf.structured.chain import LinearChain

_TYINGS = ("adjacent", "layerwise")


class FactLayer(Composed):
    """The base class of layers that attend to facts several times, with trainable maps and age embeddings.

    Args:
        hops: The number of rounds.
        temporal: The number of ages, counted from the most recent fact, that have a trainable embedding; 0 if facts
            have no order.
        noise: In training, the probability that an empty fact follows a fact, which makes that fact and all earlier
            ones one step older.
    """

    def __init__(self, hops: int, temporal: int, noise: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not 0 <= noise < 1:
            raise ValueError(f"noise: expected a fraction in [0, 1). Received: {noise!r}")
        if not isinstance(temporal, int) or temporal < 0:
            raise ValueError(f"temporal: expected a number of facts, 0 or more. Received: {temporal!r}")
        self.hops, self.temporal, self.noise = check_count("hops", hops), temporal, noise
        self.generator = keras.random.SeedGenerator() if noise else None

    def add_maps(self, count: int, features: int, units: int) -> None:
        """Create the maps of the facts and the embeddings of their ages."""
        self.kernels = [self.add_weight(name=f"kernel_{i}", shape=(features, units)) for i in range(count)]
        if self.temporal:
            self.ages = [self.add_weight(name=f"ages_{i}", shape=(self.temporal, units)) for i in range(count)]

    def mapped(
        self, query: tf.Tensor, facts: tf.Tensor, mask: tf.Tensor | None, training: bool = False
    ) -> tuple[list[tf.Tensor], tf.Tensor]:
        """Apply each map to the facts: a list of tensors `[batch, facts, units]`, and the mask of the facts."""
        if query.shape.rank != 2 or facts.shape.rank != 3:
            raise ValueError(
                f"query, facts: expected [batch, units] and [batch, facts, features]. "
                f"Received shapes: {query.shape}, {facts.shape}"
            )
        facts, mask = masked_values(facts, mask)
        found = [linear(facts, kernel) for kernel in self.kernels]
        if self.temporal:
            age = tf.cumsum(tf.cast(mask, tf.int32), axis=1, reverse=True, exclusive=True)
            if training and self.noise:
                empty = mask & (keras.random.uniform(tf.shape(mask), seed=self.generator) < self.noise)
                age += tf.cumsum(tf.cast(empty, tf.int32), axis=1, reverse=True)
            age = tf.minimum(age, self.temporal - 1)
            found = [x + tf.gather(tf.cast(table, x.dtype), age) for x, table in zip(found, self.ages, strict=True)]
        return [zero_masked(x, mask) for x in found], mask

    def compute_output_shape(self, query_shape: Any, facts_shape: Any) -> tuple[tuple, tuple]:
        return tuple(query_shape), (query_shape[0], self.hops, facts_shape[1])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "hops": self.hops, "temporal": self.temporal, "noise": self.noise}


@keras.saving.register_keras_serializable("seqattn_tf")
class MemoryHops(FactLayer):
    """An end-to-end memory network: `hops` rounds of attention over facts (Sukhbaatar et al., 2015).

        alpha^k = align(u^k . A^k x_j)        o^k = sum_j alpha^k_j C^k x_j        u^{k+1} = u^k + o^k

    Args:
        hops: The number of rounds.
        tying: `"adjacent"`: the values of one round are the keys of the next, `A^{k+1} = C^k`. `"layerwise"`: all
            rounds share `A` and `C`, and `u^{k+1} = H u^k + o^k`.
        align: An `Alignment` or its name.
        temporal: The number of ages, counted from the most recent fact, that have a trainable embedding. It is added to
            `A x_j` and `C x_j`; all older facts share the last embedding. 0 if facts have no order.
        noise: In training, the probability that an empty fact follows a fact, which makes that fact and all earlier
            ones one step older (the "random noise" of the paper).

    Call arguments:
        query: The first query `u^1`, `[batch, units]`.
        facts: The facts `[batch, facts, features]`, oldest first.
        mask: The mask of the facts, `[batch, facts]`, True = keep.
        straight: Whether to use the scores themselves as weights, as a bool or a scalar tensor. Training that starts
            this way finds better optima (the "linear start" of the paper).

    Returns `(u after the last round [batch, units], weights [batch, hops, facts])`.

    >>> answer, weights = MemoryHops(3)(tf.ones([2, 8]), tf.ones([2, 5, 6]))
    >>> answer.shape.as_list(), weights.shape.as_list()
    ([2, 8], [2, 3, 5])
    """

    parts = ("align",)

    def __init__(
        self,
        hops: int = 3,
        tying: str = "adjacent",
        align: str | Alignment = "softmax",
        temporal: int = 0,
        noise: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(hops, temporal, noise, **kwargs)
        if tying not in _TYINGS:
            raise ValueError(f"tying: expected one of {_TYINGS}. Received: {tying!r}")
        self.tying = tying
        self.attention = Attention("dot", align, dtype=self.dtype_policy)

    @property
    def align(self) -> Alignment:
        """The alignment that turns scores into weights."""
        return self.attention.align

    def build(self, query_shape: Any, facts_shape: Any) -> None:
        """Create the maps of the facts, the embeddings of their ages and, for layer-wise tying, `H`."""
        units, features = query_shape[-1], facts_shape[-1]
        self.attention.build((None, units), (None, None, units))
        self.add_maps(self.hops + 1 if self.tying == "adjacent" else 2, features, units)
        if self.tying == "layerwise":
            self.query_kernel = self.add_weight(name="query_kernel", shape=(units, units))
        self.built = True

    def call(
        self,
        query: tf.Tensor,
        facts: tf.Tensor,
        mask: tf.Tensor | None = None,
        straight: bool | tf.Tensor = False,
        training: bool = False,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Run all rounds: `[batch, units], [batch, facts, features] -> ([batch, units], [batch, hops, facts])`."""
        mapped, mask = self.mapped(query, facts, mask, training)
        state, looks = self.attention.initial_state(Memory(mapped[0], mapped[0], mask)), []
        for hop in range(self.hops):
            first = hop if self.tying == "adjacent" else 0
            memory = Memory(mapped[first], mapped[first + 1], mask)
            found, weights, after = self.attention.attend(query, memory, state, training)
            if straight is not False:
                weights = tf.where(straight, self.attention.logits(query, memory, state), weights)
                found = self.attention.read(weights, memory.values, query)
            query = found + (query if self.tying == "adjacent" else linear(query, self.query_kernel))
            looks.append(weights)
            state = after
        return query, tf.stack(looks, axis=1)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "tying": self.tying}


@keras.saving.register_keras_serializable("seqattn_tf")
class MemoryChain(FactLayer):
    """All rounds at once: the marginals of a chain of `hops` facts (Kim et al., 2017).

        p(z) ~ exp(sum_k u^k . A^k x_{z_k} + sum_k A^k x_{z_k} . A^{k+1} x_{z_{k+1}})        u^{k+1} = H u^k
        o = H u^K + sum_k sum_j p(z_k = j) A^{k+1} x_j        or the term of the last k alone

    Args:
        hops: The number of facts in a chain.
        pairs: Whether to score consecutive facts against each other (the second sum). Without it, the rounds are
            independent.
        last: Whether to read the last fact alone, so that the other facts only lead to it.
        temporal, noise: See `MemoryHops`.

    The call arguments and the results are those of `MemoryHops` without `straight`; the weights are the marginals.

    >>> answer, weights = MemoryChain(2)(tf.ones([2, 8]), tf.ones([2, 5, 6]))
    >>> answer.shape.as_list(), weights.shape.as_list()
    ([2, 8], [2, 2, 5])
    """

    def __init__(
        self,
        hops: int = 3,
        pairs: bool = True,
        last: bool = False,
        temporal: int = 0,
        noise: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(hops, temporal, noise, **kwargs)
        self.pairs, self.last = pairs, last

    def build(self, query_shape: Any, facts_shape: Any) -> None:
        """Create the maps of the facts, the embeddings of their ages and `H`."""
        units = query_shape[-1]
        self.add_maps(self.hops + 1, facts_shape[-1], units)
        self.query_kernel = self.add_weight(name="query_kernel", shape=(units, units))
        self.built = True

    def _chain(self, query: tf.Tensor, mapped: list[tf.Tensor], mask: tf.Tensor) -> tuple[LinearChain, tf.Tensor]:
        """Return the distribution over chains of facts, and the query after the last round."""
        unary = []
        for facts in mapped[:-1]:
            unary.append(tf.squeeze(tf.matmul(facts, query[..., None]), -1))
            query = linear(query, self.query_kernel)
        scores = bounded(tf.stack(unary, axis=1))
        empty = ~tf.reduce_any(mask, axis=1, keepdims=True)  # a row without facts would have no valid chain
        scores = tf.where((mask | empty)[:, None], scores, tf.constant(-float("inf"), scores.dtype))
        pairwise = tf.zeros([tf.shape(scores)[2]] * 2, scores.dtype)
        if self.pairs and self.hops > 1:
            follows = [tf.matmul(a, b, transpose_b=True) for a, b in itertools.pairwise(mapped[:-1])]
            pairwise = widen(tf.stack(follows, axis=1))
        return LinearChain(scores, pairwise, method="scan"), query

    def call(
        self, query: tf.Tensor, facts: tf.Tensor, mask: tf.Tensor | None = None, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Run all rounds: `[batch, units], [batch, facts, features] -> ([batch, units], [batch, hops, facts])`."""
        mapped, mask = self.mapped(query, facts, mask, training)
        chain, asked = self._chain(query, mapped, mask)
        weights = tf.where(mask[:, None], tf.cast(_marginals(chain), query.dtype), 0)
        reads = [tf.matmul(weights[:, k, None], values) for k, values in enumerate(mapped[1:])]
        return asked + tf.squeeze(reads[-1] if self.last else tf.add_n(reads), 1), weights

    def argmax(self, query: tf.Tensor, facts: tf.Tensor, mask: tf.Tensor | None = None) -> tf.Tensor:
        """Return the positions of the facts in the most probable chain: `int32 [batch, hops]`."""
        mapped, mask = self.mapped(query, facts, mask)
        return self._chain(query, mapped, mask)[0].argmax

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "pairs": self.pairs, "last": self.last}


def _marginals(chain: LinearChain) -> tf.Tensor:
    """Return the marginals of a short chain of known length in single precision, because LiteRT has no wider type."""
    unary, steps = tf.unstack(chain.unary, axis=1), chain.unary.shape[1] - 1
    pairwise = tf.unstack(chain.pairwise, axis=1) if chain.pairwise.shape.rank == 4 else [chain.pairwise] * steps
    forward, backward = [unary[0]], [tf.zeros_like(unary[0])]
    for step in range(steps):
        forward.append(unary[step + 1] + tf.reduce_logsumexp(forward[-1][..., None] + pairwise[step], axis=1))
    for step in reversed(range(steps)):
        after = (unary[step + 1] + backward[0])[:, None]
        backward.insert(0, tf.reduce_logsumexp(pairwise[step] + after, axis=2))
    return tf.stack([tf.nn.softmax(f + b) for f, b in zip(forward, backward, strict=True)], axis=1)
