"""Symbols, in the graph."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from seqattn_tf.column import Column, Padded
from seqattn_tf.targets.graph.base import GraphTarget, Tensors
from seqattn_tf.targets.symbols import Symbols
from seqattn_tf.text.rules import BEGIN, END, PAD
from seqattn_tf.text.symbols import SymbolTokenizer

SHIFTED = "shifted"  # the right symbols as a decoder is shown them: the beginning first, the end not


class GraphSymbols(GraphTarget):
    """The twin of `Symbols`; a right answer ends with the id of the end."""

    target: Symbols
    padding = PAD

    def __init__(self, target: Symbols) -> None:
        super().__init__(target)
        self.tokenizer = SymbolTokenizer(target.rules)

    def column(self, values: Sequence[Any]) -> Column:
        """All ids in memory."""
        stretches = self.target.stretches(values)
        return Padded("tokens", stretches.ids, stretches.starts, end=END)

    def teach(self, rows: Tensors) -> Tensors:
        """The symbols before each."""
        tokens = rows["tokens"]
        return {SHIFTED: tf.concat([tf.fill([tf.shape(tokens)[0], 1], BEGIN), tokens[:, :-1]], axis=1)}

    def texts(self, found: Tensors) -> tf.Tensor:
        """The symbols of each answer, joined."""
        return self.tokenizer.decode(found["tokens"])

    def tokens(self, found: Tensors) -> tf.Tensor:
        """The symbols of the best answers, as many as the longest has."""
        best = found["tokens"][:, 0]
        lengths = tf.reduce_sum(tf.cast(best != PAD, tf.int32), axis=1)
        return self.tokenizer.names(best[:, : tf.reduce_max(tf.concat([lengths, [0]], axis=0))])
