"""A network that answers with symbols of its input: a pointer decoder over the symbols of a text."""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seqattn_tf.attention import Attention
from seqattn_tf.cells import Cell
from seqattn_tf.core.registry import check_count
from seqattn_tf.decoders import DecoderMemory, DecoderState, PointerDecoder
from seqattn_tf.encoders import Encoder
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.lite.text.rules import END, PAD
from seqattn_tf.outputs.symbols import SHIFTED

IDS = "text_ids"
NEVER = -1e30  # the logit of positions that must not be pointed at, and of symbols not in the input


class Places(NamedTuple):
    """The positions that every step can point at."""

    look: DecoderMemory  # the end, followed by the input positions
    ids: tf.Tensor  # [batch, 1 + source], the symbols at these positions

    @property
    def mask(self) -> tf.Tensor:
        """The mask of the input `[batch, source]`, True for symbols that are not padding."""
        return self.look.mask[:, 1:]


class Pointing(NamedTuple):
    """The state passed from one step to the next."""

    decoder: DecoderState
    said: tf.Tensor  # [batch, 1 + source], True for positions already pointed at


def places_of(said: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    """Return the position of each output symbol in its input row, matching the k-th occurrences of the symbol.

    Args:
        said: The output ids `[batch, target]`.
        ids: The input ids `[batch, source]`.

    Returns `[batch, target]`; -1 for padding and for symbols that occur less often in the row.

    >>> places_of(tf.constant([[7, 5, 7, 9, 0]]), tf.constant([[5, 7, 0, 7]])).numpy().tolist()
    [[1, 0, 3, -1, -1]]
    """
    same = (said[:, :, None] == ids[:, None]) & (ids != PAD)[:, None]  # [batch, target, source]
    fits = same & (_times(said)[:, :, None] == _times(ids)[:, None])
    return tf.where(tf.reduce_any(fits, axis=2), tf.argmax(tf.cast(fits, tf.int32), axis=2, output_type=tf.int32), -1)


def _times(ids: tf.Tensor) -> tf.Tensor:
    """Count the occurrences of each id in its row up to and including itself: `[batch, length] -> [batch, length]`."""
    length = tf.shape(ids)[1]
    before = tf.range(length)[:, None] >= tf.range(length)
    return tf.reduce_sum(tf.cast((ids[:, :, None] == ids[:, None]) & before, tf.int32), axis=2)


@keras.saving.register_keras_serializable("seqattn_tf")
class PointerNetwork(keras.Model):
    """A network that generates the symbols of a text in another order, by pointing at them (Vinyals et al., 2015).

        p(y_t = v) = sum_{j: x_j = v} a_tj        the probability of a symbol is that of all its positions

    One additional position, with a trained vector, represents the end symbol.

    Args:
        vocabulary: The number of ids, shared by input and output.
        units: The size of the state of each encoder direction, of the decoder and of the attention score.
        embedding: The size of a symbol embedding.
        cell: The name of the recurrent cell.
        score: The name of the attention score.
        encoder: The name of the encoder: `"bidirectional"` or `"forward"`.
        dropout: The dropout rate of embeddings and encoder outputs in training.
        point_once: Whether a position can be pointed at only once.

    Call arguments: a dict with `text_ids [batch, source]` and `shifted [batch, target]`; returns logits
    `[batch, target, vocabulary]`.

    >>> network = PointerNetwork(30, units=8, embedding=4)
    >>> tensors = {"text_ids": tf.constant([[5, 7, 9]]), "shifted": tf.constant([[1, 7]])}
    >>> said = tf.nn.softmax(network(tensors))
    >>> tf.where(said[0, 1] > 1e-6)[:, 0].numpy().tolist()  # the end, and the remaining symbols
    [2, 5, 9]
    """

    points = True

    def __init__(
        self,
        vocabulary: int,
        units: int = 64,
        embedding: int = 32,
        cell: str = "lstm",
        score: str = "additive",
        encoder: str = "bidirectional",
        dropout: float = 0.0,
        point_once: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.settings = {
            "vocabulary": check_count("vocabulary", vocabulary),
            "units": check_count("units", units),
            "embedding": check_count("embedding", embedding),
            "cell": cell,
            "score": score,
            "encoder": encoder,
            "dropout": dropout,
            "point_once": point_once,
        }
        alike = {"dtype": self.dtype_policy}
        sizes = {"units": units, "embedding": embedding, "cell": cell, "dropout": dropout}
        self.encoder = Encoder.get(encoder, vocabulary=vocabulary, **sizes, **alike)
        self.decoder = PointerDecoder(
            Cell.get(cell, units=units, **alike), Attention(score, units=units, **alike), **alike
        )

    def build(self, input_shape: Any = None) -> None:
        """Build encoder and decoder; the shapes follow from the settings."""
        if not self.encoder.built:
            self.encoder.build()
        width = self.encoder.output_size
        if not self.decoder.built:
            self.decoder.build((None, None), (None, None, width), (None, self.encoder.summary_size))
        self.end = self.add_weight(name="end", shape=(width,), initializer="glorot_uniform")
        self.built = True

    def _read(self, tensors: Tensors, training: bool) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return values, mask and ids of the end followed by all positions, and the summary."""
        read = self.encoder(tensors, training=training)
        ids = tensors[IDS]
        end = tf.tile(tf.cast(self.end, read.values.dtype)[None, None], [tf.shape(ids)[0], 1, 1])
        ids = tf.pad(ids, [[0, 0], [1, 0]], constant_values=END)
        return tf.concat([end, read.values], axis=1), ids != PAD, ids, read.summary

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """Return teacher-forced logits."""
        values, mask, ids, summary = self._read(tensors, training)
        places = places_of(tensors[SHIFTED], ids)
        logits, _ = self.decoder(places, values, mask=mask, summary=summary, training=training)
        before = tf.cumsum(tf.one_hot(places, tf.shape(ids)[1], dtype=tf.int32), axis=1) > 0  # [batch, target, places]
        return self._of_symbols(self._left(logits, before), ids)

    def _left(self, logits: tf.Tensor, said: tf.Tensor) -> tf.Tensor:
        """Mask the logits of positions that can no longer be pointed at."""
        return tf.where(said, tf.cast(NEVER, logits.dtype), logits) if self.settings["point_once"] else logits

    def _of_symbols(self, logits: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
        """Convert logits of positions to symbols: `[batch, target, positions] -> [batch, target, vocabulary]`."""
        logits = tf.maximum(tf.cast(logits, tf.float32), NEVER)
        most = tf.stop_gradient(tf.reduce_max(logits, axis=-1, keepdims=True))
        held = tf.one_hot(ids, self.settings["vocabulary"]) * tf.cast(ids != PAD, tf.float32)[..., None]
        total = tf.matmul(tf.exp(logits - most), held)
        return tf.where(total > 0, tf.math.log(tf.maximum(total, 1e-37)), NEVER) + most

    def begin(self, tensors: Tensors) -> tuple[Places, Pointing]:
        """Return the start of generation: the positions to point at, and the state before the first step."""
        values, mask, ids, summary = self._read(tensors, training=False)
        memory, state = self.decoder.begin(values, mask, summary)
        return Places(memory, ids), Pointing(state, tf.zeros_like(mask))

    def step(self, tokens: tf.Tensor, state: Pointing, memory: Places) -> tuple[tf.Tensor, tf.Tensor, Pointing]:
        """Decode one step: `tokens [batch] -> (logits [batch, vocabulary], weights, state)`."""
        fits = (memory.ids == tokens[:, None]) & ~state.said & memory.look.mask
        place = tf.where(tf.reduce_any(fits, axis=1), tf.argmax(tf.cast(fits, tf.int32), 1, output_type=tf.int32), -1)
        said = state.said | (tf.range(tf.shape(fits)[1]) == place[:, None])
        logits, _, after = self.decoder.step(place, state.decoder, memory.look)
        left = self._left(logits, said)
        weights = tf.nn.softmax(tf.maximum(tf.cast(left, tf.float32), NEVER))[:, 1:]
        return tf.squeeze(self._of_symbols(left[:, None], memory.ids), 1), weights, Pointing(after, said)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self.settings}
