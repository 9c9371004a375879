"""Ensembles of models that generate symbols."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from seqattn_tf.decoding import Beams
from seqattn_tf.decoding.beam import Ranking
from seqattn_tf.models.base import Model, Tensors
from seqattn_tf.models.networks.encoder_decoder import EncoderDecoder
from seqattn_tf.models.networks.ensemble import EnsembleNetwork
from seqattn_tf.models.seq2seq import Seq2Seq
from seqattn_tf.outputs.symbols import ended, turned

_LEAST_WIDTH = 4  # default minimum beam width with rescorers


class Ensemble(Seq2Seq):
    """Several `Seq2Seq` models whose probabilities and attention weights an `EnsembleNetwork` averages at every step.

    With rescorers, all answers that the beam search finds are also scored symbol by symbol from the other end:

        score(Y) = (log p(Y) + log p'(reversed Y)) / 2        where p' is the mean of the rescorers' probabilities

    The answers are ranked by this score; a length penalty divides it as in `decoding.beam`. A beam of width 1 finds
    only one answer and does not use the rescorers. The `log_likelihood` of an answer is always that of the members
    alone.

    >>> from seqattn_tf.lite.fields import Text
    >>> from seqattn_tf.lite.targets import Symbols
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> letters, sounds = SymbolRules(("a", "b")), SymbolRules(("AH", "B"), tokenizer="spaces")
    >>> networks = [EncoderDecoder.of_symbols(letters.size, sounds.size, units=8) for _ in range(3)]
    >>> directions = ["left_to_right", "left_to_right", "right_to_left"]
    >>> says = [Symbols(sounds, direction=direction) for direction in directions]
    >>> models = [Seq2Seq(network, {"text": Text(letters)}, target) for network, target in zip(networks, says)]
    >>> ensemble = Ensemble.of(models)
    >>> [answer] = ensemble.answer(["ab"])
    >>> ensemble.beam_width, answer.attention["text"].weights.shape == (len(answer.tokens), 2)
    (4, True)
    """

    name_in_registry = "ensemble"
    network: EnsembleNetwork

    @classmethod
    def of(cls, models: Sequence[Seq2Seq], **settings: Any) -> "Ensemble":
        """Combine models into an ensemble that shares their networks.

        Models that generate from right to left become rescorers.

        Args:
            models: Models with the same inputs and the same target, except for its direction.
            **settings: Settings of the ensemble. They default to those of the first model, with a beam width of at
                least 4 if there are rescorers.

        Raises:
            ValueError: If the models cannot be combined.
        """
        for place, model in enumerate(models):
            if not isinstance(model, Seq2Seq) or not isinstance(model.network, EncoderDecoder):
                raise ValueError(
                    f"models: expected encoder-decoder models. Received: {model.name_in_registry!r} as models[{place}]"
                )
        check_alike(models)
        members = [model for model in models if not model.target.backwards]
        rescorers = [model.network for model in models if model.target.backwards]
        if not members:
            raise ValueError("models: expected at least one with direction left_to_right. Received: none")
        chosen = {**models[0].settings, **settings}
        if rescorers and "beam_width" not in settings:
            chosen["beam_width"] = max(chosen["beam_width"], _LEAST_WIDTH)
        network = EnsembleNetwork([model.network for model in members], rescorers)
        return cls(network, members[0].inputs, members[0].target, **chosen)

    @property
    def _rescores(self) -> bool:
        return bool(self.network.rescorers) and self.beam_width > 1

    @property
    def score_meaning(self) -> str:
        """The quantity by which the hypotheses of a beam are ranked."""
        own = super().score_meaning
        return f"mean {own} of both directions" if self._rescores else own

    @property
    def candidates(self) -> int:
        """The number of answers that the beam search returns: the whole beam if there are rescorers."""
        return self.beam_width if self._rescores else super().candidates

    def judged(self, found: Beams, tensors: Tensors) -> Beams:
        """Select the best answers by the scores of both directions."""
        if not self._rescores:
            return found
        other = self.network.rescore(tensors, ended(turned(found.tokens, found.lengths), found.lengths))
        scores = (found.scores + other) / 2  # minus infinity stays minus infinity
        ranking = Ranking(self.length_penalty, 0.0, self.target.limit)
        scored = found._replace(scores=scores, ranks=ranking.by_length(scores, found.lengths))
        _, order = tf.math.top_k(scored.ranks, self.alternatives + 1)
        return Beams(*(tf.gather(one, order, batch_dims=1) for one in scored))


def check_alike(models: Sequence[Model]) -> None:
    """Check that all models have the same inputs and the same target, except for the direction of its symbols."""
    if not models:
        raise ValueError("models: expected at least one. Received: none")
    shared = [_made_of(model) for model in models]
    for place, other in enumerate(shared):
        if differing := sorted(name for name in {**shared[0], **other} if shared[0].get(name) != other.get(name)):
            raise ValueError(
                f"models: expected the same {differing[0]} in all models. Received: a different one in models[{place}]"
            )


def _made_of(model: Model) -> dict[str, Any]:
    """Return everything that the models of an ensemble must have in common, by description."""
    inputs = {f"input {name!r}": (field.name_in_registry, field.get_config()) for name, field in model.inputs.items()}
    target = {f"{name} of the target": value for name, value in model.target.get_config().items()}
    target.pop("direction of the target", None)
    return {**inputs, "kind of target": model.target.name_in_registry, **target}
