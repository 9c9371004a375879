"""The graph counterpart of symbols."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from seqattn_tf.core.columns import Column, RaggedColumn
from seqattn_tf.lite.targets.symbols import Symbols
from seqattn_tf.lite.text.rules import BEGIN, END, PAD
from seqattn_tf.outputs.base import GraphTarget, Tensors
from seqattn_tf.text.symbols import SymbolTokenizer

SHIFTED = "shifted"  # the decoder inputs: the correct symbols after a begin symbol, without the end


def turned(rows: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    """Reverse the first `lengths [...]` positions of each row `[..., time]` and leave the others in place.

    The entries of a row may have an axis of their own: `[..., time, n]`.

    >>> turned(tf.constant([[3, 4, 5, 0], [6, 0, 0, 0]]), tf.constant([3, 1])).numpy().tolist()
    [[5, 4, 3, 0], [6, 0, 0, 0]]
    """
    lengths, place = lengths[..., None], tf.range(tf.shape(rows)[lengths.shape.rank])
    places = tf.where(place < lengths, lengths - 1 - place, place)
    return tf.gather(rows, places, batch_dims=places.shape.rank - 1)


def ended(ids: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    """Append the end symbol to each row of ids: `[..., time], [...] -> [..., time + 1]`.

    >>> ended(tf.constant([[3, 4], [5, 0]]), tf.constant([2, 1])).numpy().tolist()
    [[3, 4, 2], [5, 2, 0]]
    """
    room = tf.pad(ids, [[0, 0]] * (ids.shape.rank - 1) + [[0, 1]])
    return tf.where(tf.range(tf.shape(room)[-1]) == lengths[..., None], END, room)


class GraphSymbols(GraphTarget):
    """The graph counterpart of `Symbols`. A correct answer ends with the id of the end symbol."""

    name_in_registry = "symbols"

    target: Symbols
    padding = PAD

    def __init__(self, target: Symbols) -> None:
        super().__init__(target)
        self.tokenizer = SymbolTokenizer(target.rules)

    def column(self, values: Sequence[Any]) -> Column:
        stretches = self.target.stretches(values)
        return RaggedColumn("tokens", stretches.ids, stretches.starts, end=END)

    def teacher_inputs(self, rows: Tensors) -> Tensors:
        """Return the symbols before each step."""
        tokens = rows["tokens"]
        return {SHIFTED: tf.concat([tf.fill([tf.shape(tokens)[0], 1], BEGIN), tokens[:, :-1]], axis=1)}

    def in_order(self, rows: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
        """Convert a network's outputs per symbol to reading order, or back.

        If the target is generated in reverse, this reverses each row as `turned` does; otherwise rows are unchanged.
        """
        return turned(rows, lengths) if self.target.backwards else rows

    def texts(self, found: Tensors) -> tf.Tensor:
        """Return the symbols of each answer, joined."""
        return self.tokenizer.decode(found["tokens"])

    def tokens(self, found: Tensors) -> tf.Tensor:
        """Return the symbols of the best answers, padded to the longest one."""
        best = found["tokens"][:, 0]
        lengths = tf.reduce_sum(tf.cast(best != PAD, tf.int32), axis=1)
        return self.tokenizer.names(best[:, : tf.reduce_max(tf.concat([lengths, [0]], axis=0))])
