"""Lines of symbols: one network over the symbols of each line, another over the lines, both looked at together."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.registry import check_count
from seqattn_tf.encoder.base import Read, Tensors, weighed
from seqattn_tf.encoder.symbols import SymbolEncoder
from seqattn_tf.encoder.turns import Turns, fold, fold_alike, unfold
from seqattn_tf.recurrent import HierarchicalEncoder, Recurrent


class FoldingEncoder(SymbolEncoder):
    """Reads ids `[batch, source]` with a mark between two lines as `[batch, lines, symbols]`.

    A subclass puts a `HierarchicalEncoder` around the network over symbols.

    Args:
        vocabulary: number of ids.
        mark: the id between two lines.
        lines: how many lines to read, the last ones.
        line_length: of each line how many symbols; None for all.
        **arguments: of a `SymbolEncoder`; `depth` is that of the network over symbols.
    """

    takes = "lines"
    one_each = False
    both_ways = True
    network: HierarchicalEncoder

    def __init__(self, vocabulary: int, mark: int, lines: int, line_length: int | None, **arguments: Any) -> None:
        super().__init__(vocabulary, **arguments)
        self.mark, self.lines = check_count("mark", mark), check_count("lines", lines)
        self.line_length = None if line_length is None else check_count("line_length", line_length)

    def build(self, input_shape: Any = None) -> None:
        """Build every part; the shapes follow from the arguments."""
        self.embedding.build((None, None))
        self.network.build((None, None, None, self.embedding.output_dim))
        self.built = True

    def _folded(self, tensors: Tensors) -> Turns:
        return fold(self.part(tensors, "ids"), self.mark, self.lines, self.line_length)

    def _embed_folded(self, folded: Turns, tensors: Tensors, training: bool) -> tf.Tensor:
        """The symbols by themselves, those erased being zero: `[batch, lines, symbols, embedding]`."""
        embedded = self.drop_symbols(self.embedding(folded.ids), training=training)
        return weighed(embedded, fold_alike(self.kept(tensors), folded))

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().arguments, "mark": self.mark, "lines": self.lines, "line_length": self.line_length}


@keras.saving.register_keras_serializable("seqattn_tf")
class LineEncoder(FoldingEncoder):
    """Reads lines, a sentence or a turn each, and gives a value for each symbol; arguments as of `FoldingEncoder`.

    >>> encoder = LineEncoder(30, mark=9, lines=2, units=8, embedding=4)
    >>> encoder({"text_ids": tf.constant([[5, 9, 6, 7]])}).values.shape.as_list()
    [1, 4, 24]
    """

    name_in_registry = "hierarchical"

    def __init__(
        self, vocabulary: int, mark: int, lines: int = 4, line_length: int | None = None, **arguments: Any
    ) -> None:
        super().__init__(vocabulary, mark, lines, line_length, **arguments)
        outer = Recurrent(self.cell, units=self.units, dtype=self.dtype_policy)
        self.network = HierarchicalEncoder(self.network, outer, dtype=self.dtype_policy)

    @property
    def output_size(self) -> int:
        """Of a symbol in its line, and of the lines until then."""
        return self.network.inner.output_size + self.summary_size

    @property
    def summary_size(self) -> int:
        """Of the network over lines."""
        return self.network.outer.output_size

    def call(self, tensors: Tensors, training: bool = False) -> Read:
        """An output for each symbol that is read."""
        folded = self._folded(tensors)
        ids = folded.ids
        mask = tf.not_equal(ids, 0)
        found = self.network.read(self._embed_folded(folded, tensors, training), mask, training)
        shape = tf.concat([tf.shape(ids), tf.shape(found.outputs)[2:]], axis=0)
        around = tf.broadcast_to(found.outputs[:, :, None], shape)
        values = tf.concat([found.inner_outputs, around], axis=-1)  # a symbol, and the lines until its own
        flat = tf.shape(values)[1] * tf.shape(values)[2]
        values = tf.reshape(values, [tf.shape(values)[0], flat, values.shape[-1]])
        summary = self.network.outer.final_output(found.states)
        return Read(self.drop(values, training=training), tf.reshape(mask, [tf.shape(mask)[0], flat]), summary)

    def at_places(self, weights: tf.Tensor, tensors: Tensors) -> tf.Tensor:
        """Back to where each symbol stands in the text; marks, and lines that are not read, get nothing."""
        return unfold(weights, self._folded(tensors).places)
