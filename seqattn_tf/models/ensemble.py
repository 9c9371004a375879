"""Ensembles: several models that say symbols, as one."""

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

_LEAST_WIDTH = 4  # of a beam whose answers are scored again, where nobody says otherwise


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
            chosen["beam_width"] = max(chosen["beam_width"], _LEAST_WIDTH)
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


def check_alike(models: Sequence[Model]) -> None:
    """Refuse models without the same inputs and the same target, directions of symbols apart."""
    if not models:
        raise ValueError("models: expected at least one. Received: none")
    shared = [_made_of(model) for model in models]
    for place, other in enumerate(shared):
        if differing := sorted(name for name in {**shared[0], **other} if shared[0].get(name) != other.get(name)):
            raise ValueError(f"models: expected the same {differing[0]} in all. Received: another in models[{place}]")


def _made_of(model: Model) -> dict[str, Any]:
    """What models have in common that are one, by what it is called."""
    inputs = {f"input {name!r}": (field.name_in_registry, field.get_config()) for name, field in model.inputs.items()}
    target = {f"{name} of the target": value for name, value in model.target.get_config().items()}
    target.pop("direction of the target", None)
    return {**inputs, "kind of target": model.target.name_in_registry, **target}
