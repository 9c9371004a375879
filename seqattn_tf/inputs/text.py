"""Texts as ids, in the graph."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from seqattn_tf.core.columns import Column, RaggedColumn
from seqattn_tf.core.masking import length_mask
from seqattn_tf.inputs.base import GraphField, Reading, Tensors
from seqattn_tf.lite.fields.text import Text
from seqattn_tf.lite.text.rules import PAD, UNKNOWN
from seqattn_tf.text.symbols import SymbolTokenizer


def check_length(limit: int, length: tf.Tensor, name: str) -> tf.Operation:
    """What refuses a length in the graph; whatever depends on it is not computed then."""
    message = f"{name}: expected at most {limit} symbols, received"
    return tf.debugging.Assert(length <= limit, [message, length])


def at_most(limit: int, cut: tf.RaggedTensor, name: str) -> tf.Tensor:
    """Symbols `[batch, (symbols)]` as `[batch, longest]`, padded with empty strings where no row is too long.

    One long row would make a large batch of them: the lengths are looked at first.
    """
    longest = tf.reduce_max(tf.concat([cut.row_lengths(), [0]], axis=0))
    with tf.control_dependencies([check_length(limit, longest, name)]):
        return cut.with_values(tf.identity(cut.values)).to_tensor("")


class GraphText(GraphField):
    """The twin of `Text`."""

    name_in_registry = "text"

    field: Text
    tensors = {"ids": tf.TensorSpec([None, None], tf.int32)}  # [batch, symbols]

    def __init__(self, field: Text, name: str) -> None:
        super().__init__(field, name)
        self.tokenizer = SymbolTokenizer(field.rules)

    def cut(self, raw: tf.Tensor) -> tf.RaggedTensor:
        """The symbols of each text: `[batch] -> [batch, (symbols)]`."""
        return self.tokenizer.cut(raw)

    def word_ids(self, words: tf.Tensor) -> tf.Tensor:
        """The ids of words that were cut as they are written, of any shape; the twin of `Text.word_ids`."""
        folded = self.tokenizer.normalise(words)
        return tf.where((folded == "") & (words != ""), UNKNOWN, self.tokenizer.lookup(folded))

    def read(self, raw: tf.Tensor) -> Reading:
        """Ids, and the symbols as places."""
        tokens = at_most(self.field.limit, self.cut(raw), self.input_name)
        return Reading({"ids": self.tokenizer.lookup(tokens)}, {"": tokens})

    def column(self, values: Sequence[Any]) -> Column:
        """All ids in memory."""
        stretches = self.field.stretches(values)
        return RaggedColumn("ids", stretches.ids, stretches.starts)

    @property
    def wire(self) -> dict[str, tf.TensorSpec]:
        """Ids and how many of them are meant: a server pads a batch with anything."""
        return {**self.tensors, "lengths": tf.TensorSpec([None], tf.int32)}

    def to_wire(self, raw: tf.Tensor) -> Tensors:
        """Ids and lengths."""
        cut = self.cut(raw)
        lengths = tf.cast(cut.row_lengths(), tf.int32)
        return {"ids": self.tokenizer.lookup(cut.to_tensor("")), "lengths": lengths}

    def from_wire(self, sent: Tensors) -> Tensors:
        """Ids alone, padding after those that are meant."""
        ids, limit = sent["ids"], self.field.limit
        with tf.control_dependencies([check_length(limit, tf.shape(ids)[1], f"{self.input_name}_ids")]):
            ids = tf.identity(ids)
        return {"ids": tf.where(length_mask(sent["lengths"], tf.shape(ids)[1]), ids, PAD)}
