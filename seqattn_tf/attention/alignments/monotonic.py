"""Monotonic alignment: attention that only moves forward."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.alignments.biased import BiasedAlignment
from seqattn_tf.attention.alignments.prefixes import earlier, recurrence
from seqattn_tf.attention.base import at_least_single, first_kept


@keras.saving.register_keras_serializable("seqattn_tf")
class MonotonicAlignment(BiasedAlignment):
    """Monotonic alignment: the expected alignment of a reader that never moves back (Raffel et al., 2017).

    The reader continues from the position of the previous step, beginning at the first unmasked one. At every position
    it stops with probability `p_tj = sigmoid(e_tj + b)` or moves on to the next, so

        alpha_tj = p_tj q_tj,        q_tj = (1 - p_{t,j-1}) q_{t,j-1} + alpha_{t-1,j}

    If the reader runs off the end, it reads nothing, so weights may sum to less than one.

    With `hard`, this holds in training only. Otherwise the reader stops at the first position with `p_tj > 1/2`, from
    its last position on, and reads that position alone:

        alpha_tj = p_tj prod_{i < j} (1 - p_ti),        p_tj = [e_tj + b > 0] sum_{i <= j} alpha_{t-1,i}

    If there is no such position, the reader has run off the end and reads nothing at later queries either. This mode
    has no gradient.

    Args:
        bias: The initial value of the trainable `b`. The more negative it is, the further an untrained reader moves.
        noise: The standard deviation of the noise added to `e` in training, which favors stop probabilities near 0 and
            1.
        seed: The seed of the noise.
        hard: Whether to read a single position outside training, like `mode="hard"` in TensorFlow Addons.

    >>> align = MonotonicAlignment(bias=0.0)
    >>> state = align.initial_state(tf.ones([1, 3], tf.bool), tf.float32)
    >>> weights, _ = align(tf.zeros([1, 1, 3]), tf.ones([1, 1, 3], tf.bool), state)
    >>> weights.numpy().tolist()
    [[[0.5, 0.25, 0.125]]]
    >>> align = MonotonicAlignment(bias=0.0, hard=True)
    >>> weights, _ = align(tf.constant([[[-1.0, 2.0, 3.0]]]), tf.ones([1, 1, 3], tf.bool), state)
    >>> weights.numpy().tolist()
    [[[0.0, 1.0, 0.0]]]
    """

    name_in_registry = "monotonic"
    meaning = "distribution"

    def __init__(
        self, bias: float = -1.0, noise: float = 1.0, seed: int | None = None, hard: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(bias, **kwargs)
        if noise < 0:
            raise ValueError(f"noise: expected a standard deviation, 0 or more. Received: {noise}")
        self.noise, self.seed, self.hard = noise, seed, hard
        self.generator = keras.random.SeedGenerator(seed)

    @property
    def random(self) -> bool:
        """Whether `call` draws random numbers in training: true if there is noise."""
        return self.noise > 0

    def initial_state(self, mask: tf.Tensor, dtype: tf.DType) -> tuple[tf.Tensor]:
        """Return weights `[batch, source]` with all weight on the first unmasked position."""
        return (first_kept(mask, at_least_single(dtype)),)

    def call(
        self, logits: tf.Tensor, mask: tf.Tensor, state: tuple = (), training: bool = False
    ) -> tuple[tf.Tensor, tuple]:
        wide = self.shifted(logits, mask)
        if self.hard and not training:
            weights = self._first_stop(tf.squeeze(mask & (wide > 0), 1), tf.cast(state[0], wide.dtype))
            return tf.cast(tf.expand_dims(weights, 1), logits.dtype), (weights,)
        if training and self.noise:
            wide += self.noise * keras.random.normal(tf.shape(wide), dtype=wide.dtype, seed=self.generator)
        stop = tf.transpose(tf.squeeze(tf.where(mask, tf.sigmoid(wide), tf.zeros_like(wide)), 1))  # [source, batch]
        arrived = recurrence(earlier(1 - stop), tf.transpose(tf.cast(state[0], wide.dtype)))
        weights = tf.transpose(stop * arrived)
        return tf.cast(tf.expand_dims(weights, 1), logits.dtype), (weights,)

    @staticmethod
    def _first_stop(stops: tf.Tensor, last: tf.Tensor) -> tf.Tensor:
        """Return 1 at the first stop from the last position on: `[batch, source]` twice `-> [batch, source]`."""
        return first_kept(stops & (tf.cumsum(last, axis=1) > 0), last.dtype)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "noise": self.noise, "seed": self.seed, "hard": self.hard}
