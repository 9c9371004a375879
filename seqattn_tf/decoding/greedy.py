"""Greedy decoding: the most probable symbol at every step."""

from typing import Any

import tensorflow as tf

from seqattn_tf.decoding.best import LARGE, best
from seqattn_tf.decoding.loop import Decoded, generate
from seqattn_tf.decoding.rules import Rules, Step


def greedy(step: Step, state: Any, memory: Any, *, begin: Any, end: int, max_length: int, **rules: Any) -> Decoded:
    """Decode by taking the best symbol at every step.

    Args:
        step: A function `step(tokens, state, memory) -> (logits, weights, state)`.
        state: The state before the first step, a structure of tensors with the batch on their leading axis.
        memory: The memory that the step attends to, with a `mask: [batch, source]`, True = keep.
        begin, end: The symbol before the first one, either one for all rows or `[batch]`, and the symbol that ends an
            output.
        max_length: The number of symbols after which an output is cut off.
        **rules: `row_lengths`, `never`, `allowed`, `min_length`, `no_repeat`, `prefix`. See `Rules`.

    >>> from collections import namedtuple
    >>> memory = namedtuple("Memory", "mask")(tf.constant([[True]]))
    >>> count = lambda token, state, memory: (tf.one_hot(token + 1, 5) * 99.0, tf.ones([1, 1]), state)
    >>> greedy(count, (), memory, begin=0, end=4, max_length=9).tokens.numpy().tolist()
    [[1, 2, 3, 0, 0, 0, 0, 0, 0]]
    """

    def choose(logits: tf.Tensor, time: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        if (logits.shape[-1] or 0) < LARGE:
            return tf.argmax(logits, axis=-1, output_type=tf.int32), tf.reduce_max(logits, axis=-1)
        values, tokens = best(logits, 1)
        return tokens[:, 0], values[:, 0]

    return generate(step, choose, state, memory, Rules(begin, end, max_length, **rules))
