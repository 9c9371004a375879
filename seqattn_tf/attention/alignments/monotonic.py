"""Monotonic alignment: attention that only moves forward."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.alignments.biased import BiasedAlignment
from seqattn_tf.attention.alignments.prefixes import earlier, recurrence
from seqattn_tf.attention.base import at_least_single, first_kept


@keras.saving.register_keras_serializable("seqattn_tf")
class MonotonicAlignment(BiasedAlignment):
    """The expected alignment of a reader that goes on from where it stopped last (Raffel et al., 2017).

    At every place it stops with the probability `p_tj = sigmoid(e_tj + b)` or else goes on to the next, so

        alpha_tj = p_tj q_tj,        q_tj = (1 - p_{t,j-1}) q_{t,j-1} + alpha_{t-1,j}

    What runs off the end reads nothing: weights may sum to less than one. It begins at the first kept place.

    A `hard` reader does so in training. Otherwise it stops where it is likelier than not, at the first `p_tj > 1/2`
    from the last place on, and reads that place alone:

        alpha_tj = p_tj prod_{i < j} (1 - p_ti),        p_tj = [e_tj + b > 0] sum_{i <= j} alpha_{t-1,i}

    Where there is none it has run off the end, and reads nothing at later queries either. No gradient passes.

    Args:
        bias: the first value of the learned `b`; the more negative, the further a new reader goes.
        noise: standard deviation of what is added to `e` in training, so that it learns to be sure.
        seed: of the noise.
        hard: whether one place is read outside training, TensorFlow Addons' `mode="hard"`.

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
        """The noise."""
        return self.noise > 0

    def initial_state(self, mask: tf.Tensor, dtype: tf.DType) -> tuple[tf.Tensor]:
        """All of the last weight on the first kept place: `[batch, source]`."""
        return (first_kept(mask, at_least_single(dtype)),)

    def call(
        self, logits: tf.Tensor, mask: tf.Tensor, state: tuple = (), training: bool = False
    ) -> tuple[tf.Tensor, tuple]:
        """`[batch, 1, source], [batch, 1, source], ([batch, source],) -> ([batch, 1, source], state)`."""
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
        """One at the first place to stop at, from the last one on: `[batch, source], [batch, source]`."""
        return first_kept(stops & (tf.cumsum(last, axis=1) > 0), last.dtype)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "noise": self.noise, "seed": self.seed, "hard": self.hard}
