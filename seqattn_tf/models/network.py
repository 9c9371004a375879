"""The encoder-decoder network: a bidirectional encoder, an attention decoder, ids in and logits out."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention import Attention
from seqattn_tf.cells import Cell
from seqattn_tf.decoder import AttentionDecoder, DecoderMemory, DecoderState
from seqattn_tf.recurrent import Bidirectional


@keras.saving.register_keras_serializable("seqattn_tf")
class EncoderDecoder(keras.Model):
    """Bidirectional encoder and attention decoder over symbol ids; id 0 is padding and is never read.

    Args:
        source_size, target_size: number of ids on either side.
        units: state size of each encoder direction, of the decoder, of the score and of the readout.
        embedding: size of a symbol's embedding.
        cell: name of the recurrent cell.
        score, align: names of the attention's parts.
        dropout: rate on embeddings, encoder outputs and readout, in training.

    Call arguments: `(source [batch, source], shifted [batch, target])`; returns logits `[batch, target, target_size]`.

    >>> network = EncoderDecoder(30, 40, units=8, embedding=4)
    >>> network((tf.ones([2, 5], tf.int32), tf.ones([2, 3], tf.int32))).shape.as_list()
    [2, 3, 40]
    """

    def __init__(
        self,
        source_size: int,
        target_size: int,
        units: int = 128,
        embedding: int = 64,
        cell: str = "gru",
        score: str = "additive",
        align: str = "softmax",
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.settings = {
            "source_size": source_size,
            "target_size": target_size,
            "units": units,
            "embedding": embedding,
            "cell": cell,
            "score": score,
            "align": align,
            "dropout": dropout,
        }
        alike = {"dtype": self.dtype_policy}
        self.embedding = keras.layers.Embedding(
            source_size, embedding, embeddings_initializer="glorot_uniform", **alike
        )
        self.drop = keras.layers.Dropout(dropout, **alike)
        self.encoder = Bidirectional(cell, units=units, **alike)
        self.decoder = AttentionDecoder(
            Cell.get(cell, units=units, **alike),
            Attention(score, align, units=units, **alike),
            target_size,
            embedding,
            readout=units,
            dropout=dropout,
            **alike,
        )

    def build(self, input_shape: Any = None) -> None:
        """Build every part; the shapes follow from the settings."""
        units, embedding = self.settings["units"], self.settings["embedding"]
        self.embedding.build((None, None))
        self.encoder.build((None, None, embedding))
        self.decoder.build((None, None), (None, None, 2 * units), (None, 2 * units))
        self.built = True

    def _read(self, source: tf.Tensor, training: bool) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        mask = tf.not_equal(source, 0)
        embedded = self.drop(self.embedding(source), training=training)
        values, states = self.encoder(embedded, mask=mask, training=training)
        return self.drop(values, training=training), mask, states[0]

    def call(self, inputs: tuple[tf.Tensor, tf.Tensor], training: bool = False) -> tf.Tensor:
        """Teacher-forced logits."""
        source, shifted = inputs
        values, mask, summary = self._read(source, training)
        logits, _ = self.decoder(shifted, values, mask=mask, summary=summary, training=training)
        return logits

    def encode(self, source: tf.Tensor) -> tuple[DecoderMemory, DecoderState]:
        """What generation starts from: the memory and the state before the first step."""
        return self.decoder.begin(*self._read(source, training=False))

    def step(
        self, tokens: tf.Tensor, state: DecoderState, memory: DecoderMemory
    ) -> tuple[tf.Tensor, tf.Tensor, DecoderState]:
        """The step function of decoding."""
        return self.decoder.step(tokens, state, memory)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), **self.settings}
