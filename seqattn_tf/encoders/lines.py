"""Lines of symbols: one network over the symbols of each line and another over the lines, with values from both."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.registry import check_count
from seqattn_tf.encoders.base import EncoderOutput, Tensors, weighed
from seqattn_tf.encoders.symbols import SymbolEncoder
from seqattn_tf.encoders.turns import Turns, fold, fold_alike, unfold
from seqattn_tf.recurrent import HierarchicalEncoder, Recurrent


class FoldingEncoder(SymbolEncoder):
    """The base class of encoders of ids `[batch, source]` with a mark between lines, read as `[batch, lines, symbols]`.

    A subclass wraps the network over symbols in a `HierarchicalEncoder`.

    Args:
        vocabulary: The number of ids.
        mark: The id between two lines.
        max_lines: The maximum number of lines to read, counted from the end.
        max_line_length: The maximum number of symbols to read per line. None for all.
        **arguments: The arguments of a `SymbolEncoder`. `depth` applies to the network over symbols.
    """

    field_type = "lines"
    one_per_token = False
    both_ways = True
    network: HierarchicalEncoder

    def __init__(
        self, vocabulary: int, mark: int, max_lines: int, max_line_length: int | None, **arguments: Any
    ) -> None:
        super().__init__(vocabulary, **arguments)
        self.mark, self.max_lines = check_count("mark", mark), check_count("max_lines", max_lines)
        self.max_line_length = None if max_line_length is None else check_count("max_line_length", max_line_length)

    def build(self, input_shape: Any = None) -> None:
        self.embedding.build((None, None))
        self.network.build((None, None, None, self.embedding.output_dim))
        self.built = True

    def _folded(self, tensors: Tensors) -> Turns:
        return fold(self.part(tensors, "ids"), self.mark, self.max_lines, self.max_line_length)

    def _embed_folded(self, folded: Turns, tensors: Tensors, training: bool) -> tf.Tensor:
        """Return the embeddings of the symbols, zero for erased ones: `[batch, lines, symbols, embedding]`."""
        embedded = self.drop_symbols(self.embedding(folded.ids), training=training)
        return weighed(embedded, fold_alike(self.token_weights(tensors), folded))

    @property
    def arguments(self) -> dict[str, Any]:
        return {
            **super().arguments,
            "mark": self.mark,
            "max_lines": self.max_lines,
            "max_line_length": self.max_line_length,
        }


@keras.saving.register_keras_serializable("seqattn_tf")
class LineEncoder(FoldingEncoder):
    """An encoder of lines, such as sentences or turns, with one value per symbol.

    The arguments are those of `FoldingEncoder`.

    >>> encoder = LineEncoder(30, mark=9, max_lines=2, units=8, embedding=4)
    >>> encoder({"text_ids": tf.constant([[5, 9, 6, 7]])}).values.shape.as_list()
    [1, 4, 24]
    """

    name_in_registry = "hierarchical"

    def __init__(
        self, vocabulary: int, mark: int, max_lines: int = 4, max_line_length: int | None = None, **arguments: Any
    ) -> None:
        super().__init__(vocabulary, mark, max_lines, max_line_length, **arguments)
        outer = Recurrent(self.cell, units=self.units, dtype=self.dtype_policy)
        self.network = HierarchicalEncoder(self.network, outer, dtype=self.dtype_policy)

    @property
    def output_size(self) -> int:
        """The size of a symbol in its line and of the lines up to it."""
        return self.network.inner.output_size + self.summary_size

    @property
    def summary_size(self) -> int:
        return self.network.outer.output_size

    def call(self, tensors: Tensors, training: bool = False) -> EncoderOutput:
        """Return one value per symbol that is read."""
        folded = self._folded(tensors)
        ids = folded.ids
        mask = tf.not_equal(ids, 0)
        found = self.network.read(self._embed_folded(folded, tensors, training), mask, training)
        shape = tf.concat([tf.shape(ids), tf.shape(found.outputs)[2:]], axis=0)
        around = tf.broadcast_to(found.outputs[:, :, None], shape)
        values = tf.concat([found.inner_outputs, around], axis=-1)  # each symbol, and the lines up to its own
        flat = tf.shape(values)[1] * tf.shape(values)[2]
        values = tf.reshape(values, [tf.shape(values)[0], flat, values.shape[-1]])
        summary = self.network.outer.final_output(found.states)
        return EncoderOutput(self.drop(values, training=training), tf.reshape(mask, [tf.shape(mask)[0], flat]), summary)

    def to_positions(self, weights: tf.Tensor, tensors: Tensors) -> tf.Tensor:
        """Map weights to the positions of the symbols in the text; marks and unread lines get zeros."""
        return unfold(weights, self._folded(tensors).places)
