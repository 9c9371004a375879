"""Readers: a sequence of symbols in, one number or one label out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.cells import Cell
from seqattn_tf.explain import draw_alignment
from seqattn_tf.explain.surprise import draw_running
from seqattn_tf.linear import linear
from seqattn_tf.models.base import Model
from seqattn_tf.models.texts import Said, TextModel, one_each, packed, said, silence
from seqattn_tf.named import checked_count
from seqattn_tf.recurrent import Recurrent, Stack
from seqattn_tf.scan import hold
from seqattn_tf.text.rules import PAD, SymbolRules

DIGITS = SymbolRules(("-", *"0123456789"))  # what numbers are said in
MINUS, ZERO = DIGITS.ids["-"], DIGITS.ids["0"]
PLACES = 9  # digits of the largest number: its halves and all below are exact in 32 bits


@keras.saving.register_keras_serializable("seqattn_tf")
class ReaderNetwork(keras.Model):
    """A number, or the logits of labels, from the states after the last symbol; id 0 is padding and is never read.

    Args:
        source_size: number of ids.
        outputs: number of labels; 0 for a number.
        units: state size of each layer.
        embedding: size of a symbol's embedding.
        cell: name of the recurrent cell.
        depth: number of layers, with residual connections between them.
        dropout: rate on embeddings and on the last states, in training.
        activation: of the cell's candidate and output; `"linear"` makes an `"rnn"` that can add up.

    Call arguments: `source [batch, source]`; returns `[batch, 1]` or `[batch, outputs]`.

    >>> ReaderNetwork(30, outputs=3, units=8, embedding=4)(tf.ones([2, 5], tf.int32)).shape.as_list()
    [2, 3]
    """

    def __init__(
        self,
        source_size: int,
        outputs: int = 0,
        units: int = 32,
        embedding: int = 16,
        cell: str = "gru",
        depth: int = 1,
        dropout: float = 0.0,
        activation: str = "tanh",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.settings = {
            "source_size": checked_count("source_size", source_size),
            "outputs": outputs if outputs == 0 else checked_count("outputs", outputs),
            "units": checked_count("units", units),
            "embedding": checked_count("embedding", embedding),
            "cell": cell,
            "depth": checked_count("depth", depth),
            "dropout": dropout,
            "activation": activation,
        }
        alike = {"dtype": self.dtype_policy}
        shaped = {} if activation == "tanh" else {"activation": activation}
        self.embedding = keras.layers.Embedding(source_size, embedding, **alike)
        self.drop = keras.layers.Dropout(dropout, **alike)
        reads = [Recurrent(Cell.get(cell, units=units, **shaped, **alike), **alike) for _ in range(depth)]
        self.encoder = Stack(reads, residual=True, **alike)

    def build(self, input_shape: Any = None) -> None:
        """Build every part; the shapes follow from the settings."""
        self.embedding.build((None, None))
        if not self.encoder.built:
            self.encoder.build((None, None, self.settings["embedding"]))
        shape = (self.encoder.output_size, max(self.settings["outputs"], 1))
        self.kernel = self.add_weight(name="kernel", shape=shape)
        self.bias = self.add_weight(name="bias", shape=shape[1:], initializer="zeros")
        self.built = True

    def call(self, source: tf.Tensor, training: bool = False) -> tf.Tensor:
        """One answer for each row."""
        embedded = self.drop(self.embedding(source), training=training)
        states = self.encoder.read(embedded, mask=source != PAD, training=training).states
        last = self.encoder.final_output(states)
        return linear(self.drop(last, training=training), self.kernel, self.bias)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), **self.settings}


class Reader(TextModel, Model):
    """Texts to whole numbers or to labels, by a `ReaderNetwork`.

    A number is rounded, said digit by digit, and has a score of 0: the model does not say how sure it is. A label has
    its log-probability as score, and the other labels as alternatives.

    Args:
        network: the Keras network.
        source: how text becomes symbols.
        labels: the names of the outputs; none for numbers.
        max_source: texts with more symbols are refused.

    >>> bits = SymbolRules(("0", "1"), split="spaces")
    >>> reader = Reader(ReaderNetwork(bits.size, outputs=2, units=4), bits, ("even", "odd"))
    >>> reader.answer(["1 0 1"])[0].text in ("even", "odd")
    True
    """

    system = "reader"

    def __init__(
        self, network: ReaderNetwork, source: SymbolRules, labels: Sequence[str] = (), max_source: int = 400
    ) -> None:
        super().__init__()
        expected = network.settings["outputs"]
        if len(labels) != expected:
            raise ValueError(f"labels: expected {expected} for the network's outputs. Received: {len(labels)}")
        self.labels = tuple(labels)
        target = SymbolRules(self.labels, split="spaces") if self.labels else DIGITS
        self._open(network, source, target, max_source)

    def decode(self, ids: tf.Tensor) -> Said:
        """Source ids `[batch, source]` to answers; a row with nothing to read gets the empty one."""
        outputs = tf.cast(self.network(ids, training=False), tf.float32)
        found = self._labelled(outputs, ids) if self.labels else self._numbered(outputs[:, 0], ids)
        read = tf.reduce_any(ids != PAD, axis=1)
        return hold(read, found, silence(found))

    def _labelled(self, logits: tf.Tensor, ids: tf.Tensor) -> Said:
        scores, order = tf.math.top_k(tf.nn.log_softmax(logits), len(self.labels))
        tokens = order[:, :, None] + len(self.target.rules.special)  # [batch, labels, 1]
        return said(tokens[:, 0], scores[:, 0], ids)._replace(others=tokens[:, 1:], other_scores=scores[:, 1:])

    def _numbered(self, numbers: tf.Tensor, ids: tf.Tensor) -> Said:
        """Sign and digits, those before the first that is not 0 left out."""
        rounded = tf.round(tf.where(numbers == numbers, numbers, 0.0))
        whole = tf.cast(tf.clip_by_value(rounded, -999_999_936.0, 999_999_936.0), tf.int32)[:, None]
        powers = tf.constant([10**place for place in reversed(range(PLACES))])
        size = tf.abs(whole)
        digits = tf.where((size >= powers) | (powers == 1), size // powers % 10 + ZERO, PAD)
        tokens = packed(tf.concat([tf.where(whole < 0, MINUS, PAD), digits], axis=1))
        return said(tokens, tf.zeros_like(numbers), ids)

    def log_likelihood(self, texts: tf.Tensor, answers: tf.Tensor) -> tf.Tensor:
        """Log-probability of each given answer: `[batch] x 2 -> [batch]`.

        A number that is not the answer has a probability of 0, the answer of 1; so has the empty answer to a text with
        nothing to read. Minus infinity for what is no label.
        """
        source = self.preprocess(texts)["ids"]
        answers = tf.strings.strip(one_each(texts, answers))
        found = self.decode(source)
        names = self.target.decode(tf.concat([found.tokens[:, None], found.others], axis=1))  # [batch, answers]
        scores = tf.concat([found.scores[:, None], found.other_scores], axis=1)
        return tf.reduce_max(tf.where(names == answers[:, None], scores, -float("inf")), axis=1)

    def explain(self, text: str) -> Any:
        """What the answer would have been after each symbol: a curve of the number, or a map of the labels."""
        tokens, ids = self.source.rules.tokens(text), self.source.rules.encode(text)
        [answer] = self.answer([text])
        title = f"{text} \u2192 {answer.text}"
        parts = np.tril(np.tile(np.array(ids, np.int32), [len(ids), 1])) if ids else np.zeros([0, 0], np.int32)
        found = tf.cast(self.network(tf.constant(parts), training=False), tf.float32)
        if self.labels:
            return draw_alignment(tf.transpose(tf.nn.softmax(found)).numpy(), tokens, self.labels, title=title)
        return draw_running(tokens, found.numpy()[:, 0], title=title)

    def settings(self) -> dict[str, Any]:
        """The limit, and whether there are labels (their names are the target's symbols)."""
        return {"max_source": self.max_source, "labels": list(self.labels)}

    @classmethod
    def rebuild(cls, network: keras.Model, assets: Path, settings: dict[str, Any]) -> "Reader":
        """The model of a saved folder."""
        return cls(network, SymbolRules.load(assets / "source.json"), **settings)
