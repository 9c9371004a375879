"""What models that read a text and say symbols share: the way in, the way out, the limits and the files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tensorflow as tf

from seqattn_tf.answer import Answer
from seqattn_tf.masking import length_mask
from seqattn_tf.text.rules import PAD, SymbolRules, as_texts
from seqattn_tf.text.symbols import SymbolTokenizer


class Said(NamedTuple):
    """What a model says to each row."""

    tokens: tf.Tensor  # [batch, length] ids, zeros after the answer
    lengths: tf.Tensor  # [batch]
    scores: tf.Tensor  # [batch]
    others: tf.Tensor  # [batch, alternatives, length] ids of other answers, best first
    other_scores: tf.Tensor  # [batch, alternatives]
    attention: tf.Tensor  # [batch, length, source] of the answers, not of the others


def said(tokens: tf.Tensor, scores: tf.Tensor, ids: tf.Tensor) -> Said:
    """Answers to source ids, without alternatives, that looked at nothing; id 0 is no symbol."""
    lengths = tf.reduce_sum(tf.cast(tokens != PAD, tf.int32), axis=1)
    nowhere = tf.zeros(tf.concat([tf.shape(tokens), tf.shape(ids)[1:]], axis=0))
    return Said(tokens, lengths, scores, tokens[:, None][:, :0], scores[:, None][:, :0], nowhere)


def silence(found: Said) -> Said:
    """The empty answer for every row, certain and without another."""
    nothing = tf.nest.map_structure(tf.zeros_like, found)
    return nothing._replace(other_scores=nothing.other_scores - float("inf"))


def packed(ids: tf.Tensor) -> tf.Tensor:
    """The ids that are not padding moved to the front of their rows: `[batch, length] -> [batch, length]`.

    >>> packed(tf.constant([[0, 5, 0, 7], [1, 0, 0, 0]])).numpy().tolist()
    [[5, 7, 0, 0], [1, 0, 0, 0]]
    """
    batch, length = tf.shape(ids)[0], tf.shape(ids)[1]
    kept = ids != PAD
    places = tf.where(kept, tf.cumsum(tf.cast(kept, tf.int32), axis=1) - 1, length)
    rows = tf.broadcast_to(tf.range(batch)[:, None], tf.shape(ids))
    return tf.scatter_nd(tf.stack([rows, places], axis=-1), ids, tf.stack([batch, length + 1]))[:, :-1]


def at_most(limit: int, rows: tf.Tensor, name: str) -> tf.Tensor:
    """The rows `[batch, length]` themselves, after making sure in the graph that they are not too long."""
    length = tf.shape(rows)[1]
    message = f"{name}: expected at most {limit} symbols, received"
    with tf.control_dependencies([tf.debugging.Assert(length <= limit, [message, length])]):
        return tf.identity(rows)


def one_each(texts: tf.Tensor, answers: tf.Tensor) -> tf.Tensor:
    """The answers themselves, after making sure in the graph that there is one for each text."""
    counts = tf.shape(texts)[0], tf.shape(answers)[0]
    wrong = ["answer: expected one for each text,", counts[0], "received", counts[1]]
    with tf.control_dependencies([tf.debugging.Assert(counts[0] == counts[1], wrong)]):
        return tf.identity(answers)


class TextModel:
    """The methods of a `Model` that follow from `decode` alone: ids in, `Said` out.

    A subclass calls `_open`, and gives `decode`, `log_likelihood`, `explain` and `settings`.
    """

    def _open(self, network: Any, source: SymbolRules, target: SymbolRules, max_source: int) -> None:
        if max_source < 1:
            raise ValueError(f"max_source: expected at least 1. Received: {max_source}")
        self.network, self.max_source = network, max_source
        if not network.built:
            network.build()
        self.source = SymbolTokenizer(source)
        self.target = self.source if target is source else SymbolTokenizer(target)
        text = tf.TensorSpec([None], tf.string, "text")
        self._compiled = tf.function(self.serve, input_signature=[text], autograph=False)

    def decode(self, ids: tf.Tensor) -> Said:
        """Source ids `[batch, source]` to answers."""
        raise NotImplementedError

    def preprocess(self, texts: tf.Tensor) -> dict[str, tf.Tensor]:
        """Strings `[batch]` to `tokens` and `ids`, `[batch, source]`; refuses a text that is too long."""
        tokens = at_most(self.max_source, self.source.tokens(texts), "text")
        return {"tokens": tokens, "ids": self.source.lookup(tokens)}

    def serve(self, texts: tf.Tensor) -> dict[str, tf.Tensor]:
        """The named outputs of `serving_default`; padded to the longest answer and text of the batch."""
        features = self.preprocess(texts)
        found = self.decode(features["ids"])
        longest = tf.reduce_max(tf.concat([found.lengths, [0]], axis=0))
        return {
            "text": self.target.decode(found.tokens),
            "score": found.scores,
            "alternatives": self.target.decode(found.others),
            "alternative_scores": found.other_scores,
            "attention": found.attention[:, :longest],
            "tokens_in": features["tokens"],
            "tokens_out": self.target.names(found.tokens[:, :longest]),
        }

    def serve_tensors(self, ids: tf.Tensor, lengths: tf.Tensor) -> dict[str, tf.Tensor]:
        """Ids `[batch, source]` and lengths `[batch]` to `tokens`, `lengths`, `score` and `attention`."""
        ids = at_most(self.max_source, ids, "ids")
        return self.serve_ids(tf.where(length_mask(lengths, tf.shape(ids)[1]), ids, PAD))

    def serve_ids(self, ids: tf.Tensor) -> dict[str, tf.Tensor]:
        """The same for ids alone, their padding telling the lengths, without a check: LiteRT has none."""
        found = self.decode(ids)
        return {
            "tokens": found.tokens,
            "lengths": found.lengths,
            "score": found.scores,
            "attention": found.attention,
        }

    def answer(self, texts: Sequence[str | bytes]) -> list[Answer]:
        """The answer to each text.

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

    def save_assets(self, folder: Path) -> None:
        """Write the symbols of both sides."""
        self.source.rules.save(folder / "source.json")
        self.target.rules.save(folder / "target.json")
