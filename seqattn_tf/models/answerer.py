"""Answers to questions about a story: a memory network looks at its facts, one after the other."""

from collections.abc import Mapping, Sequence

import tensorflow as tf

from seqattn_tf.core.masking import row_lengths
from seqattn_tf.lite.answer import ATTENTION
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import Label
from seqattn_tf.models.base import Model, Tensors, check_labels, only_where
from seqattn_tf.models.networks.memory import FACTS, QUESTION, MemoryNetwork


class MemoryAnswerer(Model):
    """An answer to a question about a story, and the facts that led there, in their order.

    >>> from seqattn_tf.encoder import FactsEncoder
    >>> from seqattn_tf.lite.fields import Lines, Text
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> rules = SymbolRules(("\\n", "Mary", "left", "where", "John"), "spaces", unknown=True)
    >>> network = MemoryNetwork(FactsEncoder(rules.size, mark=rules.ids["\\n"], embedding=8), outputs=2, hops=2)
    >>> model = MemoryAnswerer(network, {"story": Lines(rules), "question": Text(rules)}, Label(("here", "there")))
    >>> [answer] = model.answer([{"story": ["John left", "Mary left"], "question": "where"}])
    >>> answer.looks["story_lines"].rows, answer.parts["facts"].shape
    (('look 1', 'look 2'), (2,))
    """

    name_in_registry = "memory_answerer"
    target: Label
    network: MemoryNetwork

    def __init__(self, network: MemoryNetwork, inputs: Mapping[str, Field], target: Label) -> None:
        reads = network.encoder.reads
        if set(inputs) != {reads, QUESTION}:
            raise ValueError(f"inputs: expected {reads} and {QUESTION}. Received: {list(inputs)}")
        check_labels(network.outputs_count, target)
        super().__init__(network, inputs, target)

    @property
    def looks(self) -> Mapping[str, Sequence[str]]:
        """Each look at the facts."""
        return {f"{self.network.encoder.reads}_lines": [f"look {k + 1}" for k in range(self.network.memory.hops)]}

    @property
    def parts(self) -> Mapping[str, Sequence[str]]:
        """The facts in their order."""
        return {FACTS: ("",)}

    def infer(self, tensors: Tensors) -> Tensors:
        """All answers by their probability; a row that lacks the story or the question gets nothing."""
        encoder = self.network.encoder
        logits, weights, facts = self.network.look(tensors)
        read = (encoder.places_read(tensors) > 0) & (row_lengths(tensors[f"{QUESTION}_ids"] != 0) > 0)
        [look] = self.looks
        found = {
            look + ATTENTION: tf.cast(encoder.at_places(weights, tensors), tf.float32),
            FACTS: facts,
        }
        return only_where(read, {**self.says.decide(tf.cast(logits, tf.float32)), **found})
