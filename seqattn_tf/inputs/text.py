"""Texts as ids, in the graph."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from seqattn_tf.core.columns import Column, RaggedColumn
from seqattn_tf.core.masking import length_mask
from seqattn_tf.inputs.base import FieldTensors, GraphField, Tensors
from seqattn_tf.lite.fields.text import Text
from seqattn_tf.lite.text.rules import PAD, UNKNOWN
from seqattn_tf.text.symbols import SymbolTokenizer


def check_length(limit: int, length: tf.Tensor, name: str) -> tf.Operation:
    """Return an assertion that a length is within the limit, on which the ops that use the text must depend."""
    message = f"{name}: expected at most {limit} symbols, received"
    return tf.debugging.Assert(length <= limit, [message, length])


def at_most(limit: int, cut: tf.RaggedTensor, name: str) -> tf.Tensor:
    """Pad symbols `[batch, (symbols)]` to `[batch, longest]` with empty strings, if no row is longer than the limit.

    The lengths are checked first, because a single long row would make the whole padded batch large.
    """
    longest = tf.reduce_max(tf.concat([cut.row_lengths(), [0]], axis=0))
    with tf.control_dependencies([check_length(limit, longest, name)]):
        return cut.with_values(tf.identity(cut.values)).to_tensor("")


class GraphText(GraphField):
    """The graph counterpart of `Text`."""

    name_in_registry = "text"

    field: Text
    tensors = {"ids": tf.TensorSpec([None, None], tf.int32)}  # [batch, symbols]

    def __init__(self, field: Text, name: str) -> None:
        super().__init__(field, name)
        self.tokenizer = SymbolTokenizer(field.rules)

    def cut(self, raw: tf.Tensor) -> tf.RaggedTensor:
        """Return the symbols of each text: `[batch] -> [batch, (symbols)]`."""
        return self.tokenizer.cut(raw)

    def word_ids(self, words: tf.Tensor) -> tf.Tensor:
        """Return the ids of words of any shape in their original spelling; the counterpart of `Text.word_ids`."""
        folded = self.tokenizer.normalise(words)
        return tf.where((folded == "") & (words != ""), UNKNOWN, self.tokenizer.lookup(folded))

    def read(self, raw: tf.Tensor) -> FieldTensors:
        """Return the ids, with the symbols as positions."""
        tokens = at_most(self.field.limit, self.cut(raw), self.input_name)
        return FieldTensors({"ids": self.tokenizer.lookup(tokens)}, {"": tokens})

    def column(self, values: Sequence[Any]) -> Column:
        """Return all ids in memory."""
        stretches = self.field.stretches(values)
        return RaggedColumn("ids", stretches.ids, stretches.starts)

    @property
    def wire(self) -> dict[str, tf.TensorSpec]:
        """The specs of the ids and of their lengths, which are needed because servers pad with arbitrary values."""
        return {**self.tensors, "lengths": tf.TensorSpec([None], tf.int32)}

    def to_wire(self, raw: tf.Tensor) -> Tensors:
        """Return ids and lengths."""
        cut = self.cut(raw)
        lengths = tf.cast(cut.row_lengths(), tf.int32)
        return {"ids": self.tokenizer.lookup(cut.to_tensor("")), "lengths": lengths}

    def from_wire(self, sent: Tensors) -> Tensors:
        """Check the length of the ids and set those beyond the lengths to padding."""
        ids, limit = sent["ids"], self.field.limit
        with tf.control_dependencies([check_length(limit, tf.shape(ids)[1], f"{self.input_name}_ids")]):
            ids = tf.identity(ids)
        return {"ids": tf.where(length_mask(sent["lengths"], tf.shape(ids)[1]), ids, PAD)}
