"""What may be said, and how much of it: the rules that every way of decoding follows.

A rule takes symbols away; it never changes what the others are worth. The score of an answer is its log-probability
under the model, as if there were no rules.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.core.scan import size_of

Step = Callable[[tf.Tensor, Any, Any], tuple[tf.Tensor, tf.Tensor, Any]]

IMPOSSIBLE = -float("inf")
LOWEST = -1e30  # a logit below it is a way of saying "never"


@dataclasses.dataclass(frozen=True)
class Rules:
    """What an answer may be.

    Args:
        begin, end: the symbol before the first, one for all or `[batch]`, and the one that ends an answer.
        max_length: an answer that has not ended after so many symbols is cut there, without an end.
        row_lengths: `[batch]`, the same for each row.
        never: symbols that are not said, however probable.
        allowed: `[vocabulary]` or `[batch, vocabulary]`, True for what may be said. The end counts as a symbol.
        min_length: an answer does not end before it has so many symbols.
        no_repeat: so many symbols in a row are never said twice in one answer; 0: no such rule.
        prefix: `[batch, n]`, padded with 0: symbols that a row begins with, whatever the other rules say. They are
            part of the answer, and of its score.
    """

    begin: Any
    end: int
    max_length: int
    row_lengths: Any = None
    never: Sequence[int] = ()
    allowed: Any = None
    min_length: int = 0
    no_repeat: int = 0
    prefix: Any = None

    def __post_init__(self) -> None:
        for name, least in (("max_length", 1), ("min_length", 0), ("no_repeat", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}: expected a number of at least {least}. Received: {getattr(self, name)}")
        if self.min_length > self.max_length:
            raise ValueError(f"min_length: expected at most {self.max_length}, max_length. Received: {self.min_length}")
        self._settle("begin", tf.convert_to_tensor(self.begin, tf.int32), (0, 1))
        if self.row_lengths is not None:
            self._settle("row_lengths", tf.convert_to_tensor(self.row_lengths, tf.int32), (1,))
        if self.allowed is not None:
            self._settle("allowed", tf.convert_to_tensor(self.allowed), (1, 2))
            if self.allowed.dtype != tf.bool:
                raise ValueError(f"allowed: expected booleans, True = may be said. Received: {self.allowed.dtype.name}")
        if self.prefix is not None:
            self._settle("prefix", tf.convert_to_tensor(self.prefix, tf.int32), (2,))
            if (self.prefix.shape[1] or 0) > self.max_length:
                raise ValueError(
                    f"prefix: expected at most {self.max_length} symbols, max_length. Received: {self.prefix.shape[1]}"
                )

    def _settle(self, name: str, tensor: tf.Tensor, ranks: tuple[int, ...]) -> None:
        if tensor.shape.rank not in ranks:
            expected = " or ".join(map(str, ranks))
            raise ValueError(f"{name}: expected a tensor of rank {expected}. Received: shape {tensor.shape}")
        object.__setattr__(self, name, tensor)

    def limits(self, batch: tf.Tensor) -> tf.Tensor:
        """How many symbols the answer of each row may have, none if the number is not positive: `[batch]`."""
        if self.row_lengths is None:
            return tf.fill([batch], self.max_length)
        return tf.minimum(self.row_lengths, self.max_length)

    def first(self, batch: tf.Tensor) -> tf.Tensor:
        """The symbols before the first step: `[batch]`."""
        if self.begin.shape.rank == 0:
            return tf.fill([batch], self.begin)
        rows = tf.get_static_value(batch)
        if rows is not None and not self.begin.shape.is_compatible_with([rows]):
            raise ValueError(
                f"begin: expected one symbol, or one for each of {rows} rows. Received: {self.begin.shape}"
            )
        return self.begin

    def for_beams(self, width: int) -> "Rules":
        """The rules of each row, for every beam of it."""
        wide = {"prefix": self.prefix, "allowed": self.allowed}
        wide = {name: tf.repeat(one, width, 0) for name, one in wide.items() if one is not None and one.shape.rank == 2}
        return dataclasses.replace(self, **wide)

    def empty_history(self, rows: tf.Tensor) -> tuple:
        """What the rules keep of what was said, before anything is: `([rows, max_length],)`, or nothing."""
        return (tf.zeros([rows, self.max_length], tf.int32),) if self.no_repeat else ()

    def hear(self, said: tuple, time: tf.Tensor, tokens: tf.Tensor) -> tuple:
        """The same after the symbols `[rows]` of this time."""
        return tuple(tf.where(tf.range(self.max_length) == time, tokens[:, None], before) for before in said)

    def apply(self, logits: tf.Tensor, time: tf.Tensor, said: tf.Tensor | None = None) -> tf.Tensor:
        """The logits `[rows, vocabulary]` of what may be said at this time; those of the rest are `-inf`.

        Args:
            logits: as the model gives them.
            time: how many symbols have been said.
            said: `[rows, max_length]`, these symbols; needed for `no_repeat`.
        """
        size = size_of(logits, -1)
        masks = []
        if self.never:
            masks.append(_all_but(self.never, size))
        if self.allowed is not None:
            masks.append(self.allowed)
        if self.min_length:
            masks.append(_all_but([self.end], size) | (time >= self.min_length))
        if self.no_repeat:
            masks.append(~_repeating(said, time, self.no_repeat, size))
        if self.prefix is not None:
            return tf.where(self._led(masks, time, size), logits, IMPOSSIBLE)
        return tf.where(_all(masks), logits, IMPOSSIBLE) if masks else logits

    def _led(self, masks: list[tf.Tensor], time: tf.Tensor, size: tf.Tensor | int) -> tf.Tensor:
        """What the prefix says where it says something, and else what the masks say: `[rows, vocabulary]`."""
        padding = [[0, 0], [0, tf.maximum(self.max_length - tf.shape(self.prefix)[1], 0)]]
        led = tf.gather(tf.pad(self.prefix, padding), time, axis=1)[:, None]
        free = led == 0
        free = free & _all(masks) if masks else free
        return free | ((led == tf.range(size)) & (led != 0))


def _all(masks: list[tf.Tensor]) -> tf.Tensor:
    first, *others = masks
    for mask in others:
        first = first & mask
    return first


def _all_but(symbols: Sequence[int], size: tf.Tensor | int) -> tf.Tensor:
    """False for the symbols, True for the others: `[size]`."""
    if isinstance(size, int):
        return tf.constant(~np.isin(np.arange(size), list(symbols)))
    return tf.reduce_all(tf.range(size) != tf.constant(list(symbols), tf.int32)[:, None], axis=0)


def _repeating(said: tf.Tensor, time: tf.Tensor, count: int, size: tf.Tensor | int) -> tf.Tensor:
    """True for a symbol that would say `count` symbols again: `[rows, max_length] -> [rows, size]`.

    Wherever the last `count - 1` symbols stood before, what came after them is not to come again.
    """
    rows, length = tf.shape(said)[0], said.shape[1]
    places = max(length - count + 1, 0)  # where something of that length may begin
    same = tf.fill([rows, places], True) & (tf.range(places) <= time - count)
    for i in range(count - 1):
        last = tf.gather(said, tf.maximum(time - count + 1 + i, 0), axis=1)[:, None]
        same = same & (said[:, i : i + places] == last)
    after = tf.where(same, said[:, count - 1 : count - 1 + places], 0)
    index = tf.stack([tf.broadcast_to(tf.range(rows)[:, None], tf.shape(after)), after], axis=-1)
    return tf.scatter_nd(index, tf.cast(same, tf.int32), [rows, size]) > 0


def possible(logits: tf.Tensor) -> tf.Tensor:
    """The logits in single precision; what is NaN or very low is `-inf`, a symbol that cannot be said."""
    logits = tf.cast(logits, tf.float32)
    return tf.where(logits > LOWEST, logits, IMPOSSIBLE)


def log_total(logits: tf.Tensor) -> tf.Tensor:
    """`log sum exp` of each row, `[rows, vocabulary] -> [rows]`; NaN where nothing is possible."""
    most = tf.reduce_max(logits, axis=-1)
    return most + tf.math.log(tf.reduce_sum(tf.exp(logits - most[:, None]), axis=-1))


def log_probability(logit: tf.Tensor, total: tf.Tensor) -> tf.Tensor:
    """`logit - total`, and `-inf` where nothing is possible."""
    found = logit - total
    return tf.where(found > LOWEST, found, IMPOSSIBLE)
