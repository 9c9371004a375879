"""Ensembles: several models that say symbols, as one."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seqattn_tf.decoder.base import DecoderMemory, DecoderState
from seqattn_tf.decoder.symbols import Stepper, SymbolDecoder
from seqattn_tf.decoding import Beams, greedy
from seqattn_tf.decoding.beam import Ranking
from seqattn_tf.encoder import Encoder, Read
from seqattn_tf.lite.text.rules import BEGIN, END
from seqattn_tf.models.base import Tensors
from seqattn_tf.models.network import EncoderDecoder
from seqattn_tf.models.networks import Networks, check_alike, log_mean
from seqattn_tf.models.seq2seq import Seq2Seq
from seqattn_tf.outputs.symbols import ended, turned

LEAST_WIDTH = 4  # of a beam whose answers are scored again, where nobody says otherwise


class _Memories(NamedTuple):
    """What each decoder looks at."""

    each: tuple[DecoderMemory, ...]

    @property
    def mask(self) -> tf.Tensor:
        """The same for all of them, `[batch, source]`."""
        return self.each[0].mask


class _Encoders:
    """Several encoders as one, whose values, masks and summaries are tuples; what is found within them is not told."""

    looks_within: Sequence[str] = ()
    finds_trees = False

    def __init__(self, each: Sequence[Encoder]) -> None:
        self.each = each
        self.reads, self.looked_at = each[0].reads, each[0].looked_at
        self.places_read, self.at_places = each[0].places_read, each[0].at_places

    def __call__(self, tensors: Tensors, training: bool = False) -> Read:
        """What each of them read."""
        found = [encoder(tensors, training=training) for encoder in self.each]
        values, masks, summaries = zip(*((read.values, read.mask, read.summary) for read in found), strict=True)
        return Read(values, masks, summaries)


class _Decoders:
    """Several decoders as one."""

    def __init__(self, each: Sequence[SymbolDecoder]) -> None:
        self.each = each

    def begin(
        self, values: Sequence[tf.Tensor], mask: Sequence[tf.Tensor], summary: Sequence[tf.Tensor]
    ) -> tuple[_Memories, tuple[DecoderState, ...]]:
        """The memory and the first state of each."""
        read = zip(self.each, values, mask, summary, strict=True)
        memories, states = zip(*(decoder.begin(*one) for decoder, *one in read), strict=True)
        return _Memories(memories), states

    def stepper(self) -> "_Steppers":
        """The step of all of them."""
        return _Steppers([decoder.stepper() for decoder in self.each])


class _Steppers:
    """One step of several decoders: the logarithm of their mean probabilities, their mean weights, their states."""

    def __init__(self, each: Sequence[Stepper]) -> None:
        self.each = each

    def for_beams(self, beams: int) -> "_Steppers | None":
        """A step for so many rows of the states to one of the memories; None if one of them has none."""
        shared = [one for step in self.each if (one := step.for_beams(beams)) is not None]
        return _Steppers(shared) if len(shared) == len(self.each) else None

    def __call__(
        self, tokens: tf.Tensor, state: tuple[DecoderState, ...], memory: _Memories
    ) -> tuple[tf.Tensor, tf.Tensor, tuple[DecoderState, ...]]:
        """One step."""
        own = zip(self.each, state, memory.each, strict=True)
        logits, weights, states = zip(*(step(tokens, before, look) for step, before, look in own), strict=True)
        mean = tf.reduce_mean(tf.stack([tf.cast(one, tf.float32) for one in weights]), axis=0)
        return log_mean(logits), mean, states


def _places(encoder: Encoder) -> tuple[Any, ...]:
    """What encoders have in common whose values are of the same places."""
    plain = encoder.looked_at and encoder.one_each and not encoder.level
    return encoder.reads, "one each" if plain else type(encoder).__name__


@keras.saving.register_keras_serializable("seqattn_tf")
class EnsembleNetwork(Networks):
    """Encoder-decoders whose probabilities are averaged at every step, with an `encoder` and a `decoder` like one.

    Args:
        members: the networks that say answers.
        rescorers: networks that say them the other way round, by which answers that were found are scored again.

    Call arguments: as of an `EncoderDecoder`; returns logarithms of the members' mean probabilities
    `[batch, target, vocabulary]`.

    >>> network = EnsembleNetwork([EncoderDecoder.of_symbols(30, 40, units=units) for units in (4, 6)])
    >>> network({"text_ids": tf.ones([2, 5], tf.int32), "shifted": tf.ones([2, 3], tf.int32)}).shape.as_list()
    [2, 3, 40]
    """

    lists = ("members", "rescorers")

    def __init__(
        self, members: Sequence[EncoderDecoder], rescorers: Sequence[EncoderDecoder] = (), **kwargs: Any
    ) -> None:
        super().__init__(members, **kwargs)
        self.rescorers = list(rescorers)
        networks = [*members, *rescorers]
        if not members or not all(isinstance(network, EncoderDecoder) for network in networks):
            raise ValueError(f"members: expected encoder-decoders, one or more. Received: {networks!r:.80}")
        for what, found in (
            ("symbols", [network.decoder.vocabulary for network in networks]),
            ("places to look at", [_places(network.encoder) for network in members]),
        ):
            if len(set(found)) > 1:
                raise ValueError(f"members: expected networks with the same {what}. Received: {found}")

    @property
    def encoder(self) -> _Encoders:
        """Those of the members."""
        return _Encoders([member.encoder for member in self.members])

    @property
    def decoder(self) -> _Decoders:
        """Those of the members."""
        return _Decoders([member.decoder for member in self.members])

    def rescore(self, tensors: Tensors, right: tf.Tensor) -> tf.Tensor:
        """Log-probability of answers as the rescorers say them: `[batch, answers, time] -> [batch, answers]`.

        The answers, ends included, are what a greedy search is made to begin with.
        """
        batch, answers, time = tf.unstack(tf.shape(right))
        encoder = _Encoders([network.encoder for network in self.rescorers])
        decoder = _Decoders([network.decoder for network in self.rescorers])
        begun = decoder.begin(*encoder(tensors)[:3])
        memory, state = tf.nest.map_structure(lambda one: tf.repeat(one, answers, axis=0), begun)
        limits = {"begin": BEGIN, "end": END, "max_length": right.shape[2]}
        said = greedy(decoder.stepper(), state, memory, **limits, prefix=tf.reshape(right, [batch * answers, time]))
        return tf.reshape(said.scores, [batch, answers])


class Ensemble(Seq2Seq):
    """Several `Seq2Seq` as one, by an `EnsembleNetwork`: at every step the mean of their probabilities and weights.

    With rescorers, all answers that a beam finds are scored by them as well, symbol by symbol from the other end:

        score(Y) = (log p(Y) + log p'(reversed Y)) / 2        p' by the mean of the rescorers' probabilities

    What ranks best by that is given; a length penalty divides it as in `decoding.beam`. A beam of 1 finds but one
    answer and asks no rescorer. The `log_likelihood` of an answer is always that of the members alone.

    >>> from seqattn_tf.lite.fields import Text
    >>> from seqattn_tf.lite.targets import Symbols
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> letters, sounds = SymbolRules(("a", "b")), SymbolRules(("AH", "B"), split="spaces")
    >>> networks = [EncoderDecoder.of_symbols(letters.size, sounds.size, units=8) for _ in range(3)]
    >>> directions = ["left_to_right", "left_to_right", "right_to_left"]
    >>> says = [Symbols(sounds, direction=direction) for direction in directions]
    >>> models = [Seq2Seq(network, {"text": Text(letters)}, target) for network, target in zip(networks, says)]
    >>> ensemble = Ensemble.of(models)
    >>> [answer] = ensemble.answer(["ab"])
    >>> ensemble.beam_width, answer.looks["text"].weights.shape == (len(answer.tokens), 2)
    (4, True)
    """

    name_in_registry = "ensemble"
    network: EnsembleNetwork

    @classmethod
    def of(cls, models: Sequence[Seq2Seq], **settings: Any) -> "Ensemble":
        """Models as one, with networks that stay theirs; those said from right to left score answers again.

        Args:
            models: of the same inputs and the same target, directions apart.
            **settings: those of the first otherwise; with rescorers, a beam of at least 4.

        Raises:
            ValueError: models that have not enough in common.
        """
        for place, model in enumerate(models):
            if not isinstance(model, Seq2Seq) or not isinstance(model.network, EncoderDecoder):
                raise ValueError(
                    f"models: expected those that say symbols by one encoder-decoder each. "
                    f"Received: models[{place}], of the kind {model.name_in_registry!r}"
                )
        check_alike(models)
        members = [model for model in models if not model.target.backwards]
        rescorers = [model.network for model in models if model.target.backwards]
        if not members:
            raise ValueError("models: expected at least one that says left_to_right. Received: none")
        chosen = {**models[0].settings, **settings}
        if rescorers and "beam_width" not in settings:
            chosen["beam_width"] = max(chosen["beam_width"], LEAST_WIDTH)
        network = EnsembleNetwork([model.network for model in members], rescorers)
        return cls(network, members[0].inputs, members[0].target, **chosen)

    @property
    def _rescores(self) -> bool:
        return bool(self.network.rescorers) and self.beam_width > 1

    @property
    def ranked_by(self) -> str:
        """What orders the answers of a beam."""
        own = super().ranked_by
        return f"the mean of both directions' {own}" if self._rescores else own

    @property
    def candidates(self) -> int:
        """All of a beam, where they are scored again."""
        return self.beam_width if self._rescores else super().candidates

    def judged(self, found: Beams, tensors: Tensors) -> Beams:
        """The best of both directions."""
        if not self._rescores:
            return found
        other = self.network.rescore(tensors, ended(turned(found.tokens, found.lengths), found.lengths))
        scores = (found.scores + other) / 2  # what is impossible stays so
        ranking = Ranking(self.length_penalty, 0.0, self.target.limit)
        scored = found._replace(scores=scores, ranks=ranking.by_length(scores, found.lengths))
        _, order = tf.math.top_k(scored.ranks, self.alternatives + 1)
        return Beams(*(tf.gather(one, order, batch_dims=1) for one in scored))
