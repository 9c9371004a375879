"""Encoders of symbols: embeddings, and a recurrent network over them."""

from typing import Any, ClassVar

import keras
import tensorflow as tf

from seqattn_tf.core.masking import row_lengths
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoder.base import Encoder, Read, Tensors, weighed
from seqattn_tf.recurrent import Bidirectional, Network, Recurrent, Stack


class SymbolEncoder(Encoder):
    """Reads ids `[batch, source]`; id 0 is padding and is never read. The summary is the last output.

    Args:
        vocabulary: number of ids.
        units: state size of each layer and direction.
        embedding: size of a symbol's embedding.
        cell: name of the recurrent cell.
        depth: number of layers.
        dropout: rate on embeddings and values, in training.
        embedding_dropout: rate on embeddings, where it is another; None: as `dropout`.
        embeddings_initializer: how embeddings begin, as in Keras.
        residual: whether the outputs of a layer are added to those of the next.
        reads: the name of the input.

    >>> encoder = BidirectionalEncoder(30, units=8, embedding=4)
    >>> encoder({"text_ids": tf.ones([2, 5], tf.int32)}).values.shape.as_list()
    [2, 5, 16]
    """

    both_ways: ClassVar[bool]
    network: Network

    def __init__(
        self,
        vocabulary: int,
        units: int = 128,
        embedding: int = 64,
        cell: str = "gru",
        depth: int = 1,
        dropout: float = 0.0,
        embedding_dropout: float | None = None,
        embeddings_initializer: Any = "glorot_uniform",
        residual: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.vocabulary = check_count("vocabulary", vocabulary)
        self.units, self.cell, self.depth = units, cell, check_count("depth", depth)
        alike = {"dtype": self.dtype_policy}
        self.embedding = keras.layers.Embedding(
            vocabulary, embedding, embeddings_initializer=embeddings_initializer, **alike
        )
        self.drop = self.drop_symbols = keras.layers.Dropout(dropout, **alike)
        self.embedding_dropout, self.residual = embedding_dropout, residual
        if embedding_dropout is not None:
            self.drop_symbols = keras.layers.Dropout(embedding_dropout, **alike)
        if depth > 1:
            self.network = Stack(cell, units, depth, self.both_ways, residual=residual, dropout=dropout, **alike)
        else:
            self.network = (Bidirectional if self.both_ways else Recurrent)(cell, units=units, **alike)

    def build(self, input_shape: Any = None) -> None:
        """Build every part; the shapes follow from the arguments."""
        self.embedding.build((None, None))
        self.network.build((None, None, self.embedded_size))
        self.built = True

    @property
    def embedded_size(self) -> int:
        """Numbers that stand for a symbol before the network reads it."""
        return self.embedding.output_dim

    def embed(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """Symbols by themselves: `[batch, source, embedded_size]`."""
        return self.drop_symbols(self.embedding(self.part(tensors, "ids")), training=training)

    def symbols_of(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """What the network reads: symbols, those erased being zero; `[batch, source, embedded_size]`."""
        return weighed(self.embed(tensors, training), self.kept(tensors))

    @property
    def output_size(self) -> int:
        """Of the network."""
        return self.network.output_size

    @property
    def summary_size(self) -> int:
        """Of the network."""
        return self.network.output_size

    def call(self, tensors: Tensors, training: bool = False) -> Read:
        """An output for each symbol."""
        mask = tf.not_equal(self.part(tensors, "ids"), 0)
        found = self.network.read(self.symbols_of(tensors, training), mask=mask, training=training)
        return Read(self.drop(found.outputs, training=training), mask, self.network.final_output(found.states))

    def places_read(self, tensors: Tensors) -> tf.Tensor:
        """Symbols that are not padding."""
        return row_lengths(self.part(tensors, "ids") != 0)

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {
            "vocabulary": self.vocabulary,
            "units": self.units,
            "embedding": self.embedding.output_dim,
            "cell": self.cell,
            "depth": self.depth,
            "dropout": self.drop.rate,
            "embedding_dropout": self.embedding_dropout,
            "embeddings_initializer": keras.initializers.serialize(self.embedding.embeddings_initializer),
            "residual": self.residual,
        }


@keras.saving.register_keras_serializable("seqattn_tf")
class BidirectionalEncoder(SymbolEncoder):
    """Reads symbols from both ends."""

    name_in_registry = "bidirectional"
    both_ways = True


@keras.saving.register_keras_serializable("seqattn_tf")
class ForwardEncoder(SymbolEncoder):
    """Reads symbols from the first to the last."""

    name_in_registry = "forward"
    both_ways = False
