"""Documents: one network over the words of each line and another over the lines, with one value per line."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.pooling import pooling
from seqattn_tf.encoders.base import EncoderOutput, Tensors
from seqattn_tf.encoders.lines import FoldingEncoder
from seqattn_tf.encoders.turns import at_lines, unfold
from seqattn_tf.recurrent import Bidirectional, HierarchicalEncoder


@keras.saving.register_keras_serializable("seqattn_tf")
class DocumentEncoder(FoldingEncoder):
    """A document encoder of ids `[batch, source]`, in which a mark separates lines, with one value per line.

    With `pool="attention"` and attention over the values, this is a hierarchical attention network (Yang et al., 2016).

    Args:
        vocabulary: The number of ids.
        mark: The id between two lines.
        max_lines: The maximum number of lines to read, counted from the end.
        max_line_length: The maximum number of words to read per line. None for all.
        pool: How a line becomes one vector: `"last"`, `"average"` or `"attention"`.
        **arguments: The arguments of a `SymbolEncoder`. `depth` applies to the network over words.

    >>> encoder = DocumentEncoder(30, mark=9, max_lines=2, units=8, embedding=4)
    >>> read = encoder({"text_ids": tf.constant([[5, 9, 6, 7]])})
    >>> read.values.shape.as_list(), read.attention[""].shape.as_list()
    ([1, 2, 16], [1, 1, 4])
    """

    name_in_registry = "document"
    level = "lines"

    def __init__(
        self,
        vocabulary: int,
        mark: int,
        max_lines: int = 48,
        max_line_length: int | None = None,
        pool: str = "attention",
        **arguments: Any,
    ) -> None:
        super().__init__(vocabulary, mark, max_lines, max_line_length, **arguments)
        self.pool = pool
        alike = {"dtype": self.dtype_policy}
        outer = Bidirectional(self.cell, units=self.units, **alike)
        self.network = HierarchicalEncoder(self.network, outer, pooling(pool, 2 * self.units, **alike), **alike)

    @property
    def attention_levels(self) -> list[str]:
        """The words, if the encoder pools them by attention."""
        return [""] if self.pool == "attention" else []

    def call(self, tensors: Tensors, training: bool = False) -> EncoderOutput:
        """Return one value per line."""
        folded = self._folded(tensors)
        ids, places = folded
        mask = ids != 0
        found = self.network.read(self._embed_folded(folded, tensors, training), mask, training)
        looks = {}
        if self.attention_levels:
            flat = tf.reshape(found.weights, [tf.shape(ids)[0], 1, tf.shape(ids)[1] * tf.shape(ids)[2]])
            looks[""] = unfold(flat, places)
        summary = self.network.outer.final_output(found.states)
        return EncoderOutput(self.drop(found.outputs, training=training), tf.reduce_any(mask, axis=-1), summary, looks)

    def to_positions(self, weights: tf.Tensor, tensors: Tensors) -> tf.Tensor:
        """Map the weights of the lines that were read (the last ones) to all lines of the text."""
        return at_lines(weights, self.part(tensors, "ids"), self.mark)

    @property
    def arguments(self) -> dict[str, Any]:
        return {**super().arguments, "pool": self.pool}
