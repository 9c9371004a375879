"""Encoders of symbols: embeddings and a recurrent network over them."""

from typing import Any, ClassVar

import keras
import tensorflow as tf

from seqattn_tf.cells import Cell
from seqattn_tf.core.masking import row_lengths
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoders.base import Encoder, EncoderOutput, Tensors, weighed
from seqattn_tf.recurrent import Bidirectional, Network, Recurrent, Stack


class SymbolEncoder(Encoder):
    """An encoder of ids `[batch, source]`; id 0 is padding and is never read. The summary is the last output.

    Args:
        vocabulary: The number of ids.
        units: The state size of each layer and direction.
        embedding: The size of a symbol embedding.
        cell: The name of the recurrent cell.
        depth: The number of layers.
        dropout: The dropout rate of embeddings and values, in training.
        embedding_dropout: The dropout rate of embeddings, if different. None for the same as `dropout`.
        embeddings_initializer: The initializer of the embeddings, as in Keras.
        residual: Whether to add the outputs of a layer to those of the next.
        activation: The activation of the candidates and outputs of the cells; empty for the default of the cell. With
            `"linear"`, an `"rnn"` can accumulate sums.
        input_name: The name of the input.

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
        activation: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.vocabulary = check_count("vocabulary", vocabulary)
        self.units, self.cell, self.depth = units, cell, check_count("depth", depth)
        self.activation = activation
        alike = {"dtype": self.dtype_policy}
        self.embedding = keras.layers.Embedding(
            vocabulary, embedding, embeddings_initializer=embeddings_initializer, **alike
        )
        self.drop = self.drop_symbols = keras.layers.Dropout(dropout, **alike)
        self.embedding_dropout, self.residual = embedding_dropout, residual
        if embedding_dropout is not None:
            self.drop_symbols = keras.layers.Dropout(embedding_dropout, **alike)
        kind = Bidirectional if self.both_ways else Recurrent
        shaped = {"activation": activation} if activation else {}
        layers = [kind(Cell.get(cell, units=units, **shaped, **alike), **alike) for _ in range(depth)]
        self.network = Stack(layers, residual=residual, dropout=dropout, **alike) if depth > 1 else layers[0]

    def build(self, input_shape: Any = None) -> None:
        self.embedding.build((None, None))
        self.network.build((None, None, self.embedded_size))
        self.built = True

    @property
    def embedded_size(self) -> int:
        """The size of a symbol before the network reads it."""
        return self.embedding.output_dim

    def embed(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """Return the embedded symbols: `[batch, source, embedded_size]`."""
        return self.drop_symbols(self.embedding(self.part(tensors, "ids")), training=training)

    def symbols_of(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """Return the symbols that the network reads, zero for erased ones: `[batch, source, embedded_size]`."""
        return weighed(self.embed(tensors, training), self.token_weights(tensors))

    @property
    def output_size(self) -> int:
        return self.network.output_size

    @property
    def summary_size(self) -> int:
        return self.network.output_size

    def call(self, tensors: Tensors, training: bool = False) -> EncoderOutput:
        """Return one value per symbol."""
        mask = tf.not_equal(self.part(tensors, "ids"), 0)
        found = self.network.read(self.symbols_of(tensors, training), mask=mask, training=training)
        return EncoderOutput(self.drop(found.outputs, training=training), mask, self.network.final_output(found.states))

    def input_lengths(self, tensors: Tensors) -> tf.Tensor:
        """Return the number of symbols without padding."""
        return row_lengths(self.part(tensors, "ids") != 0)

    @property
    def arguments(self) -> dict[str, Any]:
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
            "activation": self.activation,
        }


@keras.saving.register_keras_serializable("seqattn_tf")
class BidirectionalEncoder(SymbolEncoder):
    """An encoder that reads symbols in both directions."""

    name_in_registry = "bidirectional"
    both_ways = True


@keras.saving.register_keras_serializable("seqattn_tf")
class ForwardEncoder(SymbolEncoder):
    """An encoder that reads symbols from first to last."""

    name_in_registry = "forward"
    both_ways = False
