"""`Attention`: score -> align -> read, with the memory prepared once per sequence.

    e_j = score(q, key_j)        alpha = align(e, mask)        c = sum_j alpha_j value_j

In a model, `attention(query, values, mask)`. In a loop, `memory = attention.prepare(values, mask)` once, then
`attention.attend(query, memory, state)` at every step.
"""

from typing import Any, ClassVar, NamedTuple

import keras
import tensorflow as tf

from seqattn_tf.layer import Composed, Named
from seqattn_tf.masking import blank, checked_mask


class Memory(NamedTuple):
    """What attention reads from, one entry per example: never copied for beams."""

    keys: tf.Tensor  # [batch, source, key units], what scores compare with
    values: tf.Tensor  # [batch, source, units], what is read
    mask: tf.Tensor  # [batch, source], True = keep


class Score(Named, keras.layers.Layer):
    """How well a query matches each place; a subclass gives `prepare` and `call`."""

    registry: ClassVar[dict[str, type]] = {}

    def prepare(self, values: tf.Tensor) -> tf.Tensor:
        """What depends on the memory alone, once per sequence: `[batch, source, units] -> [batch, source, keys]`."""
        raise NotImplementedError

    def call(self, query: tf.Tensor, keys: tf.Tensor) -> tf.Tensor:
        """`[batch, queries, units], [batch, source, keys] -> [batch, queries, source]`."""
        raise NotImplementedError


class Alignment(Named, keras.layers.Layer):
    """How matches become weights; a subclass gives `call`."""

    registry: ClassVar[dict[str, type]] = {}
    meaning: str  # "distribution", "independent" or "marginals": what a person should read the weights as

    def call(self, logits: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """`[batch, queries, source], [batch, 1, source] -> [batch, queries, source]`."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments; Keras guesses them, and fails, for a class that does not say it has none."""
        return super().get_config()


@keras.saving.register_keras_serializable("seqattn_tf")
class Attention(Composed):
    """Attention over the time axis of `values`.

    Args:
        score: a `Score` or its name (`"additive"`).
        align: an `Alignment` or its name (`"softmax"`).
        units: width of the score's hidden layer, for a score given by name that has one.

    Call arguments:
        query: `[batch, units]`, or several, `[batch, queries, units]`.
        values: `[batch, source, units]`.
        mask: `[batch, source]`, True = keep. A row with nothing to keep reads zeros.

    Returns `(context, weights)`.

    >>> context, weights = Attention(units=8)(tf.ones([2, 3]), tf.ones([2, 5, 4]))
    >>> context.shape.as_list(), weights.shape.as_list()
    ([2, 4], [2, 5])
    """

    parts = ("score", "align")

    def __init__(
        self,
        score: str | Score = "additive",
        align: str | Alignment = "softmax",
        units: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        width = {} if units is None else {"units": units}
        self.score = Score.get(score, dtype=self.dtype_policy, **width)
        self.align = Alignment.get(align, dtype=self.dtype_policy)

    def build(self, query_shape: Any, values_shape: Any) -> None:
        """Build the score."""
        if not self.score.built:
            self.score.build(query_shape, values_shape)
        self.built = True

    def prepare(self, values: tf.Tensor, mask: tf.Tensor | None = None) -> Memory:
        """What all queries of one sequence share."""
        if values.shape.rank != 3:
            raise ValueError(f"values: expected [batch, source, units]. Received shape: {values.shape}")
        if mask is None:
            mask = tf.ones(tf.shape(values)[:2], tf.bool)
        else:
            mask = checked_mask(mask)
            values = blank(values, mask)  # zero weight on NaN would still be NaN
        return Memory(self.score.prepare(values), values, mask)

    def initial_state(self, memory: Memory) -> tuple:
        """What the alignment remembers from step to step, before the first."""
        return ()

    def attend(self, query: tf.Tensor, memory: Memory, state: tuple = ()) -> tuple[tf.Tensor, tf.Tensor, tuple]:
        """One read: `(context, weights, state)`, with as many axes as the query has."""
        single = query.shape.rank == 2
        logits = self.score(query[:, None] if single else query, memory.keys)
        weights = self.align(logits, memory.mask[:, None])
        context = tf.matmul(weights, memory.values)
        if single:
            context, weights = tf.squeeze(context, 1), tf.squeeze(weights, 1)
        return context, weights, state

    def call(self, query: tf.Tensor, values: tf.Tensor, mask: tf.Tensor | None = None) -> tuple[tf.Tensor, tf.Tensor]:
        """Prepare and attend at once."""
        memory = self.prepare(values, mask)
        context, weights, _ = self.attend(query, memory, self.initial_state(memory))
        return context, weights
