"""Entailment: whether a hypothesis follows from a premise, by words of one looking at words of the other."""

from collections.abc import Mapping

import tensorflow as tf

from seqattn_tf.lite.answer import ATTENTION
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import Label
from seqattn_tf.models.base import Model, Tensors, check_labels, looks_within, only_where, trees_within
from seqattn_tf.models.networks.entailment import HYPOTHESIS, PAIR, PREMISE, EntailmentNetwork


class Entailment(Model):
    """One label for a premise and a hypothesis.

    Each text is looked at by the words of the other; with soft heads, also by its own, and the best tree of each is a
    part of the answer: the head of each word, 0 for the root.

    >>> from seqattn_tf.encoder import HeadsEncoder
    >>> from seqattn_tf.lite.fields import Text
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> words = Text(SymbolRules(("a", "dog", "runs"), split="spaces", unknown=True))
    >>> encoder = HeadsEncoder(words.rules.size, "spanning", units=4, embedding=8)
    >>> network = EntailmentNetwork(encoder, outputs=2, units=8)
    >>> model = Entailment(network, {"premise": words, "hypothesis": words}, Label(("no", "yes")))
    >>> [answer] = model.answer([{"premise": "a dog runs", "hypothesis": "a dog"}])
    >>> sorted(answer.looks), len(answer.parts["premise_heads"])
    (['hypothesis', 'hypothesis_heads', 'premise', 'premise_heads'], 3)
    """

    name_in_registry = "entailment"
    target: Label
    network: EntailmentNetwork

    def __init__(self, network: EntailmentNetwork, inputs: Mapping[str, Field], target: Label) -> None:
        if set(inputs) != set(PAIR):
            raise ValueError(f"inputs: expected {PREMISE} and {HYPOTHESIS}. Received: {list(inputs)}")
        check_labels(network.outputs_count, target)
        super().__init__(network, inputs, target)

    @property
    def looks(self) -> Mapping[str, str]:
        """Each text from the other, and from itself."""
        return {PREMISE: HYPOTHESIS, HYPOTHESIS: PREMISE, **self.looked_at}

    @property
    def looked_at(self) -> Mapping[str, str]:
        """Within a text, the text."""
        return looks_within(self.network.encoder, *PAIR)

    @property
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        """The best tree of each text."""
        return trees_within(self.network.encoder, *PAIR)

    def infer(self, tensors: Tensors) -> Tensors:
        """All labels by their probability; a row that lacks one of the texts gets nothing."""
        encoder = self.network.encoder
        logits, looks, best = self.network.look(tensors)
        read = [encoder.places_read(self.network.tensors_of(name, tensors)) > 0 for name in PAIR]
        found = {look + ATTENTION: tf.cast(weights, tf.float32) for look, weights in looks.items()}
        trees = {look: best[name] for look, [name] in self.parts.items()}
        return only_where(tf.logical_and(*read), {**self.says.decide(tf.cast(logits, tf.float32)), **found, **trees})
