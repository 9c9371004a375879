"""Hard attention: reads one position, drawn at random."""

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
    """Statistics of the samples drawn so far, `[batch]` each."""

    log_prob: tf.Tensor  # log-probability of the samples, differentiable
    entropy: tf.Tensor  # entropy of the distributions they were drawn from


@keras.saving.register_keras_serializable("seqattn_tf")
class HardAlignment(Alignment):
    """Hard attention: in training `alpha = onehot(j)`, `j ~ softmax(e / temperature)`; otherwise the softmax itself.

    Args:
        estimator: `"straight_through"` passes the gradient on as if the softmax had been read. `"reinforce"` passes
            none on; `losses.Reinforce` trains from the log-probability and the entropy in the state instead.
        temperature: The temperature of the softmax. Values below one sharpen the distribution.
        soft_probability: The probability of reading the softmax itself in place of the sample in training, decided for
            each row at each step. It has the same mean and a lower variance (Xu et al., 2015, use 0.5).
        seed: The seed of the samples.

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
        soft_probability: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if estimator not in _ESTIMATORS:
            raise ValueError(f"estimator: expected one of {_ESTIMATORS}. Received: {estimator!r}")
        if not temperature > 0:
            raise ValueError(f"temperature: expected a positive number. Received: {temperature!r}")
        if not 0 <= soft_probability <= 1:
            raise ValueError(f"soft_probability: expected a number from 0 to 1. Received: {soft_probability!r}")
        self.estimator, self.temperature, self.soft_probability, self.seed = (
            estimator,
            temperature,
            soft_probability,
            seed,
        )
        self.generator = keras.random.SeedGenerator(seed)

    @property
    def random(self) -> bool:
        """Whether `call` draws random numbers in training: always true."""
        return True

    def initial_state(self, mask: tf.Tensor, dtype: tf.DType) -> Sampled:
        nothing = tf.zeros(tf.shape(mask)[:1], at_least_single(dtype))
        return Sampled(nothing, nothing)

    def call(
        self, logits: tf.Tensor, mask: tf.Tensor, state: Any = (), training: bool = False
    ) -> tuple[tf.Tensor, tuple]:
        wide = bounded(floats(logits, "logits", 3)) / self.temperature
        mask = tf.logical_and(mask, wide > -float("inf"))  # a logit of -inf masks its position
        wide = tf.where(mask, wide, tf.zeros_like(wide))
        shares = masked_softmax(wide, mask)
        if not training:
            return tf.cast(shares, logits.dtype), state
        some = shares > 0
        log_shares = tf.where(some, wide - masked_logsumexp(wide, mask)[..., None], tf.zeros_like(wide))
        gumbel = -tf.math.log(-tf.math.log(uniform(tf.shape(wide), self.generator.next(), wide.dtype)))
        best = tf.argmax(tf.where(some, log_shares + gumbel, wide.dtype.min), axis=-1)
        drawn = some & tf.one_hot(best, size_of(wide, -1), True, False)  # a fully masked row draws nothing
        drawn = tf.cast(drawn, wide.dtype)
        log_prob = tf.reduce_sum(drawn * log_shares, [1, 2])
        entropy = state.entropy - tf.reduce_sum(shares * log_shares, [1, 2])
        if self.estimator == "straight_through":
            drawn += shares - tf.stop_gradient(shares)
        if self.soft_probability:
            mean = uniform(tf.shape(wide)[:1], self.generator.next(), wide.dtype) < self.soft_probability
            drawn = tf.where(mean[:, None, None], shares, drawn)
            log_prob = tf.where(mean, tf.zeros_like(log_prob), log_prob)  # nothing was sampled
        return tf.cast(drawn, logits.dtype), Sampled(state.log_prob + log_prob, entropy)

    def get_config(self) -> dict[str, Any]:
        arguments = {"estimator": self.estimator, "temperature": self.temperature}
        return {**super().get_config(), **arguments, "soft_probability": self.soft_probability, "seed": self.seed}
