"""Sequence to sequence: text in, text out, with the attention that led there."""

from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.decoding import Beams, greedy
from seqattn_tf.decoding import beam as search
from seqattn_tf.explain import draw_answer
from seqattn_tf.models.base import Model
from seqattn_tf.models.network import EncoderDecoder
from seqattn_tf.models.texts import Said, TextModel, at_most, one_each, silence
from seqattn_tf.scan import hold
from seqattn_tf.text.rules import BEGIN, END, PAD, SymbolRules

MARGIN = 8  # an answer has at most `growth` symbols for each one read, and so many more


class Seq2Seq(TextModel, Model):
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
        for name, value, least in (("max_target", max_target, 1), ("growth", growth, 0), ("beam", beam, 1)):
            if value < least:
                raise ValueError(f"{name}: expected at least {least}. Received: {value}")
        if not length_penalty >= 0:
            raise ValueError(f"length_penalty: expected a number of at least 0. Received: {length_penalty}")
        if not 0 <= alternatives < beam:
            raise ValueError(f"alternatives: expected from 0 to below the beam of {beam}. Received: {alternatives}")
        self.max_target, self.growth = max_target, growth
        self.beam, self.alternatives, self.length_penalty = beam, alternatives, length_penalty
        self._open(network, source, target, max_source)

    def longest_answer(self, read: Any) -> Any:
        """How many symbols an answer may have at most for so many that were read, one number or a tensor of them."""
        return self.growth * read + MARGIN

    def decode(self, ids: tf.Tensor) -> Said:
        """Source ids `[batch, source]` to the best answers; a row with nothing to read gets the empty one."""
        memory, state = self.network.encode(ids)
        step = self.network.decoder.stepper()
        read = tf.reduce_sum(tf.cast(ids != PAD, tf.int32), axis=-1)
        limits = {
            "begin": BEGIN,
            "end": END,
            "max_length": self.max_target,
            "row_lengths": self.longest_answer(read),
            "never": self.target.rules.unsayable,
        }
        if self.beam == 1:
            one = tf.nest.map_structure(lambda tensor: tensor[:, None], greedy(step, state, memory, **limits))
            found = Beams(*one, ranks=one.scores)
        else:
            wide = {"width": self.beam, "answers": self.alternatives + 1, "length_penalty": self.length_penalty}
            found = search(step, state, memory, **limits, **wide)
        answers = Said(
            found.tokens[:, 0],
            found.lengths[:, 0],
            found.scores[:, 0],
            found.tokens[:, 1:],
            found.scores[:, 1:],
            self.network.looked_at(found.attention[:, 0], ids),
        )
        return hold(read > 0, answers, silence(answers))

    def log_likelihood(self, texts: tf.Tensor, answers: tf.Tensor) -> tf.Tensor:
        """Log-probability of each given answer: `[batch] x 2 -> [batch]`.

        Minus infinity for an answer with symbols the model cannot say. To a text with nothing to read, the empty
        answer is certain.
        """
        source = self.preprocess(texts)["ids"]
        tokens = at_most(self.max_target, self.target.tokens(one_each(texts, answers)), "answer")
        said = tf.pad(tokens != "", [[0, 0], [0, 1]])  # [batch, longest + 1]
        ids = tf.pad(self.target.lookup(tokens), [[0, 0], [0, 1]])
        first_free = tf.one_hot(tf.reduce_sum(tf.cast(said, tf.int32), axis=1), tf.shape(ids)[1], dtype=tf.int32)
        shifted = tf.concat([tf.fill([tf.shape(ids)[0], 1], BEGIN), ids[:, :-1]], axis=1)
        logits = tf.cast(self.network((source, shifted), training=False), tf.float32)
        gained = -tf.nn.sparse_softmax_cross_entropy_with_logits(ids + END * first_free, logits)
        known = tf.reduce_all(tf.logical_or(~said, ids >= len(self.target.rules.special)), axis=1)
        total = tf.reduce_sum(tf.where(tf.logical_or(said, first_free == 1), gained, 0.0), axis=1)
        certain = tf.logical_not(tf.reduce_any(source != PAD, axis=1))
        total = tf.where(certain, tf.where(tf.reduce_any(said, axis=1), -float("inf"), 0.0), total)
        return tf.where(known, total, -float("inf"))

    def explain(self, text: str) -> Any:
        """The alignment picture of the answer to one text."""
        [answer] = self.answer([text])
        return draw_answer(text, answer)

    def settings(self) -> dict[str, Any]:
        """The limits, and how answers are looked for."""
        names = ("max_source", "max_target", "growth", "beam", "alternatives", "length_penalty")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def rebuild(cls, network: keras.Model, assets: Path, settings: dict[str, Any]) -> "Seq2Seq":
        """The model of a saved folder."""
        rules = [SymbolRules.load(assets / f"{side}.json") for side in ("source", "target")]
        return cls(network, *rules, **settings)
