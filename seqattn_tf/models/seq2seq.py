"""Sequence to sequence: an input in, symbols out, with the attention that led there."""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from seqattn_tf.core.masking import row_lengths
from seqattn_tf.decoding import Beams, greedy
from seqattn_tf.decoding import beam as search
from seqattn_tf.inputs.text import at_most
from seqattn_tf.lite.answer import ATTENTION
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.lite.text.rules import BEGIN, END
from seqattn_tf.models.base import (
    TOKENS,
    Model,
    Tensors,
    check_inputs,
    looks_within,
    one_each,
    only_where,
    trees_within,
)
from seqattn_tf.models.networks.encoder_decoder import EncoderDecoder
from seqattn_tf.outputs.symbols import ended

MARGIN = 8  # an answer has at most `max_length_ratio` symbols for each place read, and so many more


class Seq2Seq(Model):
    """Symbols from an input, by an `EncoderDecoder`.

    Args:
        network: the Keras network.
        inputs: what goes in, by name.
        target: the symbols that come out.
        max_length_ratio: the most symbols of an answer per place read, beside a few; 0 for the limit of the target.
        beam_width: how many answers are kept at every step; 1 for the best symbol alone.
        alternatives: how many other answers are given beside the best, at most `beam_width - 1`.
        length_penalty: how much a longer answer is preferred among those of a beam (see `decoding.beam`).

    >>> from seqattn_tf.lite.fields import Text
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> letters, sounds = SymbolRules(("a", "b")), SymbolRules(("AH", "B"), split="spaces")
    >>> network = EncoderDecoder.of_symbols(letters.size, sounds.size, units=8)
    >>> [answer] = Seq2Seq(network, {"text": Text(letters)}, Symbols(sounds)).answer(["ab"])
    >>> answer.looks["text"].weights.shape == (len(answer.tokens), 2)
    True
    """

    name_in_registry = "seq2seq"
    target: Symbols
    signatures = {"log_likelihood": ("answer",)}

    def __init__(
        self,
        network: EncoderDecoder,
        inputs: Mapping[str, Field],
        target: Symbols,
        *,
        max_length_ratio: int = 2,
        beam_width: int = 1,
        alternatives: int = 0,
        length_penalty: float = 0.0,
    ) -> None:
        for name, value, least in (("max_length_ratio", max_length_ratio, 0), ("beam_width", beam_width, 1)):
            if value < least:
                raise ValueError(f"{name}: expected at least {least}. Received: {value}")
        if not length_penalty >= 0:
            raise ValueError(f"length_penalty: expected a number of at least 0. Received: {length_penalty}")
        if not 0 <= alternatives < beam_width:
            raise ValueError(
                f"alternatives: expected from 0 to below the beam_width of {beam_width}. Received: {alternatives}"
            )
        check_inputs(network.encoder.reads, inputs)
        self.max_length_ratio, self.beam_width = max_length_ratio, beam_width
        self.alternatives, self.length_penalty = alternatives, length_penalty
        super().__init__(network, inputs, target)

    @property
    def looks(self) -> Mapping[str, str]:
        """The symbols of the answer look at what the encoder reads, where they look at all."""
        encoder = self.network.encoder
        return {**({encoder.reads: TOKENS} if encoder.looked_at else {}), **self.looked_at}

    @property
    def looked_at(self) -> Mapping[str, str]:
        """What the encoder reads, by its own looks."""
        return looks_within(self.network.encoder, self.network.encoder.reads)

    @property
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        """The best tree of what the encoder reads, where it finds any."""
        return trees_within(self.network.encoder, self.network.encoder.reads)

    @property
    def ranked_by(self) -> str:
        """What orders the answers of a beam."""
        penalty = f", longer answers preferred by a length penalty of {self.length_penalty:g}"
        return super().ranked_by + (penalty if self.length_penalty else "")

    def longest_answer(self, read: Any) -> Any:
        """How many symbols an answer may have at most for so many places that were read, one number or a tensor."""
        return self.max_length_ratio * read + MARGIN if self.max_length_ratio else self.target.limit + 0 * read

    @property
    def candidates(self) -> int:
        """How many answers of a beam are looked for."""
        return self.alternatives + 1

    def judged(self, found: Beams, tensors: Tensors) -> Beams:
        """The answers that are given, best first, of those that were found."""
        return found

    def infer(self, tensors: Tensors) -> Tensors:
        """The best answers; a row with nothing to read gets none."""
        encoder = self.network.encoder
        read = encoder(tensors, training=False)
        memory, state = self.network.decoder.begin(read.values, read.mask, read.summary)
        step = self.network.decoder.stepper()
        places = encoder.places_read(tensors)
        limits: dict[str, Any] = {
            "begin": BEGIN,
            "end": END,
            "max_length": self.target.limit,
            "row_lengths": self.longest_answer(places),
            "never": self.target.rules.unsayable,
        }
        if self.beam_width == 1:
            one = tf.nest.map_structure(lambda tensor: tensor[:, None], greedy(step, state, memory, **limits))
            found = Beams(one.tokens, one.scores, one.lengths, one.attention, ranks=one.scores)
        else:
            found = search(
                step,
                state,
                memory,
                width=self.beam_width,
                answers=self.candidates,
                length_penalty=self.length_penalty,
                **limits,
            )
        found = self.judged(found, tensors)
        looked = {f"{encoder.reads}_{level}{ATTENTION}": read.looks[level] for level in encoder.looks_within}
        looked |= dict.fromkeys(self.parts, read.trees)
        if encoder.looked_at:
            looked[encoder.reads + ATTENTION] = encoder.at_places(
                self.says.in_order(found.attention[:, 0], found.lengths[:, 0]), tensors
            )
        tokens = self.says.in_order(found.tokens, found.lengths)
        return only_where(places > 0, {"tokens": tokens, "scores": found.scores, **looked})

    def log_likelihood(self, answer: tf.Tensor, **raw: tf.Tensor) -> tf.Tensor:
        """Log-probability of each given answer: `[batch] -> [batch]`.

        Minus infinity for an answer with symbols the model cannot say, and for any answer to nothing.
        """
        tensors, _ = self.read(raw)
        return likelihood(self, self.target, tensors, self.network.encoder.places_read(tensors), answer)


def likelihood(model: Model, target: Symbols, tensors: Tensors, read: tf.Tensor, answer: tf.Tensor) -> tf.Tensor:
    """Log-probability of each given answer, `[batch]`, to tensors of which so many places are read, `[batch]`.

    Of a model that says symbols by a network that is taught with those before; minus infinity where `read` is 0, and
    for symbols that are none of the target's.
    """
    symbols = model.says.tokenizer
    tokens = at_most(target.limit, symbols.cut(one_each(answer, tf.size(read))), "answer")
    length = row_lengths(tokens != "")
    tokens = model.says.in_order(tokens, length)
    ids = symbols.lookup(tokens)
    right = ended(ids, length)
    logits = tf.cast(model.network({**tensors, **model.says.teach({"tokens": right})}, training=False), tf.float32)
    gained = -tf.nn.sparse_softmax_cross_entropy_with_logits(right, logits)
    total = tf.reduce_sum(tf.where(tf.range(tf.shape(right)[1]) <= length[:, None], gained, 0.0), axis=1)
    known = tf.reduce_all((tokens == "") | (ids >= len(target.rules.special)), axis=1)
    return tf.where(known & (read > 0), total, -float("inf"))
