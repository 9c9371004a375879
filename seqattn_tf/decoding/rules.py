"""Rules that restrict the symbols and the length of outputs, for all decoding methods.

A rule excludes symbols, but does not change the scores of the others. The score of an output is its log-probability
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
LOWEST = -1e30  # logits below it count as -inf


@dataclasses.dataclass(frozen=True)
class Rules:
    """The rules for an output.

    Args:
        begin, end: The symbol before the first one, either one for all rows or `[batch]`, and the symbol that ends an
            output.
        max_length: The number of symbols after which an output is cut off without an end.
        row_lengths: The maximum length for each row, `[batch]`.
        never: The symbols to exclude.
        allowed: A mask `[vocabulary]` or `[batch, vocabulary]`, True for allowed symbols. The end counts as a symbol.
        min_length: The minimum number of symbols before an output may end.
        no_repeat: The length of n-grams that may occur only once in an output. 0 for no such rule.
        prefix: The symbols that each row starts with, regardless of the other rules, `[batch, n]` padded with 0. They
            are part of the output and of its score.
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
            raise ValueError(
                f"min_length: expected at most max_length = {self.max_length}. Received: {self.min_length}"
            )
        self._settle("begin", tf.convert_to_tensor(self.begin, tf.int32), (0, 1))
        if self.row_lengths is not None:
            self._settle("row_lengths", tf.convert_to_tensor(self.row_lengths, tf.int32), (1,))
        if self.allowed is not None:
            self._settle("allowed", tf.convert_to_tensor(self.allowed), (1, 2))
            if self.allowed.dtype != tf.bool:
                raise ValueError(f"allowed: expected booleans, True = allowed. Received: {self.allowed.dtype.name}")
        if self.prefix is not None:
            self._settle("prefix", tf.convert_to_tensor(self.prefix, tf.int32), (2,))
            if (self.prefix.shape[1] or 0) > self.max_length:
                raise ValueError(
                    f"prefix: expected at most max_length = {self.max_length} tokens. Received: {self.prefix.shape[1]}"
                )

    def _settle(self, name: str, tensor: tf.Tensor, ranks: tuple[int, ...]) -> None:
        if tensor.shape.rank not in ranks:
            expected = " or ".join(map(str, ranks))
            raise ValueError(f"{name}: expected a tensor of rank {expected}. Received: shape {tensor.shape}")
        object.__setattr__(self, name, tensor)

    def limits(self, batch: tf.Tensor) -> tf.Tensor:
        """Return the maximum length of the output of each row, `[batch]`; values below 1 mean no output."""
        if self.row_lengths is None:
            return tf.fill([batch], self.max_length)
        return tf.minimum(self.row_lengths, self.max_length)

    def first(self, batch: tf.Tensor) -> tf.Tensor:
        """Return the symbols before the first step: `[batch]`."""
        if self.begin.shape.rank == 0:
            return tf.fill([batch], self.begin)
        rows = tf.get_static_value(batch)
        if rows is not None and not self.begin.shape.is_compatible_with([rows]):
            raise ValueError(f"begin: expected one token, or one for each of {rows} rows. Received: {self.begin.shape}")
        return self.begin

    def for_beams(self, width: int) -> "Rules":
        """Return the rules with those of each row repeated for all its beams."""
        wide = {"prefix": self.prefix, "allowed": self.allowed}
        wide = {name: tf.repeat(one, width, 0) for name, one in wide.items() if one is not None and one.shape.rank == 2}
        return dataclasses.replace(self, **wide)

    def empty_history(self, rows: tf.Tensor) -> tuple:
        """Return the initial history of symbols that the rules need: `([rows, max_length],)`, or nothing."""
        return (tf.zeros([rows, self.max_length], tf.int32),) if self.no_repeat else ()

    def hear(self, said: tuple, time: tf.Tensor, tokens: tf.Tensor) -> tuple:
        """Add the symbols `[rows]` of a step to the history."""
        return tuple(tf.where(tf.range(self.max_length) == time, tf.expand_dims(tokens, 1), before) for before in said)

    def apply(self, logits: tf.Tensor, time: tf.Tensor, said: tf.Tensor | None = None) -> tf.Tensor:
        """Set the logits `[rows, vocabulary]` of symbols that are not allowed at this step to `-inf`.

        Args:
            logits: The logits of the model.
            time: The number of symbols so far.
            said: The symbols so far, `[rows, max_length]`; required for `no_repeat`.
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
        """Return the mask `[rows, vocabulary]` of the prefix, or of `masks` where the prefix has ended."""
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
    """Return False for the given symbols and True for the others: `[size]`."""
    if isinstance(size, int):
        return tf.constant(~np.isin(np.arange(size), list(symbols)))
    return tf.reduce_all(tf.range(size) != tf.constant(list(symbols), tf.int32)[:, None], axis=0)


def _repeating(said: tf.Tensor, time: tf.Tensor, count: int, size: tf.Tensor | int) -> tf.Tensor:
    """Return True for symbols that would repeat an n-gram of `count` symbols: `[rows, max_length] -> [rows, size]`.

    These are the symbols that followed each earlier occurrence of the last `count - 1` symbols.
    """
    rows, length = tf.shape(said)[0], said.shape[1]
    places = max(length - count + 1, 0)  # the possible start positions of an n-gram
    same = tf.fill([rows, places], True) & (tf.range(places) <= time - count)
    for i in range(count - 1):
        last = tf.gather(said, tf.maximum(time - count + 1 + i, 0), axis=1)[:, None]
        same = same & (said[:, i : i + places] == last)
    after = tf.where(same, said[:, count - 1 : count - 1 + places], 0)
    index = tf.stack([tf.broadcast_to(tf.range(rows)[:, None], tf.shape(after)), after], axis=-1)
    return tf.scatter_nd(index, tf.cast(same, tf.int32), [rows, size]) > 0


def possible(logits: tf.Tensor) -> tf.Tensor:
    """Return the logits in single precision, with `-inf` in place of NaN and very low values."""
    logits = tf.cast(logits, tf.float32)
    return tf.where(logits > LOWEST, logits, IMPOSSIBLE)


def log_total(logits: tf.Tensor) -> tf.Tensor:
    """Return `log sum exp` of each row, `[rows, vocabulary] -> [rows]`; NaN if no symbol is possible."""
    most = tf.reduce_max(logits, axis=-1, keepdims=True)
    return tf.squeeze(most, -1) + tf.math.log(tf.reduce_sum(tf.exp(logits - most), axis=-1))


def log_probability(logit: tf.Tensor, total: tf.Tensor) -> tf.Tensor:
    """Return `logit - total`, or `-inf` if no symbol is possible."""
    found = logit - total
    return tf.where(found > LOWEST, found, IMPOSSIBLE)
