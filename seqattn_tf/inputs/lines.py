"""Texts of several lines as ids, in the graph."""

import tensorflow as tf

from seqattn_tf.inputs.base import FieldTensors
from seqattn_tf.inputs.text import GraphText, at_most
from seqattn_tf.lite.text.lines import BREAK, MARK, SENTENCES
from seqattn_tf.lite.text.rules import SPACES


def split_lines(raw: tf.Tensor, sentences: bool = False) -> tf.RaggedTensor:
    """Split each text into lines, without blank ones: `[batch] -> [batch, (lines)]`."""
    texts = tf.strings.unicode_transcode(raw, "UTF-8", "UTF-8", errors="replace")
    for pattern, replacement in SENTENCES if sentences else ():
        texts = tf.strings.regex_replace(texts, pattern, replacement)
    texts = tf.strings.regex_replace(texts, BREAK, MARK)
    return tf.strings.split(tf.strings.regex_replace(texts, f"^[{SPACES}]+|[{SPACES}]+$", ""), MARK)


class GraphLines(GraphText):
    """The graph counterpart of `Lines`."""

    name_in_registry = "lines"

    def cut(self, raw: tf.Tensor) -> tf.RaggedTensor:
        """Return the symbols of all lines of each text, with marks between lines."""
        return self._cut(split_lines(raw, self.field.split_sentences))

    def _cut(self, lines: tf.RaggedTensor) -> tf.RaggedTensor:
        cut = self.tokenizer.cut(lines.flat_values)  # [all lines, (symbols)]
        marked = tf.concat([tf.fill([cut.nrows(), 1], MARK), cut], axis=1)
        rows = tf.RaggedTensor.from_row_splits(marked, lines.row_splits).merge_dims(1, 2)
        return rows[:, 1:]

    def read(self, raw: tf.Tensor) -> FieldTensors:
        """Return the ids, with symbols and lines as positions."""
        lines, limit = split_lines(raw, self.field.split_sentences), self.field.limit
        tokens = at_most(limit, self._cut(lines), self.input_name)
        shown = at_most(limit + 1, lines, self.input_name)  # n lines have n - 1 marks, which are symbols
        return FieldTensors({"ids": self.tokenizer.lookup(tokens)}, {"": tokens, "lines": shown})
