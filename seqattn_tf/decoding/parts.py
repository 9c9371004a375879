"""Decoding of one batch on several cores."""

import itertools
from collections.abc import Callable
from typing import Any

import tensorflow as tf


def in_parts(decode: Callable[..., Any], parts: int) -> Callable[..., Any]:
    """Return a function that decodes the rows of a batch in parallel parts, each compiled by XLA.

    On a CPU, most operations of a step are too small for more than one core, so parallel parts are faster than a single
    one. In addition, a part is done as soon as its own rows have ended. Every batch size is compiled once.

    Args:
        decode: A function of tensors with the batch on their leading axis, which returns a structure of such tensors.
        parts: The number of parts, best no more than there are cores and rows.

    >>> from collections import namedtuple
    >>> from seqattn_tf.decoding import greedy
    >>> Memory = namedtuple("Memory", "mask")
    >>> def count(mask):
    ...     step = lambda token, state, memory: (tf.one_hot(token + 1, 5) * 99.0, tf.cast(mask, tf.float32), state)
    ...     return greedy(step, (), Memory(mask), begin=0, end=4, max_length=4)
    >>> in_parts(count, 2)(tf.ones([5, 1], tf.bool)).tokens.shape.as_list()
    [5, 4]
    """
    if parts < 1:
        raise ValueError(f"parts: expected a number of at least 1. Received: {parts}")
    compiled = tf.function(decode, jit_compile=True, autograph=False)

    @tf.function(autograph=False)
    def run(*tensors: tf.Tensor) -> Any:
        rows = tensors[0].shape[0]
        if rows is None:
            raise ValueError("tensors: expected a known batch size. Received: None")
        ends = [rows * part // parts for part in range(parts + 1)]
        places = [slice(*pair) for pair in itertools.pairwise(ends) if pair[0] < pair[1]] or [slice(None)]
        found = [compiled(*(one[place] for one in tensors)) for place in places]
        return tf.nest.map_structure(lambda *each: tf.concat(each, axis=0), *found)

    return run
