"""Words and their letters, in the graph."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.core.columns import Column, ColumnGroup, RaggedColumn
from seqattn_tf.core.masking import length_mask
from seqattn_tf.inputs.base import FieldTensors, Tensors
from seqattn_tf.inputs.lines import split_lines
from seqattn_tf.inputs.text import GraphText, at_most
from seqattn_tf.lite.fields.words import SPACED, Words
from seqattn_tf.lite.text.lines import MARK
from seqattn_tf.lite.text.rules import PAD
from seqattn_tf.text.symbols import SymbolTokenizer, normalise, split


class GraphWords(GraphText):
    """The graph counterpart of `Words`."""

    name_in_registry = "words"

    field: Words

    def __init__(self, field: Words, name: str) -> None:
        super().__init__(field, name)
        self.letters = SymbolTokenizer(field.letters)
        shape = [None, None, field.max_word_length]
        self.tensors = {**GraphText.tensors, "letters": tf.TensorSpec(shape, tf.int32)}

    def cut(self, raw: tf.Tensor) -> tf.RaggedTensor:
        """Return the words of each text: one per line in a text of several lines, and otherwise by the rules."""
        texts = tf.strings.unicode_transcode(raw, "UTF-8", "UTF-8", errors="replace")
        several = tf.strings.regex_full_match(texts, f"(?s).*{SPACED}.*")
        listed = tf.strings.regex_full_match(texts, f"(?s).*{MARK}.*") & ~several
        words = split(normalise(tf.where(listed, "", texts)), self.field.rules.tokenizer)
        lines = split_lines(normalise(tf.where(listed, texts, "")))
        return tf.concat([words, tf.ragged.boolean_mask(lines, lines != "")], axis=1)

    def _encode(self, words: tf.Tensor) -> Tensors:
        """Return the tensors of words `[batch, words]`, which are padded with empty strings."""
        return {"ids": self.word_ids(words), "letters": self._spell(words)}

    def _spell(self, words: tf.Tensor) -> tf.Tensor:
        """Return the ids of the letters of each word: `[batch, words] -> [batch, words, max_word_length]`."""
        most = self.field.max_word_length
        front = most // 2
        flat = tf.reshape(words, [-1])
        length = tf.strings.length(flat, unit="UTF8_CHAR")
        start = tf.where(length > most, length - (most - front), 0)
        ends = [
            tf.strings.substr(flat, tf.zeros_like(length), tf.fill(tf.shape(length), front), unit="UTF8_CHAR"),
            tf.strings.substr(flat, start, tf.fill(tf.shape(length), most - front), unit="UTF8_CHAR"),
        ]
        kept = tf.where(length > most, tf.strings.join(ends), flat)
        letters = tf.strings.unicode_split(kept, "UTF-8").to_tensor("", shape=[None, most])
        return tf.reshape(self.letters.lookup(letters), tf.concat([tf.shape(words), [most]], axis=0))

    def read(self, raw: tf.Tensor) -> FieldTensors:
        """Return the ids of words and letters, with the words as positions."""
        words = at_most(self.field.limit, self.cut(raw), self.input_name)
        return FieldTensors(self._encode(words), {"": words})

    def column(self, values: Sequence[Any]) -> Column:
        """Return all ids in memory."""
        cut = self.field.cut(values)
        numbers, starts = self.field.numbers(cut.tokens), np.asarray(cut.starts)
        return ColumnGroup([RaggedColumn(name, known[cut.flat], starts) for name, known in numbers.items()])

    def to_wire(self, raw: tf.Tensor) -> Tensors:
        """Return ids and lengths."""
        cut = self.cut(raw)
        return {**self._encode(cut.to_tensor("")), "lengths": tf.cast(cut.row_lengths(), tf.int32)}

    def from_wire(self, sent: Tensors) -> Tensors:
        there = length_mask(sent["lengths"], tf.shape(sent["ids"])[1])[..., None]
        return {**super().from_wire(sent), "letters": tf.where(there, sent["letters"], PAD)}
