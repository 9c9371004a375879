"""Marginals of a chain of binary selections, fast enough for every step of a decoder.

    p(z) ~ exp(sum_i scores_i z_i + sum_i pairwise[z_i, z_{i+1}])

The chain consists of the unmasked positions; positions on either side of a masked gap are neighbors. Let `f_i` be the
log-odds of position `i` given the scores of `i` and of everything to its left, and `r_i` the log-odds given the scores
of `i` and of everything to its right. Then

    f_i = scores_i + g(f_{i-1})        g(x) = log (exp p01 + exp(p11 + x)) / (exp p00 + exp(p10 + x))
    p(z_i = 1) = sigmoid(f_i + r_i - scores_i)

The forward pass is a product of 2x2 matrices in log space, computed from both ends at once in logarithmic depth, and
is stable for scores of any size. The backward pass is a linear recurrence that needs only `f` and `r`, because `g'` is
a difference of two sigmoids. Internally the source is the leading axis, followed by the two directions and by the
queries of the batch.
"""

from typing import Any, NamedTuple

import tensorflow as tf

from seqattn_tf.attention.alignments.prefixes import backward_recurrence, earlier, prefixes
from seqattn_tf.core.scan import size_of

_NEVER = -1e30  # the logarithm of 0, finite so that it can be subtracted


class _Kept(NamedTuple):
    """The mask of the positions in both directions, `[source, 2, rows]` each."""

    all: tf.Tensor
    inner: tf.Tensor  # the positions that have a predecessor


def _both(values: tf.Tensor) -> tf.Tensor:
    """Stack both directions: `[source, rows] -> [source, 2, rows]`."""
    return tf.stack([values, tf.reverse(values, [0])], axis=1)


def _product(left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
    """Multiply matrices in log space, `[source, 2, 2, ...]`."""
    by_0, by_1 = left[:, :, :1] + right[:, :1], left[:, :, 1:] + right[:, 1:]
    most = tf.maximum(by_0, by_1)
    return most + tf.math.log(tf.exp(by_0 - most) + tf.exp(by_1 - most))


def _log_odds(scores: tf.Tensor, pairwise: tf.Tensor, kept: _Kept) -> tf.Tensor:
    """Return `f` in both directions: `[source, 2, rows], [2, 2, 2, 1] -> [source, 2, rows]`."""
    inner, gone = (tf.cast(places, scores.dtype)[:, None] for places in (kept.inner, ~kept.all))
    unit = tf.reshape(tf.constant([0.0, _NEVER, _NEVER, 0.0], scores.dtype), [4, 1, 1])
    larger = tf.nn.relu(scores)  # a masked position has score 0: multiplying by the identity changes nothing
    flat = inner * tf.reshape(pairwise, [4, 2, 1]) + gone * unit  # older LiteRT multiplies tensors of at most four axes
    matrices = tf.reshape(flat, [size_of(scores, 0), 2, 2, 2, size_of(scores, 2)])
    matrices += tf.stack([-larger, scores - larger], axis=1)[:, None]
    found = prefixes(_product, matrices)
    return found[:, 0, 1] - found[:, 0, 0]


def _known_log_odds(scores: tf.Tensor, pairwise: tf.Tensor, kept: _Kept, value: tf.Tensor) -> tf.Tensor:
    """Return the precomputed `value` as a function of its inputs, differentiable any number of times."""

    @tf.custom_gradient
    def function(scores: tf.Tensor, pairwise: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def gradient(flow: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            before = earlier(_known_log_odds(scores, pairwise, kept, value))
            if_on = tf.sigmoid(before + (pairwise[1, 1] - pairwise[0, 1]))  # p(z_{i-1} = 1 | z_i, all to the left)
            if_off = tf.sigmoid(before + (pairwise[1, 0] - pairwise[0, 0]))
            slope = tf.where(kept.inner, if_on - if_off, tf.cast(~kept.all, flow.dtype))
            into = backward_recurrence(slope, flow)
            moved = tf.where(kept.inner, into, tf.zeros_like(into))
            on, off = moved * if_on, moved * if_off
            in_pairs = [tf.reduce_sum(x, [0, 2]) for x in (off - moved, moved - on, -off, on)]  # 00, 01, 10, 11
            return tf.where(kept.all, into, tf.zeros_like(into)), tf.reshape(tf.stack(in_pairs), [2, 2, 2, 1])

        return tf.identity(value), gradient

    return function(scores, pairwise)


@tf.autograph.experimental.do_not_convert
def selected(scores: tf.Tensor, pairwise: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Return `p(z_i = 1)` of every position; masked positions get 0.

    `[batch, queries, source], [2, 2], bool [batch, 1, source] -> [batch, queries, source]`.

    >>> kept = tf.constant([[[True, False, True]]])
    >>> selected(tf.zeros([1, 1, 3]), tf.constant([[0.0, 0.0], [0.0, 1e4]]), kept).numpy().tolist()
    [[[1.0, 0.0, 1.0]]]
    """
    batch, queries, source = (size_of(scores, axis) for axis in range(3))
    mask = mask if scores.shape[1] == 1 else tf.broadcast_to(mask, [batch, queries, source])
    places, scores = (tf.transpose(tf.reshape(x, [batch * queries, source])) for x in (mask, scores))
    scores = tf.maximum(tf.where(places, scores, tf.zeros_like(scores)), _NEVER)
    both, ways = _both(scores), _both(places)
    kept = _Kept(ways, ways & (tf.cumsum(tf.cast(ways, tf.int32), axis=0) > 1))
    pairwise = tf.stack([pairwise, tf.transpose(pairwise)], axis=2)[..., None]
    found = _log_odds(tf.stop_gradient(both), tf.stop_gradient(pairwise), kept)
    odds = _known_log_odds(both, pairwise, kept, found)
    weights = tf.sigmoid(odds[:, 0] + tf.reverse(odds[:, 1], [0]) - scores)
    weights = tf.where(places, weights, tf.zeros_like(weights))
    return tf.reshape(tf.transpose(weights), [batch, queries, source])
