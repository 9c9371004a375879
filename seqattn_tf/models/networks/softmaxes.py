"""Softmax over a large vocabulary, where a training step computes only a part; probabilities are exact in inference.

Ids are ordered by decreasing frequency of the words, as `text.learn` assigns them.
"""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.linear import linear
from seqattn_tf.core.registry import check_count

SOFTMAXES = ("full", "sampled", "adaptive")
SHARES = (10, 3)  # the head has 1/10 of all words, and head and first tail together have 1/3
_FACTOR = 4  # the ratio between the widths of successive projections


def draw_words(samples: int, size: int, seed: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Draw ids `[samples]` of distinct words, and return them with the probability of each to be among them.

    Each word arrives after an exponentially distributed time with the rate `log((k + 2) / (k + 1))` for the k-th word,
    and the first `samples` words are taken. A word is among them if it arrives before the first one that is not (Cohen
    and Kaplan, 2007).

    >>> ids, chances = draw_words(3, 3, seed=1)
    >>> sorted(ids.numpy().tolist()), chances.numpy().tolist()
    ([0, 1, 2], [1.0, 1.0, 1.0])
    """
    if samples >= size:
        return tf.range(size), tf.ones([size])
    rates = tf.math.log1p(1 / tf.range(1, size + 1, dtype=tf.float32))
    times = -tf.math.log(keras.random.uniform([size], 1e-20, 1.0, seed=seed)) / rates
    first, drawn = tf.math.top_k(-times, samples + 1)
    return drawn[:-1], -tf.math.expm1(tf.gather(rates, drawn[:-1]) * first[-1])


def sampled_losses(
    outputs: tf.Tensor, words: tf.Tensor, bias: tf.Tensor, right: tf.Tensor, samples: int, seed: Any = None
) -> tf.Tensor:
    """Return the cross-entropy of each target against a sample of words instead of all (Jean et al., 2015).

        loss = -log(e^{s_y} / (e^{s_y} + sum_{k drawn, k != y} e^{s_k} / P(k is drawn)))

    The expectation of the sum is the sum over all other words; see `draw_words`.

    Args:
        outputs: The outputs of the network, `[rows, n]`.
        words: The output weights of the words, `[size, n]`.
        bias: The bias of the words, `[size]`.
        right: The ids of the targets, `[rows]`.
        samples: The number of sampled words, which all rows share.
        seed: The seed of the sample: a number, or a `keras.random.SeedGenerator` for a new sample in every call.

    Returns `[rows]`.

    >>> sampled_losses(tf.zeros([3, 2]), tf.zeros([9, 2]), tf.zeros([9]), tf.constant([1, 2, 3]), 4).shape.as_list()
    [3]
    """
    size = words.shape[0]
    true = tf.cast(right, tf.int32)[:, None]
    drawn, chances = draw_words(samples, size, seed)
    others = tf.matmul(outputs, tf.gather(words, drawn), transpose_b=True) + tf.gather(bias, drawn)
    others = tf.where(drawn == true, others.dtype.min, others - tf.math.log(chances))
    own = tf.reduce_sum(outputs * tf.gather(words, right), axis=1) + tf.gather(bias, right)
    return tf.reduce_logsumexp(tf.concat([own[:, None], others], axis=1), axis=1) - own


def cutoffs_of(size: int) -> list[int]:
    """Return the ends of the head and of each tail of a vocabulary.

    >>> cutoffs_of(3000), cutoffs_of(4)
    ([300, 1000, 3000], [1, 2, 4])
    """
    ends = [max(size // share, number) for number, share in enumerate(SHARES, 1)]
    return [*sorted({end for end in ends if end < size}), size]


@keras.saving.register_keras_serializable("seqattn_tf")
class AdaptiveSoftmax(keras.layers.Layer):
    """A softmax with a head of frequent words and one entry for each tail of rarer words (Grave et al., 2017).

        p(w) = p_head(w)                      for a word of the head
        p(w) = p_head(tail i) p_i(w)          for a word of tail i, whose p_i uses a narrower projection

    In training, a target in the head requires only the head, and any other target one tail in addition.

    Args:
        cutoffs: The ends of the head and of each tail in increasing order; the last is the number of words.
        factor: The factor by which the projection of each tail is narrower than the one before.

    Call arguments:
        outputs: `[..., n]`.

    Returns log-probabilities `[..., words]`.

    >>> softmax = AdaptiveSoftmax([2, 5, 9])
    >>> round(float(tf.reduce_sum(tf.exp(softmax(tf.ones([1, 8]))))), 5)
    1.0
    """

    def __init__(self, cutoffs: Sequence[int], factor: int = _FACTOR, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cutoffs, self.factor = [check_count("cutoffs", end) for end in cutoffs], check_count("factor", factor)
        if not self.cutoffs or self.cutoffs != sorted(set(self.cutoffs)):
            raise ValueError(f"cutoffs: expected at least one number, in increasing order. Received: {list(cutoffs)}")

    @property
    def tails(self) -> list[tuple[int, int]]:
        """The range of words of each tail, as the first word and the first word after it."""
        return list(zip(self.cutoffs[:-1], self.cutoffs[1:], strict=True))

    def build(self, outputs_shape: Any) -> None:
        """Create the head, and two matrices for each tail."""
        units = outputs_shape[-1]
        entries = self.cutoffs[0] + len(self.tails)
        self.kernel = self.add_weight(name="kernel", shape=(units, entries))
        self.bias = self.add_weight(name="bias", shape=(entries,), initializer="zeros")
        widths = [max(units // self.factor ** (number + 1), 1) for number in range(len(self.tails))]
        self.down = [self.add_weight(name=f"down_{i}", shape=(units, width)) for i, width in enumerate(widths)]
        self.up = [
            self.add_weight(name=f"up_{i}", shape=(width, end - start))
            for i, (width, (start, end)) in enumerate(zip(widths, self.tails, strict=True))
        ]
        self.built = True

    def _head(self, outputs: tf.Tensor) -> tf.Tensor:
        """Return the log-probabilities of the head's words and of the tails: `[..., words + tails]`."""
        return tf.nn.log_softmax(tf.cast(linear(outputs, self.kernel, self.bias), tf.float32))

    def _tail(self, outputs: tf.Tensor, number: int) -> tf.Tensor:
        """Return the log-probabilities of the words of a tail, given that the word is in this tail."""
        return tf.nn.log_softmax(tf.cast(linear(linear(outputs, self.down[number]), self.up[number]), tf.float32))

    def call(self, outputs: tf.Tensor) -> tf.Tensor:
        """Return the exact log-probabilities of all words."""
        head = self._head(outputs)
        shortlist = self.cutoffs[0]
        tails = [head[..., shortlist + number, None] + self._tail(outputs, number) for number in range(len(self.tails))]
        return tf.concat([head[..., :shortlist], *tails], axis=-1)

    def losses_of(self, outputs: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
        """Return the negative log-probability of each target: `[rows, n], [rows] -> [rows]`.

        Each tail is computed only for the rows whose target it contains.
        """
        shortlist = self.cutoffs[0]
        entry, found = right, tf.zeros_like(right, tf.float32)
        for number, (start, end) in enumerate(self.tails):
            rows = tf.where((right >= start) & (right < end))  # [rows of the tail, 1]
            entry = tf.where((right >= start) & (right < end), shortlist + number, entry)
            own = self._tail(tf.gather_nd(outputs, rows), number)
            gained = tf.gather(own, tf.gather_nd(right, rows) - start, batch_dims=1)
            found = tf.tensor_scatter_nd_add(found, rows, gained)
        return -(tf.gather(self._head(outputs), entry, batch_dims=1) + found)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "cutoffs": self.cutoffs, "factor": self.factor}
