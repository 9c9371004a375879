"""Words in two vocabularies, one of them a parser's, in the graph."""

import tensorflow as tf

from seqattn_tf.inputs.base import Tensors
from seqattn_tf.inputs.text import GraphText
from seqattn_tf.inputs.words import GraphWords
from seqattn_tf.lite.fields.parsed import ParsedWords
from seqattn_tf.lite.fields.text import Text
from seqattn_tf.lite.text.rules import PAD


class GraphParsedWords(GraphWords):
    """The graph counterpart of `ParsedWords`."""

    name_in_registry = "parsed_words"

    field: ParsedWords

    def __init__(self, field: ParsedWords, name: str) -> None:
        super().__init__(field, name)
        self.parsed = GraphText(Text(field.parsed), name)
        self.tensors = {**self.tensors, "parsed_ids": tf.TensorSpec([None, None], tf.int32)}

    def _encode(self, words: tf.Tensor) -> Tensors:
        return {**super()._encode(words), "parsed_ids": self.parsed.word_ids(words)}

    def from_wire(self, sent: Tensors) -> Tensors:
        found = super().from_wire(sent)
        return {**found, "parsed_ids": tf.where(found["ids"] != PAD, sent["parsed_ids"], PAD)}
