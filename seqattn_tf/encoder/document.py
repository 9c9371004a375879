"""Documents: one network over the words of each line, another over the lines; the lines are looked at."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.pooling import pooling
from seqattn_tf.encoder.base import Read, Tensors
from seqattn_tf.encoder.lines import FoldingEncoder
from seqattn_tf.encoder.turns import at_lines, unfold
from seqattn_tf.recurrent import Bidirectional, HierarchicalEncoder


@keras.saving.register_keras_serializable("seqattn_tf")
class DocumentEncoder(FoldingEncoder):
    """Reads ids `[batch, source]` with a mark between two lines, a sentence each; gives a value for each line.

    With `pool="attention"`, and attention over the values, it is a hierarchical attention network (Yang et al., 2016).

    Args:
        vocabulary: number of ids.
        mark: the id between two lines.
        lines: how many lines to read, the last ones.
        line_length: of each line how many words; None for all.
        pool: how a line becomes one vector: `"last"`, `"average"`, `"attention"`.
        **arguments: of a `SymbolEncoder`; `depth` is that of the network over words.

    >>> encoder = DocumentEncoder(30, mark=9, lines=2, units=8, embedding=4)
    >>> read = encoder({"text_ids": tf.constant([[5, 9, 6, 7]])})
    >>> read.values.shape.as_list(), read.looks[""].shape.as_list()
    ([1, 2, 16], [1, 1, 4])
    """

    name_in_registry = "document"
    level = "lines"

    def __init__(
        self,
        vocabulary: int,
        mark: int,
        lines: int = 48,
        line_length: int | None = None,
        pool: str = "attention",
        **arguments: Any,
    ) -> None:
        super().__init__(vocabulary, mark, lines, line_length, **arguments)
        self.pool = pool
        alike = {"dtype": self.dtype_policy}
        outer = Bidirectional(self.cell, units=self.units, **alike)
        self.network = HierarchicalEncoder(self.network, outer, pooling(pool, 2 * self.units, **alike), **alike)

    @property
    def looks_at(self) -> list[str]:
        """The words, where it has attention over them."""
        return [""] if self.pool == "attention" else []

    def call(self, tensors: Tensors, training: bool = False) -> Read:
        """An output for each line."""
        folded = self._folded(tensors)
        ids, places = folded
        mask = ids != 0
        found = self.network.read(self._embed_folded(folded, tensors, training), mask, training)
        looks = {}
        if self.looks_at:
            flat = tf.reshape(found.weights, [tf.shape(ids)[0], 1, tf.shape(ids)[1] * tf.shape(ids)[2]])
            looks[""] = unfold(flat, places)
        summary = self.network.outer.final_output(found.states)
        return Read(self.drop(found.outputs, training=training), tf.reduce_any(mask, axis=-1), summary, looks)

    def at_places(self, weights: tf.Tensor, tensors: Tensors) -> tf.Tensor:
        """Weights of the lines read, the last ones, as of all lines of the text."""
        return at_lines(weights, self.part(tensors, "ids"), self.mark)

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().arguments, "pool": self.pool}
