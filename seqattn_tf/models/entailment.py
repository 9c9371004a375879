"""Entailment models: whether a hypothesis follows from a premise, by attention between their words."""

from collections.abc import Mapping

import tensorflow as tf

from seqattn_tf.lite.answer import ATTENTION
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import Label
from seqattn_tf.models.base import Model, Tensors, check_labels, only_where
from seqattn_tf.models.networks.entailment import HYPOTHESIS, PAIR, PREMISE, EntailmentNetwork


class Entailment(Model):
    """A model that predicts one label for a premise and a hypothesis.

    The words of each text attend to the other text. With soft heads, they also attend to their own text, and the answer
    contains the best tree of each text: the head of each word, 0 for the root.

    >>> from seqattn_tf.encoders import HeadsEncoder
    >>> from seqattn_tf.lite.fields import Text
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> words = Text(SymbolRules(("a", "dog", "runs"), tokenizer="spaces", unknown=True))
    >>> encoder = HeadsEncoder(words.rules.size, "spanning", units=4, embedding=8)
    >>> network = EntailmentNetwork(encoder, outputs=2, units=8)
    >>> model = Entailment(network, {"premise": words, "hypothesis": words}, Label(("no", "yes")))
    >>> [answer] = model.answer([{"premise": "a dog runs", "hypothesis": "a dog"}])
    >>> sorted(answer.attention), len(answer.extra["premise_heads"])
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
    def attention_maps(self) -> Mapping[str, str]:
        """The attention from each text to the other, and to itself."""
        return {PREMISE: HYPOTHESIS, HYPOTHESIS: PREMISE, **self.attention_sources}

    def infer(self, tensors: Tensors) -> Tensors:
        """Rank all labels by their probability; a row that lacks one of the texts gets an empty answer."""
        encoder = self.network.encoder
        logits, looks, best = self.network.look(tensors)
        read = [encoder.input_lengths(self.network.tensors_of(name, tensors)) > 0 for name in PAIR]
        found = {look + ATTENTION: tf.cast(weights, tf.float32) for look, weights in looks.items()}
        trees = {look: best[name] for look, [name] in self.extra_outputs.items()}
        return only_where(
            tf.logical_and(*read), {**self.graph_target.decode(tf.cast(logits, tf.float32)), **found, **trees}
        )
