"""The generation loop of greedy decoding and of sampling, with one output per row.

The loop is a single `tf.while_loop`, because it stops when every row has ended. It writes its outputs to arrays of the
maximum length.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from seqattn_tf.core.scan import to_time_major, where_rows
from seqattn_tf.decoding.record import Record, alike, record, stacked, write
from seqattn_tf.decoding.rules import IMPOSSIBLE, Rules, Step, log_probability, log_total, possible


class Decoded(NamedTuple):
    """One output for each row. A row without any possible output gets the empty one with a score of `-inf`."""

    tokens: tf.Tensor  # [batch, max_length] int32, without the end symbol, zero-padded
    scores: tf.Tensor  # [batch] float32, log-probability, including the end unless cut off
    lengths: tf.Tensor  # [batch] int32, number of symbols
    attention: tf.Tensor  # [batch, max_length, source] float32, zero-padded


class _Progress(NamedTuple):
    time: tf.Tensor  # []
    last: tf.Tensor  # [batch] the last symbols
    running: tf.Tensor  # [batch] True until the end symbol
    state: Any
    scores: tf.Tensor  # [batch]
    lengths: tf.Tensor  # [batch]
    said: tuple  # ([batch, max_length],) if a rule needs the previous symbols
    tokens: Record
    attention: Record


def generate(
    step: Step,
    choose: Callable[[tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor]],
    state: Any,
    memory: Any,
    rules: Rules,
) -> Decoded:
    """Call `step(tokens, state, memory) -> (logits, weights, state)` until every row has ended.

    Args:
        step: The step function.
        choose: A function `(logits [batch, vocabulary], time) -> (tokens [batch], their logits [batch])`.
        state: The state before the first step.
        memory: The memory passed to every step. Its mask determines the size of the attention.
        rules: The rules that restrict the symbols.
    """
    batch = tf.shape(memory.mask)[0]
    limits = rules.limits(batch)

    def body(now: _Progress) -> list[_Progress]:
        logits, weights, state = step(now.last, now.state, memory)
        logits = possible(logits)
        chosen, logit = choose(rules.apply(logits, now.time, *now.said), now.time)
        gained = log_probability(logit, log_total(logits))
        speaks = now.running & (chosen != rules.end) & (gained > IMPOSSIBLE)
        goes_on = speaks if rules.row_lengths is None else speaks & (now.time + 1 < limits)
        chosen = tf.where(speaks, chosen, 0)
        weights = tf.where(tf.expand_dims(speaks, 1), tf.cast(weights, tf.float32), 0.0)
        after = _Progress(
            now.time + 1,
            chosen,
            goes_on,
            state,
            now.scores + tf.where(now.running, gained, 0.0),
            now.lengths + tf.cast(speaks, tf.int32),
            rules.hear(now.said, now.time, chosen),
            write(now.tokens, now.time, chosen),
            write(now.attention, now.time, weights),
        )
        return [alike(after, now)]

    start = _Progress(
        tf.constant(0),
        rules.first(batch),
        limits > 0,
        state,
        tf.zeros([batch], tf.float32),
        tf.zeros([batch], tf.int32),
        rules.empty_history(batch),
        record(tf.zeros_like(limits), rules.max_length),
        record(tf.zeros_like(memory.mask, tf.float32), rules.max_length),
    )
    [end] = tf.while_loop(lambda now: tf.reduce_any(now.running), body, [start], maximum_iterations=rules.max_length)
    found = Decoded(
        to_time_major(stacked(end.tokens, 1)), end.scores, end.lengths, to_time_major(stacked(end.attention, 2))
    )
    nothing = tf.nest.map_structure(tf.zeros_like, found)._replace(scores=found.scores)
    return where_rows(found.scores > IMPOSSIBLE, found, nothing)
