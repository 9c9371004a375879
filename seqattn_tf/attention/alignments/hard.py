"""Hard attention: one place is read, drawn at random."""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seqattn_tf.attention.base import Alignment, at_least_single
from seqattn_tf.core.masking import bounded, masked_logsumexp, masked_softmax
from seqattn_tf.core.scan import size_of
from seqattn_tf.structured.base import floats
from seqattn_tf.structured.semirings import uniform

_ESTIMATORS = ("straight_through", "reinforce")


class Sampled(NamedTuple):
    """What was drawn so far, `[batch]` each."""

    log_prob: tf.Tensor  # the logarithm of its probability, with a gradient
    entropy: tf.Tensor  # of the distributions it was drawn from


@keras.saving.register_keras_serializable("seqattn_tf")
class HardAlignment(Alignment):
    """`alpha = onehot(j)`, `j ~ softmax(e / temperature)` in training; the softmax itself, its mean, otherwise.

    Args:
        estimator: `"straight_through"` hands the gradient on as if the softmax had been read; `"reinforce"` hands on
            none, and `losses.Reinforce` learns from the log-probability and the entropy in the state.
        temperature: of the softmax; below one it is surer.
        expected: how often, in training, the softmax itself is read in place of what was drawn, which tells the same
            with less chance (Xu et al., 2015: half the time); decided for each row at each step.
        seed: of the draws.

    >>> align = HardAlignment(seed=1)
    >>> state = align.initial_state(tf.ones([1, 3], tf.bool), tf.float32)
    >>> weights, state = align(tf.zeros([1, 1, 3]), tf.ones([1, 1, 3], tf.bool), state, training=True)
    >>> sorted(weights.numpy().ravel().tolist()), round(float(tf.exp(state.log_prob[0])), 3)
    ([0.0, 0.0, 1.0], 0.333)
    """

    name_in_registry = "hard"
    meaning = "sample"

    def __init__(
        self,
        estimator: str = "straight_through",
        temperature: float = 1.0,
        expected: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if estimator not in _ESTIMATORS:
            raise ValueError(f"estimator: expected one of {_ESTIMATORS}. Received: {estimator!r}")
        if not temperature > 0:
            raise ValueError(f"temperature: expected a positive number. Received: {temperature!r}")
        if not 0 <= expected <= 1:
            raise ValueError(f"expected: expected a number from 0 to 1. Received: {expected!r}")
        self.estimator, self.temperature, self.expected, self.seed = estimator, temperature, expected, seed
        self.generator = keras.random.SeedGenerator(seed)

    @property
    def random(self) -> bool:
        """The place that is read."""
        return True

    def initial_state(self, mask: tf.Tensor, dtype: tf.DType) -> Sampled:
        """Nothing was drawn."""
        nothing = tf.zeros(tf.shape(mask)[:1], at_least_single(dtype))
        return Sampled(nothing, nothing)

    def call(
        self, logits: tf.Tensor, mask: tf.Tensor, state: Any = (), training: bool = False
    ) -> tuple[tf.Tensor, tuple]:
        """`[batch, queries, source], [batch, 1, source] -> ([batch, queries, source], state)`."""
        wide = bounded(floats(logits, "logits", 3)) / self.temperature
        mask = tf.logical_and(mask, wide > -float("inf"))  # a forbidden place is one that is not kept
        wide = tf.where(mask, wide, tf.zeros_like(wide))
        shares = masked_softmax(wide, mask)
        if not training:
            return tf.cast(shares, logits.dtype), state
        some = shares > 0
        log_shares = tf.where(some, wide - masked_logsumexp(wide, mask)[..., None], tf.zeros_like(wide))
        gumbel = -tf.math.log(-tf.math.log(uniform(tf.shape(wide), self.generator.next(), wide.dtype)))
        best = tf.argmax(tf.where(some, log_shares + gumbel, wide.dtype.min), axis=-1)
        drawn = some & tf.one_hot(best, size_of(wide, -1), True, False)  # nothing from an empty row
        drawn = tf.cast(drawn, wide.dtype)
        log_prob = tf.reduce_sum(drawn * log_shares, [1, 2])
        entropy = state.entropy - tf.reduce_sum(shares * log_shares, [1, 2])
        if self.estimator == "straight_through":
            drawn += shares - tf.stop_gradient(shares)
        if self.expected:
            mean = uniform(tf.shape(wide)[:1], self.generator.next(), wide.dtype) < self.expected
            drawn = tf.where(mean[:, None, None], shares, drawn)
            log_prob = tf.where(mean, tf.zeros_like(log_prob), log_prob)  # nothing was left to chance
        return tf.cast(drawn, logits.dtype), Sampled(state.log_prob + log_prob, entropy)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        arguments = {"estimator": self.estimator, "temperature": self.temperature}
        return {**super().get_config(), **arguments, "expected": self.expected, "seed": self.seed}
