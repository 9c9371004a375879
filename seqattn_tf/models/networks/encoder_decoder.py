"""The encoder-decoder network: what reads, and an attention decoder that says symbols."""

from typing import Any, TypeVar

import keras
import tensorflow as tf

from seqattn_tf.attention import Attention
from seqattn_tf.cells import Cell
from seqattn_tf.decoder.symbols import SymbolDecoder
from seqattn_tf.encoder import CONTEXTS, Encoder
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.outputs.symbols import SHIFTED

AnyNetwork = TypeVar("AnyNetwork", bound="EncoderDecoder")


@keras.saving.register_keras_serializable("seqattn_tf")
class EncoderDecoder(keras.Model):
    """An encoder of anything and an attention decoder over symbols.

    Args:
        encoder: what reads.
        decoder: what says.

    Call arguments: a dict with the tensors that the encoder reads and `shifted [batch, target]`, the right symbols with
    the beginning before them; returns logits `[batch, target, vocabulary]`.

    >>> network = EncoderDecoder.of_symbols(30, 40, units=8, embedding=4)
    >>> network({"text_ids": tf.ones([2, 5], tf.int32), "shifted": tf.ones([2, 3], tf.int32)}).shape.as_list()
    [2, 3, 40]
    """

    def __init__(self, encoder: Encoder, decoder: SymbolDecoder, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if getattr(getattr(decoder.attention, "align", None), "square", False):
            raise ValueError("align: expected one of a query to places; heads are for places that look at each other")
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
        score: str = "additive",
        align: str = "softmax",
        dropout: float = 0.0,
        embedding_dropout: float | None = None,
        embedding_stddev: float = 0.0,
        encoder: str = "bidirectional",
        depth: int = 1,
        residual: bool = True,
        decoder: str = "bahdanau",
        context: str = "attention",
        gate: bool = False,
        scheduled_sampling: float = 0.0,
        bridge: str = "all",
        dtype: Any = None,
        **of_encoder: Any,
    ) -> AnyNetwork:
        """Symbols to symbols, all parts by their names and of one size.

        Args:
            vocabulary, target_vocabulary: number of ids on either side.
            units: state size of each encoder direction, of the decoder, of the score and of the readout.
            embedding: size of a symbol's embedding.
            cell: name of the recurrent cell.
            score, align: names of the attention's parts.
            dropout: rate on embeddings, encoder outputs and readout, in training.
            embedding_dropout: rate on embeddings, where it is another; None: as `dropout`.
            embedding_stddev: standard deviation of embeddings before training; 0 for Glorot's, which is the
                smaller the more symbols there are.
            encoder: `"bidirectional"`; `"forward"`; or `"hierarchical"`, which needs the `mark` between two lines.
            depth: layers of the encoder.
            residual: whether the outputs of one are added to those of the next.
            decoder: `"bahdanau"`, `"luong"` or `"stacked"`.
            context: what the decoder sees of the source: `"attention"`; `"input"`, the encoder's summary in its first
                state and at every step; `"state"`, in its first state alone.
            gate: whether the decoder's state also says how much of the context to read.
            scheduled_sampling: scheduled sampling, see `SymbolDecoder`.
            bridge: which first states of the decoder the encoder's summary makes: `"all"` or `"first"`.
            dtype: of all parts.
            **of_encoder: further arguments of the encoder.
        """
        alike: dict[str, Any] = {"units": units, "embedding": embedding, "cell": cell, "dropout": dropout}
        alike["dtype"] = dtype
        if embedding_dropout is not None:
            alike["embedding_dropout"] = embedding_dropout
        if embedding_stddev:
            alike["embeddings_initializer"] = keras.initializers.RandomNormal(stddev=embedding_stddev)
        if not residual:  # an encoder of a plug-in need not have what nobody sets
            of_encoder["residual"] = False
        reads = Encoder.get(encoder, vocabulary=vocabulary, depth=depth, **of_encoder, **alike)
        return cls.of_encoder(
            reads,
            target_vocabulary,
            score=score,
            align=align,
            decoder=decoder,
            context=context,
            gate=gate,
            scheduled_sampling=scheduled_sampling,
            bridge=bridge,
            **alike,
        )

    @classmethod
    def of_encoder(
        cls: type[AnyNetwork],
        encoder: Encoder,
        vocabulary: int,
        *,
        units: int = 128,
        embedding: int = 64,
        cell: str = "gru",
        score: str = "additive",
        align: Any = "softmax",
        dropout: float = 0.0,
        embedding_dropout: float | None = None,
        embeddings_initializer: Any = "glorot_uniform",
        decoder: str = "bahdanau",
        context: str = "attention",
        gate: bool = False,
        scheduled_sampling: float = 0.0,
        bridge: str = "all",
        dtype: Any = None,
        **own: Any,
    ) -> AnyNetwork:
        """Anything that an encoder reads to symbols, the parts of the decoder by their names and of one size.

        Args:
            encoder: what reads.
            vocabulary: number of symbols.
            units: of the decoder, of the score and of the readout.
            embedding: size of a symbol's embedding.
            cell: name of the decoder's recurrent cell.
            score, align: names of the attention's parts, or the parts themselves.
            dropout: rate on embeddings and readout, in training.
            embedding_dropout: rate on embeddings, where it is another; None: as `dropout`.
            embeddings_initializer: how embeddings begin, as in Keras.
            decoder, context, gate, scheduled_sampling, bridge: as in `of_symbols`.
            dtype: of all parts.
            **own: further arguments of the network itself.
        """
        if context not in CONTEXTS:
            raise ValueError(f"context: expected one of {sorted(CONTEXTS)}. Received: {context!r}")
        alike = {"dtype": dtype}
        says = SymbolDecoder.get(
            decoder,
            cell=Cell.get(cell, units=units, **alike),
            attention=Attention(score, align, units=units, gate=gate, **alike),
            vocabulary=vocabulary,
            embedding=embedding,
            readout=units,
            dropout=dropout,
            embedding_dropout=embedding_dropout,
            embeddings_initializer=embeddings_initializer,
            scheduled_sampling=scheduled_sampling,
            bridge=bridge,
            **alike,
        )
        return cls(CONTEXTS[context](encoder, dropout), says, **own, **alike)

    def build(self, input_shape: Any = None) -> None:
        """Build both; the shapes follow from their arguments."""
        if not self.encoder.built:
            self.encoder.build()
        if not self.decoder.built:
            sizes = (None, None, self.encoder.output_size), (None, self.encoder.summary_size)
            self.decoder.build((None, None), *sizes)
        self.built = True

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Build both: no shape that was seen is needed."""
        if not self.built:
            self.build()

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """Teacher-forced logits."""
        read = self.encoder(tensors, training=training)
        logits, _ = self.decoder(tensors[SHIFTED], read.values, mask=read.mask, summary=read.summary, training=training)
        return logits

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        parts = {name: keras.saving.serialize_keras_object(getattr(self, name)) for name in ("encoder", "decoder")}
        return {**super().get_config(), **parts}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> "EncoderDecoder":
        """Rebuild both."""
        parts = {name: keras.saving.deserialize_keras_object(config[name]) for name in ("encoder", "decoder")}
        return cls(**{**config, **parts})
