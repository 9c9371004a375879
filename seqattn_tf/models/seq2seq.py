"""Sequence-to-sequence models: symbols generated from an input, with the attention weights behind them."""

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
    one_per_row,
    only_where,
)
from seqattn_tf.models.networks.encoder_decoder import EncoderDecoder
from seqattn_tf.outputs.symbols import ended

MARGIN = 8  # symbols that an answer may have beyond `max_length_ratio` for each position of the input


class Seq2Seq(Model):
    """A model that generates symbols from an input with an `EncoderDecoder`.

    Args:
        network: The Keras network.
        inputs: The input fields, by name.
        target: The symbols to generate.
        max_length_ratio: The maximum number of symbols per input position, plus a small margin; 0 for the limit of the
            target.
        beam_width: The number of hypotheses in the beam at every step; 1 for greedy decoding.
        alternatives: The number of answers returned besides the best, at most `beam_width - 1`.
        length_penalty: How strongly longer hypotheses of a beam are preferred (see `decoding.beam`).

    >>> from seqattn_tf.lite.fields import Text
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> letters, sounds = SymbolRules(("a", "b")), SymbolRules(("AH", "B"), tokenizer="spaces")
    >>> network = EncoderDecoder.of_symbols(letters.size, sounds.size, units=8)
    >>> [answer] = Seq2Seq(network, {"text": Text(letters)}, Symbols(sounds)).answer(["ab"])
    >>> answer.attention["text"].weights.shape == (len(answer.tokens), 2)
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
                f"alternatives: expected at least 0 and less than beam_width = {beam_width}. Received: {alternatives}"
            )
        check_inputs(network.encoder.input_name, inputs)
        self.max_length_ratio, self.beam_width = max_length_ratio, beam_width
        self.alternatives, self.length_penalty = alternatives, length_penalty
        super().__init__(network, inputs, target)

    @property
    def attention_maps(self) -> Mapping[str, str]:
        """The attention from the answer's symbols to the input, if the decoder has any, and that within the encoder."""
        encoder = self.network.encoder
        return {**({encoder.input_name: TOKENS} if encoder.attendable else {}), **self.attention_sources}

    @property
    def score_meaning(self) -> str:
        """The quantity by which the hypotheses of a beam are ranked."""
        penalty = f" with a length penalty of {self.length_penalty:g}"
        return super().score_meaning + (penalty if self.length_penalty else "")

    def max_answer_length(self, read: Any) -> Any:
        """Return the maximum length of an answer for a number of input positions, which is a number or a tensor."""
        return self.max_length_ratio * read + MARGIN if self.max_length_ratio else self.target.limit + 0 * read

    @property
    def candidates(self) -> int:
        """The number of answers that the beam search returns."""
        return self.alternatives + 1

    def judged(self, found: Beams, tensors: Tensors) -> Beams:
        """Select the answers to return, best first, from those that the search found."""
        return found

    def infer(self, tensors: Tensors) -> Tensors:
        """Search for the best answers; a row with nothing to read gets an empty one."""
        encoder = self.network.encoder
        read = encoder(tensors, training=False)
        memory, state = self.network.decoder.begin(read.values, read.mask, read.summary)
        step = self.network.decoder.stepper()
        places = encoder.input_lengths(tensors)
        limits: dict[str, Any] = {
            "begin": BEGIN,
            "end": END,
            "max_length": self.target.limit,
            "row_lengths": self.max_answer_length(places),
            "never": self.target.rules.unsayable,
        }
        if self.beam_width == 1:
            one = tf.nest.map_structure(lambda tensor: tf.expand_dims(tensor, 1), greedy(step, state, memory, **limits))
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
        looked = {
            f"{encoder.input_name}_{level}{ATTENTION}": read.attention[level] for level in encoder.self_attention_maps
        }
        looked |= dict.fromkeys(self.extra_outputs, read.trees)
        if encoder.attendable:
            looked[encoder.input_name + ATTENTION] = encoder.to_positions(
                self.graph_target.in_order(tf.gather(found.attention, 0, axis=1), found.lengths[:, 0]), tensors
            )
        tokens = self.graph_target.in_order(found.tokens, found.lengths)
        return only_where(places > 0, {"tokens": tokens, "scores": found.scores, **looked})

    def log_likelihood(self, answer: tf.Tensor, **raw: tf.Tensor) -> tf.Tensor:
        """Return the log-probability of each given answer: `[batch] -> [batch]`.

        It is minus infinity for an answer with symbols that the model cannot generate, and for any answer to an empty
        input.
        """
        tensors, _ = self.read(raw)
        return likelihood(self, self.target, tensors, self.network.encoder.input_lengths(tensors), answer)


def likelihood(model: Model, target: Symbols, tensors: Tensors, read: tf.Tensor, answer: tf.Tensor) -> tf.Tensor:
    """Return the log-probability `[batch]` of each given answer to tensors with `read [batch]` input positions.

    The network of the model must accept teacher-forced symbols. The result is minus infinity where `read` is 0, and for
    symbols that are not in the target's vocabulary.
    """
    symbols = model.graph_target.tokenizer
    tokens = at_most(target.limit, symbols.cut(one_per_row(answer, tf.size(read))), "answer")
    length = row_lengths(tokens != "")
    tokens = model.graph_target.in_order(tokens, length)
    ids = symbols.lookup(tokens)
    right = ended(ids, length)
    logits = tf.cast(
        model.network({**tensors, **model.graph_target.teacher_inputs({"tokens": right})}, training=False), tf.float32
    )
    gained = -tf.nn.sparse_softmax_cross_entropy_with_logits(right, logits)
    total = tf.reduce_sum(tf.where(tf.range(tf.shape(right)[1]) <= length[:, None], gained, 0.0), axis=1)
    known = tf.reduce_all((tokens == "") | (ids >= len(target.rules.special)), axis=1)
    return tf.where(known & (read > 0), total, -float("inf"))
