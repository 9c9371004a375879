"""Greedy decoding: the most probable symbol at every step."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from seqattn_tf.decoding.loop import Decoded, Limits, generate
from seqattn_tf.scan import size_of

BANNED = -1e30  # finite, so that a table of minus infinities still has a best symbol


def greedy(
    step: Callable[[tf.Tensor, Any, Any], tuple[tf.Tensor, tf.Tensor, Any]],
    state: Any,
    memory: Any,
    *,
    begin: int,
    end: int,
    max_length: int,
    row_lengths: tf.Tensor | None = None,
    never: Sequence[int] = (),
) -> Decoded:
    """Decode by taking the best symbol at every step.

    Args:
        step: `step(tokens, state, memory) -> (logits, weights, state)`.
        state: the state before the first step, a structure of tensors with the batch on their leading axis.
        memory: what the step looks at; its `mask: [batch, source]` is True where there is something.
        begin, end: the symbol before the first and the one that ends an answer.
        max_length: an answer that has not ended by then is cut there.
        row_lengths: `[batch]`, the same for each row.
        never: symbols that are not chosen, however probable.

    >>> from collections import namedtuple
    >>> memory = namedtuple("Memory", "mask")(tf.constant([[True]]))
    >>> count = lambda token, state, memory: (tf.one_hot(token + 1, 5) * 99.0, tf.ones([1, 1]), state)
    >>> greedy(count, (), memory, begin=0, end=4, max_length=9).tokens.numpy().tolist()
    [[1, 2, 3, 0, 0, 0, 0, 0, 0]]
    """

    def best(log_probabilities: tf.Tensor) -> tf.Tensor:
        size = size_of(log_probabilities, -1)
        banned = tf.reduce_sum(tf.one_hot(list(never), size, on_value=BANNED), axis=0) if never else 0.0
        return tf.argmax(log_probabilities + banned, axis=-1, output_type=tf.int32)

    return generate(step, best, state, memory, Limits(begin, end, max_length, row_lengths))
