"""The encoder-decoder network: an encoder, an attention decoder, ids in and logits out."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention import Attention
from seqattn_tf.cells import Cell
from seqattn_tf.decoder import DecoderMemory, DecoderState
from seqattn_tf.decoder.symbols import SymbolDecoder
from seqattn_tf.models.turns import Turns, fold, unfold
from seqattn_tf.named import checked_count
from seqattn_tf.recurrent import Bidirectional, HierarchicalEncoder, Recurrent, Stack

ENCODERS = ("bidirectional", "forward", "hierarchical")
CONTEXTS = ("attention", "input", "state")


@keras.saving.register_keras_serializable("seqattn_tf")
class EncoderDecoder(keras.Model):
    """Encoder and attention decoder over symbol ids; id 0 is padding and is never read.

    Args:
        source_size, target_size: number of ids on either side.
        units: state size of each encoder direction, of the decoder, of the score and of the readout.
        embedding: size of a symbol's embedding.
        cell: name of the recurrent cell.
        score, align: names of the attention's parts.
        dropout: rate on embeddings, encoder outputs and readout, in training.
        encoder: `"bidirectional"`; `"forward"`; or `"hierarchical"`, one network over the symbols of each turn, another
            over the turns, both looked at together.
        depth: layers of the encoder, with residual connections between them.
        decoder: `"bahdanau"` or `"luong"`.
        context: what the decoder sees of the source: `"attention"`; `"input"`, the encoder's summary in its first state
            and at every step; `"state"`, in its first state alone.
        gate: whether the decoder's state also says how much of the context to read.
        sampling: scheduled sampling, see `SymbolDecoder`.
        turn_mark: of a hierarchical encoder, the source id between two turns.
        turns, turn_length: of a hierarchical encoder, how many turns to read (the last), and of each how many symbols
            (None: all).

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
        encoder: str = "bidirectional",
        depth: int = 1,
        decoder: str = "bahdanau",
        context: str = "attention",
        gate: bool = False,
        sampling: float = 0.0,
        turn_mark: int = 0,
        turns: int = 4,
        turn_length: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        for name, choice, choices in (("encoder", encoder, ENCODERS), ("context", context, CONTEXTS)):
            if choice not in choices:
                raise ValueError(f"{name}: expected one of {choices}. Received: {choice!r}")
        if align == "heads":
            raise ValueError("align: expected one of a query to places; heads are for places that look at each other")
        if encoder == "hierarchical" and turn_mark < 1:
            raise ValueError(f"turn_mark: expected the id between two turns. Received: {turn_mark}")
        self.settings = {
            "source_size": checked_count("source_size", source_size),
            "target_size": checked_count("target_size", target_size),
            "units": units,
            "embedding": embedding,
            "cell": cell,
            "score": score,
            "align": align,
            "dropout": dropout,
            "encoder": encoder,
            "depth": checked_count("depth", depth),
            "decoder": decoder,
            "context": context,
            "gate": gate,
            "sampling": sampling,
            "turn_mark": turn_mark,
            "turns": turns,
            "turn_length": turn_length,
        }
        alike = {"dtype": self.dtype_policy}
        self.context, self.hierarchical = context, encoder == "hierarchical"
        self.embedding = keras.layers.Embedding(
            source_size, embedding, embeddings_initializer="glorot_uniform", **alike
        )
        self.drop = keras.layers.Dropout(dropout, **alike)
        self.encoder = self._reader(both_ways=encoder != "forward")
        if self.hierarchical:
            self.encoder = HierarchicalEncoder(self.encoder, Recurrent(cell, units=units, **alike), **alike)
        self.decoder = SymbolDecoder.get(
            decoder,
            cell=Cell.get(cell, units=units, **alike),
            attention=Attention(score, align, units=units, gate=gate, **alike),
            vocabulary=target_size,
            embedding=embedding,
            readout=units,
            dropout=dropout,
            sampling=sampling,
            **alike,
        )

    def _reader(self, both_ways: bool) -> Any:
        """The network over symbols."""
        cell, units, depth, dropout = (self.settings[name] for name in ("cell", "units", "depth", "dropout"))
        alike = {"units": units, "dtype": self.dtype_policy}
        if depth > 1:
            return Stack(cell, depth=depth, bidirectional=both_ways, residual=True, dropout=dropout, **alike)
        return (Bidirectional if both_ways else Recurrent)(cell, **alike)

    def build(self, input_shape: Any = None) -> None:
        """Build every part; the shapes follow from the settings."""
        embedding = self.settings["embedding"]
        self.embedding.build((None, None))
        if self.hierarchical:
            self.encoder.build((None, None, None, embedding))
            summary = self.encoder.outer.output_size
            width = self.encoder.inner.output_size + summary
        else:
            self.encoder.build((None, None, embedding))
            summary = width = self.encoder.output_size
        width = width if self.context == "attention" else summary
        self.decoder.build((None, None), (None, None, width), (None, summary))
        self.built = True

    def _read(self, source: tf.Tensor, training: bool) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Values to look at, their mask, and the summary for the first state."""
        ids = self._folded(source).ids if self.hierarchical else source
        mask = tf.not_equal(ids, 0)
        embedded = self.drop(self.embedding(ids), training=training)
        if self.hierarchical:
            found = self.encoder.read(embedded, mask, training)
            summary = self.encoder.outer.final_output(found.states)
            around = tf.broadcast_to(
                found.outputs[:, :, None], tf.concat([tf.shape(ids), tf.shape(found.outputs)[2:]], axis=0)
            )
            values = tf.concat([found.inner_outputs, around], axis=-1)  # a word, and the turns until its own
            flat = tf.shape(values)[1] * tf.shape(values)[2]
            values = tf.reshape(values, [tf.shape(values)[0], flat, values.shape[-1]])
            mask = tf.reshape(mask, [tf.shape(mask)[0], flat])
        else:
            found = self.encoder.read(embedded, mask=mask, training=training)
            values, summary = found.outputs, self.encoder.final_output(found.states)
        if self.context != "attention":  # one place to look at, the summary; or nothing at all
            values = summary[:, None]
            mask = tf.reduce_any(mask, axis=1, keepdims=True) & (self.context == "input")
        return self.drop(values, training=training), mask, summary

    def _folded(self, source: tf.Tensor) -> Turns:
        settings = self.settings
        return fold(source, settings["turn_mark"], settings["turns"], settings["turn_length"])

    def call(self, inputs: tuple[tf.Tensor, tf.Tensor], training: bool = False) -> tf.Tensor:
        """Teacher-forced logits."""
        source, shifted = inputs
        values, mask, summary = self._read(source, training)
        logits, _ = self.decoder(shifted, values, mask=mask, summary=summary, training=training)
        return logits

    def encode(self, source: tf.Tensor) -> tuple[DecoderMemory, DecoderState]:
        """What generation starts from, to go on by `decoder.step`: the memory and the state before the first step."""
        return self.decoder.begin(*self._read(source, training=False))

    def looked_at(self, weights: tf.Tensor, source: tf.Tensor) -> tf.Tensor:
        """Weights of a decoding `[batch, target, memory]` as of the source symbols, `[batch, target, source]`."""
        if self.context != "attention":
            return tf.zeros(tf.concat([tf.shape(weights)[:2], tf.shape(source)[1:]], axis=0))
        return unfold(weights, self._folded(source).places) if self.hierarchical else weights

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), **self.settings}
