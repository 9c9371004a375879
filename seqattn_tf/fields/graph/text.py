"""Texts as ids, in the graph."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from seqattn_tf.column import Column, Padded
from seqattn_tf.fields.graph.base import GraphField, Reading, Tensors
from seqattn_tf.masking import length_mask
from seqattn_tf.text.rules import PAD
from seqattn_tf.text.symbols import SymbolTokenizer


def at_most(limit: int, rows: tf.Tensor, name: str) -> tf.Tensor:
    """The rows `[batch, length]` themselves, after making sure in the graph that they are not too long."""
    length = tf.shape(rows)[1]
    message = f"{name}: expected at most {limit} symbols, received"
    with tf.control_dependencies([tf.debugging.Assert(length <= limit, [message, length])]):
        return tf.identity(rows)


class GraphText(GraphField):
    """The twin of `Text`."""

    tensors = {"ids": tf.TensorSpec([None, None], tf.int32)}  # [batch, symbols]

    def __init__(self, field: Any, name: str) -> None:
        super().__init__(field, name)
        self.tokenizer = SymbolTokenizer(field.rules)

    def tokens(self, raw: tf.Tensor) -> tf.Tensor:
        """The symbols of each text: `[batch] -> [batch, symbols]`, empty strings after the last."""
        return self.tokenizer.tokens(raw)

    def read(self, raw: tf.Tensor) -> Reading:
        """Ids, and the symbols as places."""
        tokens = at_most(self.field.limit, self.tokens(raw), self.input_name)
        return Reading({"ids": self.tokenizer.lookup(tokens)}, {"": tokens})

    def column(self, values: Sequence[Any]) -> Column:
        """All ids in memory."""
        stretches = self.field.stretches(values)
        return Padded("ids", stretches.ids, stretches.starts)

    @property
    def wire(self) -> dict[str, tf.TensorSpec]:
        """Ids and how many of them are meant: a server pads a batch with anything."""
        return {**self.tensors, "lengths": tf.TensorSpec([None], tf.int32)}

    def to_wire(self, raw: tf.Tensor) -> Tensors:
        """Ids and lengths."""
        tokens = self.tokens(raw)
        lengths = tf.reduce_sum(tf.cast(tokens != "", tf.int32), axis=1)
        return {"ids": self.tokenizer.lookup(tokens), "lengths": lengths}

    def from_wire(self, sent: Tensors) -> Tensors:
        """Ids alone, padding after those that are meant."""
        ids = at_most(self.field.limit, sent["ids"], f"{self.input_name}_ids")
        return {"ids": tf.where(length_mask(sent["lengths"], tf.shape(ids)[1]), ids, PAD)}
