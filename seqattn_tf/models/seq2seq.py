"""Sequence to sequence: text in, text out, with the attention that led there."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.answer import Answer
from seqattn_tf.decoding import Beams, greedy
from seqattn_tf.decoding import beam as search
from seqattn_tf.explain import draw_answer
from seqattn_tf.masking import length_mask
from seqattn_tf.models.base import Model
from seqattn_tf.models.network import EncoderDecoder
from seqattn_tf.scan import hold
from seqattn_tf.text.rules import BEGIN, END, PAD, SymbolRules, as_texts
from seqattn_tf.text.symbols import SymbolTokenizer

MARGIN = 8  # an answer has at most `growth` symbols for each one read, and so many more


def _at_most(limit: int, rows: tf.Tensor, name: str) -> tf.Tensor:
    """The rows `[batch, length]` themselves, after making sure in the graph that they are not too long."""
    length = tf.shape(rows)[1]
    message = f"{name}: expected at most {limit} symbols, received"
    with tf.control_dependencies([tf.debugging.Assert(length <= limit, [message, length])]):
        return tf.identity(rows)


class Seq2Seq(Model):
    """Text to text by an `EncoderDecoder`.

    Args:
        network: the Keras network.
        source, target: how text becomes symbols on either side.
        max_source: texts with more symbols are refused.
        max_target: answers are cut there, or earlier for a short text.
        growth: the most symbols of an answer for each one read, beside a few.
        beam: how many answers are kept at every step; 1 for the best symbol alone.
        alternatives: how many other answers are given beside the best, at most `beam - 1`.
        length_penalty: how much a longer answer is preferred among those of a beam (see `decoding.beam`).

    >>> letters, sounds = SymbolRules(("a", "b")), SymbolRules(("AH", "B"), split="spaces")
    >>> network = EncoderDecoder(letters.size, sounds.size, units=8)
    >>> [answer] = Seq2Seq(network, letters, sounds).answer(["ab"])
    >>> answer.attention.shape == (len(answer.tokens_out), 2)
    True
    """

    system = "seq2seq"

    def __init__(
        self,
        network: EncoderDecoder,
        source: SymbolRules,
        target: SymbolRules,
        max_source: int = 64,
        max_target: int = 64,
        growth: int = 2,
        beam: int = 1,
        alternatives: int = 0,
        length_penalty: float = 0.0,
    ) -> None:
        super().__init__()
        if not 0 <= alternatives < beam:
            raise ValueError(f"alternatives: expected from 0 to below the beam of {beam}. Received: {alternatives}")
        self.network = network
        if not network.built:
            network.build()
        self.source, self.target = SymbolTokenizer(source), SymbolTokenizer(target)
        self.max_source, self.max_target, self.growth = max_source, max_target, growth
        self.beam, self.alternatives, self.length_penalty = beam, alternatives, length_penalty
        signature = [tf.TensorSpec([None], tf.string, "text")]
        self._compiled = tf.function(self.serve, input_signature=signature, autograph=False)

    def preprocess(self, texts: tf.Tensor) -> dict[str, tf.Tensor]:
        """Strings `[batch]` to `tokens` and `ids`, `[batch, source]`; refuses a text that is too long."""
        tokens = _at_most(self.max_source, self.source.tokens(texts), "text")
        return {"tokens": tokens, "ids": self.source.lookup(tokens)}

    def decode(self, ids: tf.Tensor) -> Beams:
        """Source ids `[batch, source]` to the best answers; a row with nothing to read gets the empty one."""
        memory, state = self.network.encode(ids)
        step = self.network.decoder.stepper()
        read = tf.reduce_sum(tf.cast(ids != PAD, tf.int32), axis=-1)
        limits = {
            "begin": BEGIN,
            "end": END,
            "max_length": self.max_target,
            "row_lengths": self.growth * read + MARGIN,
            "never": self.target.rules.unsayable,
        }
        if self.beam == 1:
            one = tf.nest.map_structure(lambda tensor: tensor[:, None], greedy(step, state, memory, **limits))
            found = Beams(*one, ranks=one.scores)
        else:
            wide = {"width": self.beam, "answers": self.alternatives + 1, "length_penalty": self.length_penalty}
            found = search(step, state, memory, **limits, **wide)
        found = found._replace(attention=self._looked_at(found.attention, ids))
        return hold(read > 0, found, tf.nest.map_structure(tf.zeros_like, found))

    def _looked_at(self, attention: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
        """Weights of the memory `[batch, answers, target, memory]` as of the source symbols."""
        rows, answers, steps, places = tf.unstack(tf.shape(attention))
        flat = self.network.looked_at(tf.reshape(attention, [rows, answers * steps, places]), ids)
        return tf.reshape(flat, [rows, answers, steps, tf.shape(ids)[1]])

    def serve(self, texts: tf.Tensor) -> dict[str, tf.Tensor]:
        """The named outputs of `serving_default`; padded to the longest answer and text of the batch."""
        features = self.preprocess(texts)
        found = self.decode(features["ids"])
        lengths, tokens = found.lengths[:, 0], found.tokens[:, 0]
        longest = tf.reduce_max(tf.concat([lengths, [0]], axis=0))
        said = self.target.decode(found.tokens)
        return {
            "text": said[:, 0],
            "score": found.scores[:, 0],
            "alternatives": said[:, 1:],
            "alternative_scores": found.scores[:, 1:],
            "attention": found.attention[:, 0, :longest],
            "tokens_in": features["tokens"],
            "tokens_out": self.target.names(tokens[:, :longest]),
        }

    def serve_tensors(self, ids: tf.Tensor, lengths: tf.Tensor) -> dict[str, tf.Tensor]:
        """Ids `[batch, source]` and lengths `[batch]` to `tokens`, `lengths`, `score` and `attention`."""
        ids = _at_most(self.max_source, ids, "ids")
        return self.serve_ids(tf.where(length_mask(lengths, tf.shape(ids)[1]), ids, PAD))

    def serve_ids(self, ids: tf.Tensor) -> dict[str, tf.Tensor]:
        """The same for ids alone, their padding telling the lengths, without a check: LiteRT has none."""
        found = self.decode(ids)
        return {
            "tokens": found.tokens[:, 0],
            "lengths": found.lengths[:, 0],
            "score": found.scores[:, 0],
            "attention": found.attention[:, 0],
        }

    def log_likelihood(self, texts: tf.Tensor, answers: tf.Tensor) -> tf.Tensor:
        """Log-probability of each given answer: `[batch] x 2 -> [batch]`.

        Minus infinity for an answer with symbols the model cannot say. To a text with nothing to read, the empty
        answer is certain.
        """
        source = self.preprocess(texts)["ids"]
        pairs = tf.debugging.Assert(
            tf.shape(texts)[0] == tf.shape(answers)[0],
            ["answer: expected one for each text,", tf.shape(texts)[0], "received", tf.shape(answers)[0]],
        )
        with tf.control_dependencies([pairs]):
            tokens = _at_most(self.max_target, self.target.tokens(answers), "answer")
        said = tf.pad(tokens != "", [[0, 0], [0, 1]])  # [batch, longest + 1]
        ids = tf.pad(self.target.lookup(tokens), [[0, 0], [0, 1]])
        first_free = tf.one_hot(tf.reduce_sum(tf.cast(said, tf.int32), axis=1), tf.shape(ids)[1], dtype=tf.int32)
        shifted = tf.concat([tf.fill([tf.shape(ids)[0], 1], BEGIN), ids[:, :-1]], axis=1)
        logits = tf.cast(self.network((source, shifted), training=False), tf.float32)
        gained = -tf.nn.sparse_softmax_cross_entropy_with_logits(ids + END * first_free, logits)
        known = tf.reduce_all(tf.logical_or(~said, ids != PAD), axis=1)
        total = tf.reduce_sum(tf.where(tf.logical_or(said, first_free == 1), gained, 0.0), axis=1)
        certain = tf.logical_not(tf.reduce_any(source != PAD, axis=1))
        total = tf.where(certain, tf.where(tf.reduce_any(said, axis=1), -float("inf"), 0.0), total)
        return tf.where(known, total, -float("inf"))

    def answer(self, texts: Sequence[str | bytes]) -> list[Answer]:
        """The best answer to each text.

        Raises:
            ValueError: something other than a sequence of strings, or a text that is too long.
        """
        texts = as_texts(texts)
        if not texts:
            return []
        try:
            found = {key: value.numpy() for key, value in self._compiled(tf.constant(texts)).items()}
        except tf.errors.InvalidArgumentError:
            longest = max(len(self.source.rules.tokens(text)) for text in texts)
            if longest <= self.max_source:
                raise
            raise ValueError(f"text: expected at most {self.max_source} symbols. Received: {longest}") from None
        return [Answer.from_outputs(found, row) for row in range(len(texts))]

    def explain(self, text: str) -> Any:
        """The alignment picture of the answer to one text."""
        [answer] = self.answer([text])
        return draw_answer(text, answer)

    def settings(self) -> dict[str, Any]:
        """The limits, and how answers are looked for."""
        names = ("max_source", "max_target", "growth", "beam", "alternatives", "length_penalty")
        return {name: getattr(self, name) for name in names}

    def save_assets(self, folder: Path) -> None:
        """Write the symbols of both sides."""
        self.source.rules.save(folder / "source.json")
        self.target.rules.save(folder / "target.json")

    @classmethod
    def rebuild(cls, network: keras.Model, assets: Path, settings: dict[str, Any]) -> "Seq2Seq":
        """The model of a saved folder."""
        rules = [SymbolRules.load(assets / f"{side}.json") for side in ("source", "target")]
        return cls(network, *rules, **settings)
