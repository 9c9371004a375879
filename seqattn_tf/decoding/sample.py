"""Sampling: a random symbol at every step."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from seqattn_tf.core.scan import size_of
from seqattn_tf.decoding.best import best
from seqattn_tf.decoding.loop import Decoded, generate
from seqattn_tf.decoding.rules import IMPOSSIBLE, Rules, Step
from seqattn_tf.structured.semirings import step_seed, uniform


def sample(
    step: Step,
    state: Any,
    memory: Any,
    *,
    seed: tf.Tensor | Sequence[int],
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    begin: Any,
    end: int,
    max_length: int,
    **rules: Any,
) -> Decoded:
    """Decode by sampling every symbol from the model's distribution, restricted by the rules, `top_k` and `top_p`.

        y_t ~ softmax(logits_t / temperature)        over the remaining symbols

    The output depends only on the seed, whether run eagerly, in a graph or under XLA. The score is the log-probability
    under the model itself, over all symbols and without the temperature.

    Args:
        step, state, memory, begin, end, max_length: As in `greedy`.
        seed: Two integers.
        temperature: Below 1, probable symbols are drawn more often than their probability; near 0, only the best.
        top_k: The number of best symbols to sample from. 0 for all.
        top_p: The probability mass to sample from: the smallest set of best symbols that reaches it at this
            temperature.
        **rules: As in `greedy`. They apply before `top_k` and `top_p`.

    >>> from collections import namedtuple
    >>> memory = namedtuple("Memory", "mask")(tf.ones([3, 1], tf.bool))
    >>> coin = lambda token, state, memory: (tf.constant([[-99.0, 0.0, 0.0]] * 3), tf.ones([3, 1]), state)
    >>> sample(coin, (), memory, seed=[0, 1], begin=0, end=0, max_length=4).tokens.numpy().tolist()
    [[2, 1, 2, 1], [2, 2, 1, 1], [1, 1, 2, 2]]
    """
    _check(temperature, top_k, top_p)
    seed = tf.convert_to_tensor(seed)
    if not seed.dtype.is_integer or not seed.shape.is_compatible_with([2]):
        raise ValueError(f"seed: expected two integers. Received: shape {seed.shape}")

    def noise(left: tf.Tensor, time: tf.Tensor) -> tf.Tensor:
        return uniform(tf.shape(left), step_seed(seed, time), tf.float32)

    choose = drawing(temperature, top_k, top_p, noise)
    return generate(step, choose, state, memory, Rules(begin, end, max_length, **rules))


def drawing(
    temperature: float, top_k: int, top_p: float, noise: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
) -> Callable[[tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor]]:
    """Return a `choose` function for `generate` that samples as `sample` does, with the given noise.

    Args:
        temperature, top_k, top_p: As in `sample`.
        noise: A function `(logits [batch, n], time) -> [batch, n]` that returns numbers between 0 and 1 for the
            candidates.

    >>> choose = drawing(1.0, top_k=1, top_p=1.0, noise=lambda left, time: 0.5 * tf.ones_like(left))
    >>> choose(tf.constant([[0.0, 3.0, 1.0]]), tf.constant(0))[0].numpy().tolist()
    [1]
    """

    def choose(logits: tf.Tensor, time: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        ranked = top_k > 0 or not _is(top_p, 1.0)
        left, symbols = best(logits, top_k or size_of(logits, -1)) if ranked else (logits, None)
        heated = left / temperature
        if not _is(top_p, 1.0):
            before = tf.cumsum(tf.nn.softmax(heated), axis=-1, exclusive=True)
            heated = tf.where(before < top_p, heated, IMPOSSIBLE)
        gumbel = -tf.math.log(-tf.math.log(noise(heated, time)))
        place = tf.argmax(heated + gumbel, axis=-1, output_type=tf.int32)
        chosen = tf.gather(symbols, place, batch_dims=1) if ranked else place
        return chosen, tf.gather(left, place, batch_dims=1)

    return choose


def _check(temperature: float, top_k: int, top_p: float) -> None:
    """Check the arguments, except for those that are only known in the graph."""
    if isinstance(temperature, int | float) and not temperature > 0:
        raise ValueError(f"temperature: expected a number above 0. Received: {temperature}")
    if top_k < 0:
        raise ValueError(f"top_k: expected a number of at least 0. Received: {top_k}")
    if isinstance(top_p, int | float) and not 0 < top_p <= 1:
        raise ValueError(f"top_p: expected a number above 0, at most 1. Received: {top_p}")


def _is(value: Any, number: float) -> bool:
    return isinstance(value, int | float) and value == number
