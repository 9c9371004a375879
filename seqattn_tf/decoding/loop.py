"""One answer a row: the generation loop of greedy decoding and of sampling.

The loop is one `tf.while_loop`, because it stops when every row has ended; what it says it writes into arrays of the
full length.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from seqattn_tf.core.scan import to_time_major, where_rows
from seqattn_tf.decoding.record import Record, alike, record, stacked, write
from seqattn_tf.decoding.rules import IMPOSSIBLE, Rules, Step, log_probability, log_total, possible


class Decoded(NamedTuple):
    """One answer for each row. A row that has no possible answer gets the empty one with a score of `-inf`."""

    tokens: tf.Tensor  # [batch, max_length] int32, the end symbol excluded, zeros after the answer
    scores: tf.Tensor  # [batch] float32, log-probability of the answer, its end included unless it was cut
    lengths: tf.Tensor  # [batch] int32, number of symbols
    attention: tf.Tensor  # [batch, max_length, source] float32, zeros after the answer


class _Progress(NamedTuple):
    time: tf.Tensor  # []
    last: tf.Tensor  # [batch] the symbols just chosen
    running: tf.Tensor  # [batch] True until the end symbol
    state: Any
    scores: tf.Tensor  # [batch]
    lengths: tf.Tensor  # [batch]
    said: tuple  # ([batch, max_length],) if a rule asks what was said
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
        step: the step function.
        choose: `(logits [batch, vocabulary], time) -> (tokens [batch], their logits [batch])`.
        state: the state before the first step.
        memory: handed to every step as it is; its mask says how long the attention is.
        rules: what may be chosen.
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
        weights = tf.where(speaks[:, None], tf.cast(weights, tf.float32), 0.0)
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
    found = Decoded(to_time_major(stacked(end.tokens)), end.scores, end.lengths, to_time_major(stacked(end.attention)))
    nothing = tf.nest.map_structure(tf.zeros_like, found)._replace(scores=found.scores)
    return where_rows(found.scores > IMPOSSIBLE, found, nothing)
