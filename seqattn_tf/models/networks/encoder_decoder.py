"""The encoder-decoder network: an encoder, and an attention decoder that generates symbols."""

import dataclasses
from typing import Any, TypeVar

import keras
import tensorflow as tf

from seqattn_tf.decoders import DecoderOptions, SymbolDecoder
from seqattn_tf.encoders import CONTEXTS, Encoder
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.outputs.symbols import SHIFTED

AnyNetwork = TypeVar("AnyNetwork", bound="EncoderDecoder")
DECODER_OPTIONS = tuple(field.name for field in dataclasses.fields(DecoderOptions))


@keras.saving.register_keras_serializable("seqattn_tf")
class EncoderDecoder(keras.Model):
    """An encoder for any input and an attention decoder over symbols.

    Args:
        encoder: The encoder.
        decoder: The decoder.

    Call arguments: a dict with the tensors that the encoder reads and `shifted [batch, target]`, the target symbols
    after the begin symbol; returns logits `[batch, target, vocabulary]`.

    >>> network = EncoderDecoder.of_symbols(30, 40, units=8, embedding=4)
    >>> network({"text_ids": tf.ones([2, 5], tf.int32), "shifted": tf.ones([2, 3], tf.int32)}).shape.as_list()
    [2, 3, 40]
    """

    def __init__(self, encoder: Encoder, decoder: SymbolDecoder, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if getattr(getattr(decoder.attention, "align", None), "square", False):
            raise ValueError(
                "align: expected an alignment from a query to positions. Received: heads, which are for self-attention"
            )
        self.encoder, self.decoder = encoder, decoder

    @classmethod
    def of_symbols(
        cls: type[AnyNetwork],
        vocabulary: int,
        target_vocabulary: int,
        *,
        units: int = 128,
        embedding: int = 64,
        cell: str = "gru",
        dropout: float = 0.0,
        embedding_dropout: float | None = None,
        embedding_stddev: float = 0.0,
        encoder: str = "bidirectional",
        depth: int = 1,
        residual: bool = True,
        dtype: Any = None,
        **options: Any,
    ) -> AnyNetwork:
        """Create a network from symbols to symbols, given the names of its parts and their common size.

        Args:
            vocabulary, target_vocabulary: The number of ids of the input and of the output.
            units: The size of the state of each encoder direction, of the decoder, of the attention score and of the
                readout.
            embedding: The size of a symbol embedding.
            cell: The name of the recurrent cell.
            dropout: The dropout rate of embeddings, encoder outputs and readout in training.
            embedding_dropout: The dropout rate of embeddings, if different; None for `dropout`.
            embedding_stddev: The standard deviation of the initial embeddings; 0 for Glorot initialization, whose
                values get smaller as the number of symbols grows.
            encoder: `"bidirectional"`; `"forward"`; or `"hierarchical"`, which needs the `mark` between two lines.
            depth: The number of encoder layers.
            residual: Whether there are residual connections between encoder layers.
            dtype: The dtype of all parts.
            **options: Options of the decoder, see `DecoderOptions`; all others are arguments of the encoder.
        """
        alike: dict[str, Any] = {"units": units, "embedding": embedding, "cell": cell, "dropout": dropout}
        alike["dtype"] = dtype
        if embedding_dropout is not None:
            alike["embedding_dropout"] = embedding_dropout
        if embedding_stddev:
            alike["embeddings_initializer"] = keras.initializers.RandomNormal(stddev=embedding_stddev)
        of_decoder = {name: options.pop(name) for name in DECODER_OPTIONS if name in options}
        if not residual:  # the encoder of a plug-in may lack this argument
            options["residual"] = False
        reads = Encoder.get(encoder, vocabulary=vocabulary, depth=depth, **options, **alike)
        return cls.of_encoder(reads, target_vocabulary, **of_decoder, **alike)

    @classmethod
    def of_encoder(
        cls: type[AnyNetwork],
        encoder: Encoder,
        vocabulary: int,
        *,
        units: int = 128,
        embedding: int = 64,
        cell: str = "gru",
        dropout: float = 0.0,
        embedding_dropout: float | None = None,
        embeddings_initializer: Any = "glorot_uniform",
        dtype: Any = None,
        **options: Any,
    ) -> AnyNetwork:
        """Create a network from any encoder to symbols, given the names of the decoder's parts and their common size.

        Args:
            encoder: The encoder.
            vocabulary: The number of symbols.
            units: The size of the decoder, of the attention score and of the readout.
            embedding: The size of a symbol embedding.
            cell: The name of the decoder's recurrent cell.
            dropout: The dropout rate of embeddings and readout in training.
            embedding_dropout: The dropout rate of embeddings, if different; None for `dropout`.
            embeddings_initializer: The initializer of the embeddings, as in Keras.
            dtype: The dtype of all parts.
            **options: Options of the decoder, see `DecoderOptions`; all others are arguments of the network.
        """
        chosen = DecoderOptions(**{name: options.pop(name) for name in DECODER_OPTIONS if name in options})
        if chosen.conditioning not in CONTEXTS:
            raise ValueError(f"conditioning: expected one of {sorted(CONTEXTS)}. Received: {chosen.conditioning!r}")
        says = chosen.make_decoder(
            vocabulary,
            units=units,
            cell=cell,
            dtype=dtype,
            embedding=embedding,
            dropout=dropout,
            embedding_dropout=embedding_dropout,
            embeddings_initializer=embeddings_initializer,
        )
        return cls(CONTEXTS[chosen.conditioning](encoder, dropout), says, **options, dtype=dtype)

    def build(self, input_shape: Any = None) -> None:
        """Build encoder and decoder; the shapes follow from their arguments."""
        if not self.encoder.built:
            self.encoder.build()
        if not self.decoder.built:
            sizes = (None, None, self.encoder.output_size), (None, self.encoder.summary_size)
            self.decoder.build((None, None), *sizes)
        self.built = True

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Build encoder and decoder; no recorded shape is needed."""
        if not self.built:
            self.build()

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """Return teacher-forced logits."""
        read = self.encoder(tensors, training=training)
        logits, _ = self.decoder(tensors[SHIFTED], read.values, mask=read.mask, summary=read.summary, training=training)
        return logits

    def get_config(self) -> dict[str, Any]:
        parts = {name: keras.saving.serialize_keras_object(getattr(self, name)) for name in ("encoder", "decoder")}
        return {**super().get_config(), **parts}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> "EncoderDecoder":
        parts = {name: keras.saving.deserialize_keras_object(config[name]) for name in ("encoder", "decoder")}
        return cls(**{**config, **parts})
