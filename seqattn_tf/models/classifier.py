"""Classifiers: one label for a text, a document or a tree, with the words and the lines that it was seen in."""

from collections.abc import Mapping, Sequence

import tensorflow as tf

from seqattn_tf.lite.answer import ATTENTION
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import Label
from seqattn_tf.models.base import (
    TOKENS,
    Model,
    Tensors,
    check_inputs,
    check_labels,
    looks_within,
    only_where,
    trees_within,
)
from seqattn_tf.models.networks.classifier import ClassifierNetwork


class Classifier(Model):
    """One label for a text.

    With attention, the look at the text, and that at its lines where it has several, say how much each place counted;
    a tree whose nodes all have labels says instead how probable each label is at each node.

    >>> from seqattn_tf.encoder import BidirectionalEncoder
    >>> from seqattn_tf.lite.fields import Text
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> words = Text(SymbolRules(("good", "bad"), split="spaces"))
    >>> network = ClassifierNetwork(BidirectionalEncoder(words.rules.size, units=8), outputs=2, pool="attention")
    >>> [answer] = Classifier(network, {"text": words}, Label(("neg", "pos"))).answer(["good good bad"])
    >>> answer.text in ("neg", "pos"), answer.looks["text"].weights.shape
    (True, (1, 3))
    """

    name_in_registry = "classifier"
    target: Label
    network: ClassifierNetwork

    def __init__(self, network: ClassifierNetwork, inputs: Mapping[str, Field], target: Label) -> None:
        check_inputs(network.encoder.reads, inputs)
        check_labels(network.outputs_count, target)
        super().__init__(network, inputs, target)

    def _look(self, level: str) -> str:
        return f"{self.network.encoder.reads}_{level}" if level else self.network.encoder.reads

    @property
    def looks(self) -> Mapping[str, str | Sequence[str]]:
        """The label at what it was seen in; or every label at every node."""
        if self.network.everywhere:
            return {self._look(self.network.encoder.level): self.target.labels}
        return {**{self._look(level): TOKENS for level in self.network.levels}, **self.looked_at}

    @property
    def looked_at(self) -> Mapping[str, str]:
        """Within the text, the text."""
        return looks_within(self.network.encoder, self.network.encoder.reads)

    @property
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        """The best tree of the text, where its words look for their heads."""
        return trees_within(self.network.encoder, self.network.encoder.reads)

    @property
    def explaining(self) -> Sequence[str]:
        """None where every node has labels: their probabilities are no weights."""
        return [] if self.network.everywhere else super().explaining

    def infer(self, tensors: Tensors) -> Tensors:
        """All labels by their probability; a row with nothing to read gets nothing."""
        logits, looks, trees = self.network.look(tensors)
        logits = tf.cast(logits, tf.float32)
        read = self.network.encoder.places_read(tensors) > 0
        found = {self._look(level) + ATTENTION: tf.cast(weights, tf.float32) for level, weights in looks.items()}
        if self.network.everywhere:
            [look] = self.looks
            found[look + ATTENTION] = tf.transpose(tf.nn.softmax(logits), [0, 2, 1])
            logits = tf.pad(logits, [[0, 0], [0, 1], [0, 0]])[:, 0]
        return only_where(read, {**self.says.decide(logits), **found, **dict.fromkeys(self.parts, trees)})
