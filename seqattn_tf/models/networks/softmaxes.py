"""Softmax over many words, for less than all of them in a training step; probabilities are exact all the same.

Ids are in order of frequency, the most frequent words first, as `text.learn` gives them.
"""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.linear import linear
from seqattn_tf.core.registry import check_count

SOFTMAXES = ("full", "sampled", "adaptive")
SHARES = (10, 3)  # of the words, those in the head and those up to the first tail: one in so many
_FACTOR = 4  # by which each tail's projection is narrower than the one before


def draw_words(samples: int, size: int, seed: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Ids `[samples]` of as many words, none twice, and how probable it was that each is among them.

    Each word comes after a time that is exponential with its rate, `log((k + 2) / (k + 1))` for the k-th, and the first
    ones are taken; one is among them if it comes before the first that is not (Cohen and Kaplan, 2007).

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
    """Cross-entropy of each right word among it and a few that are drawn, in place of all (Jean et al., 2015).

        loss = -log(e^{s_y} / (e^{s_y} + sum_{k drawn, k != y} e^{s_k} / P(k is drawn)))

    The sum stands, in the mean over what is drawn, for that over all other words; see `draw_words`.

    Args:
        outputs: `[rows, n]`.
        words: `[size, n]`, what scores each word.
        bias: `[size]`.
        right: `[rows]` ids.
        samples: how many words are drawn, the same for all rows.
        seed: of what is drawn: a number, or a `keras.random.SeedGenerator` for others every time.

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
    """Where the head and each tail of a vocabulary end.

    >>> cutoffs_of(3000), cutoffs_of(4)
    ([300, 1000, 3000], [1, 2, 4])
    """
    ends = [max(size // share, number) for number, share in enumerate(SHARES, 1)]
    return [*sorted({end for end in ends if end < size}), size]


@keras.saving.register_keras_serializable("seqattn_tf")
class AdaptiveSoftmax(keras.layers.Layer):
    """A head of frequent words and of one entry for each tail of rarer ones (Grave et al., 2017).

        p(w) = p_head(w)                      for a word of the head
        p(w) = p_head(tail i) p_i(w)          for one of tail i, whose p_i reads a narrower projection

    A right word of the head costs the head alone, and any other one tail more.

    Args:
        cutoffs: where the head and each tail end, rising; the last is the number of words.
        factor: by which each tail's projection is narrower than what was before it.

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
            raise ValueError(f"cutoffs: expected at least one, each above the one before. Received: {list(cutoffs)}")

    @property
    def tails(self) -> list[tuple[int, int]]:
        """The first word of each tail, and the first after it."""
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
        """Log-probabilities of the words of the head and of the tails: `[..., words + tails]`."""
        return tf.nn.log_softmax(tf.cast(linear(outputs, self.kernel, self.bias), tf.float32))

    def _tail(self, outputs: tf.Tensor, number: int) -> tf.Tensor:
        """Log-probabilities of the words of a tail, given that it is one of them."""
        return tf.nn.log_softmax(tf.cast(linear(linear(outputs, self.down[number]), self.up[number]), tf.float32))

    def call(self, outputs: tf.Tensor) -> tf.Tensor:
        """Of all words, exactly."""
        head = self._head(outputs)
        shortlist = self.cutoffs[0]
        tails = [head[..., shortlist + number, None] + self._tail(outputs, number) for number in range(len(self.tails))]
        return tf.concat([head[..., :shortlist], *tails], axis=-1)

    def losses_of(self, outputs: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
        """Minus the log-probability of each right word: `[rows, n], [rows] -> [rows]`; a tail sees its rows alone."""
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
        """Constructor arguments."""
        return {**super().get_config(), "cutoffs": self.cutoffs, "factor": self.factor}
