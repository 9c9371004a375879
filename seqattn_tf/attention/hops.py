"""End-to-end memory networks: several looks at a set of facts, each asking with what the last one found."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.base import Alignment, Attention, Memory
from seqattn_tf.layer import Composed
from seqattn_tf.linear import linear
from seqattn_tf.masking import masked_values, zero_masked
from seqattn_tf.named import check_count

TYINGS = ("adjacent", "layerwise")


@keras.saving.register_keras_serializable("seqattn_tf")
class MemoryHops(Composed):
    """`hops` rounds of attention over facts (Sukhbaatar et al., 2015).

        alpha^k = align(u^k . A^k x_j)        o^k = sum_j alpha^k_j C^k x_j        u^{k+1} = u^k + o^k

    Args:
        hops: how many rounds.
        tying: `"adjacent"`: what is read in one round is what is compared in the next, `A^{k+1} = C^k`;
            `"layerwise"`: the same `A` and `C` in all rounds, and `u^{k+1} = H u^k + o^k`.
        align: an `Alignment` or its name.
        temporal: for how many last facts to learn when they were: a vector for each age, added to what `A` and `C`
            make of the fact; older ones share the last. 0 for facts without an order.

    Call arguments:
        query: `u^1`, `[batch, units]`.
        facts: `[batch, facts, features]`, oldest first.
        mask: `[batch, facts]`, True = keep.

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
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if tying not in TYINGS:
            raise ValueError(f"tying: expected one of {TYINGS}. Received: {tying!r}")
        if not isinstance(temporal, int) or temporal < 0:
            raise ValueError(f"temporal: expected a number of facts, or 0. Received: {temporal!r}")
        self.hops, self.tying, self.temporal = check_count("hops", hops), tying, temporal
        self.attention = Attention("dot", align, dtype=self.dtype_policy)

    @property
    def align(self) -> Alignment:
        """How matches become weights."""
        return self.attention.align

    def build(self, query_shape: Any, facts_shape: Any) -> None:
        """Create the maps of the facts, the vectors of their ages and, layer-wise, `H`."""
        units, features = query_shape[-1], facts_shape[-1]
        self.attention.build((None, units), (None, None, units))
        count = self.hops + 1 if self.tying == "adjacent" else 2
        self.kernels = [self.add_weight(name=f"kernel_{i}", shape=(features, units)) for i in range(count)]
        if self.temporal:
            self.ages = [self.add_weight(name=f"ages_{i}", shape=(self.temporal, units)) for i in range(count)]
        if self.tying == "layerwise":
            self.query_kernel = self.add_weight(name="query_kernel", shape=(units, units))
        self.built = True

    def _embedded(self, facts: tf.Tensor, mask: tf.Tensor) -> list[tf.Tensor]:
        """What each map makes of the facts: `[batch, facts, units]`."""
        found = [linear(facts, kernel) for kernel in self.kernels]
        if self.temporal:
            age = tf.cumsum(tf.cast(mask, tf.int32), axis=1, reverse=True, exclusive=True)
            age = tf.minimum(age, self.temporal - 1)
            found = [x + tf.gather(tf.cast(table, x.dtype), age) for x, table in zip(found, self.ages, strict=True)]
        return [zero_masked(x, mask) for x in found]

    def call(
        self, query: tf.Tensor, facts: tf.Tensor, mask: tf.Tensor | None = None, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """`[batch, units], [batch, facts, features] -> ([batch, units], [batch, hops, facts])`."""
        if query.shape.rank != 2 or facts.shape.rank != 3:
            raise ValueError(
                f"query, facts: expected [batch, units] and [batch, facts, features]. "
                f"Received shapes: {query.shape}, {facts.shape}"
            )
        facts, mask = masked_values(facts, mask)
        embedded = self._embedded(facts, mask)
        state, looks = self.attention.initial_state(Memory(embedded[0], embedded[0], mask)), []
        for hop in range(self.hops):
            first = hop if self.tying == "adjacent" else 0
            memory = Memory(embedded[first], embedded[first + 1], mask)
            found, weights, state = self.attention.attend(query, memory, state, training)
            query = found + (query if self.tying == "adjacent" else linear(query, self.query_kernel))
            looks.append(weights)
        return query, tf.stack(looks, axis=1)

    def compute_output_shape(self, query_shape: Any, facts_shape: Any) -> tuple[tuple, tuple]:
        """Of the last query and of the weights."""
        return tuple(query_shape), (query_shape[0], self.hops, facts_shape[1])

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "hops": self.hops, "tying": self.tying, "temporal": self.temporal}
