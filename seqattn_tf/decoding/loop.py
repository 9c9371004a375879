"""The generation loop: one `tf.while_loop`, because generation stops early.

Results are written into buffers of the full length, which is what XLA, LiteRT and a dynamic batch all accept.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from seqattn_tf.scan import hold, size_of


class Decoded(NamedTuple):
    """What every decoder returns."""

    tokens: tf.Tensor  # [batch, max_length] int32, the end symbol excluded, zeros after the answer
    scores: tf.Tensor  # [batch] float32, log-probability of the answer, its end included
    lengths: tf.Tensor  # [batch] int32, number of symbols
    attention: tf.Tensor  # [batch, max_length, source] float32, zeros after the answer


class Limits(NamedTuple):
    """Where generation begins and where it ends."""

    begin: int
    end: int
    max_length: int  # of any row
    row_lengths: tf.Tensor | None = None  # [batch], of each row


class _Progress(NamedTuple):
    time: tf.Tensor  # []
    last: tf.Tensor  # [batch] the symbols just chosen
    running: tf.Tensor  # [batch] True until the end symbol
    state: Any
    result: Decoded


def generate(
    step: Callable[[tf.Tensor, Any, Any], tuple[tf.Tensor, tf.Tensor, Any]],
    choose: Callable[[tf.Tensor], tf.Tensor],
    state: Any,
    memory: Any,
    limits: Limits,
) -> Decoded:
    """Call `step(tokens, state, memory) -> (logits, weights, state)` until every row has ended.

    Args:
        step: the step function.
        choose: `log_probabilities [batch, vocabulary] -> tokens [batch]`.
        state: the state before the first step; rows that have ended keep theirs.
        memory: handed to every step as it is; its mask says how long the attention is.
        limits: begin and end symbols and the length.
    """
    batch, source = tf.unstack(tf.shape(memory.mask))

    def body(now: _Progress) -> list[_Progress]:
        logits, weights, state = step(now.last, now.state, memory)
        log_probabilities = tf.nn.log_softmax(tf.cast(logits, tf.float32))
        chosen = choose(log_probabilities)
        gained = tf.reduce_sum(log_probabilities * tf.one_hot(chosen, size_of(logits, -1)), axis=-1)
        goes_on = tf.logical_and(now.running, tf.not_equal(chosen, limits.end))
        if limits.row_lengths is not None:
            goes_on = tf.logical_and(goes_on, now.time < limits.row_lengths)
        here = tf.equal(tf.range(limits.max_length), now.time)  # [max_length]
        write = tf.logical_and(goes_on[:, None], here)  # [batch, max_length]
        result = Decoded(
            tf.where(write, chosen[:, None], now.result.tokens),
            now.result.scores + tf.where(now.running, gained, 0.0),
            now.result.lengths + tf.cast(goes_on, tf.int32),
            tf.where(write[..., None], tf.cast(weights, tf.float32)[:, None], now.result.attention),
        )
        return [_Progress(now.time + 1, chosen, goes_on, hold(goes_on, state, now.state), result)]

    empty = Decoded(
        tf.zeros([batch, limits.max_length], tf.int32),
        tf.zeros([batch], tf.float32),
        tf.zeros([batch], tf.int32),
        tf.zeros([batch, limits.max_length, source], tf.float32),
    )
    start = _Progress(tf.constant(0), tf.fill([batch], limits.begin), tf.fill([batch], True), state, empty)
    [end] = tf.while_loop(lambda now: tf.reduce_any(now.running), body, [start], maximum_iterations=limits.max_length)
    return end.result
