"""Sampling: a symbol drawn at every step."""

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
    """Decode by drawing every symbol from what the model and the rules leave to choose from.

        y_t ~ softmax(logits_t / temperature)        over the symbols that the rules, `top_k` and `top_p` leave

    One seed gives one answer, eagerly, in a graph and under XLA. The score is the log-probability of the answer under
    the model itself: without the temperature, and with all symbols.

    Args:
        step, state, memory, begin, end, max_length: as in `greedy`.
        seed: two integers.
        temperature: below 1, probable symbols are drawn more often than the model says; near 0, only the best.
        top_k: only so many symbols, the best ones, are drawn from; 0: all.
        top_p: only the best symbols that together have this probability, at the given temperature, are drawn from: as
            few as reach it.
        **rules: as in `greedy`; they are applied before `top_k` and `top_p`.

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
    """The way to choose of `generate`: as `sample`, by any noise.

    Args:
        temperature, top_k, top_p: as in `sample`.
        noise: `(logits [batch, n], time) -> [batch, n]`, numbers between 0 and 1 for the symbols to draw from.

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
    """Refuse what makes no sense; what is only known in the graph passes."""
    if isinstance(temperature, int | float) and not temperature > 0:
        raise ValueError(f"temperature: expected a number above 0. Received: {temperature}")
    if top_k < 0:
        raise ValueError(f"top_k: expected a number of at least 0. Received: {top_k}")
    if isinstance(top_p, int | float) and not 0 < top_p <= 1:
        raise ValueError(f"top_p: expected a number above 0, at most 1. Received: {top_p}")


def _is(value: Any, number: float) -> bool:
    return isinstance(value, int | float) and value == number
