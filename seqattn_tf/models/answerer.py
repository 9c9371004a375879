"""Models that answer questions about a story: a memory network attends to the facts, one after the other."""

from collections.abc import Mapping, Sequence

import tensorflow as tf

from seqattn_tf.core.masking import row_lengths
from seqattn_tf.lite.answer import ATTENTION
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import Label
from seqattn_tf.models.base import Model, Tensors, check_labels, only_where
from seqattn_tf.models.networks.memory import FACTS, QUESTION, MemoryNetwork


class MemoryAnswerer(Model):
    """A model that answers a question about a story and returns the supporting facts in order.

    >>> from seqattn_tf.encoders import FactsEncoder
    >>> from seqattn_tf.lite.fields import Lines, Text
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> rules = SymbolRules(("\\n", "Mary", "left", "where", "John"), "spaces", unknown=True)
    >>> network = MemoryNetwork(FactsEncoder(rules.size, mark=rules.ids["\\n"], embedding=8), outputs=2, hops=2)
    >>> model = MemoryAnswerer(network, {"story": Lines(rules), "question": Text(rules)}, Label(("here", "there")))
    >>> [answer] = model.answer([{"story": ["John left", "Mary left"], "question": "where"}])
    >>> answer.attention["story_lines"].queries, answer.extra["facts"].shape
    (('hop 1', 'hop 2'), (2,))
    """

    name_in_registry = "memory_answerer"
    target: Label
    network: MemoryNetwork

    def __init__(self, network: MemoryNetwork, inputs: Mapping[str, Field], target: Label) -> None:
        reads = network.encoder.input_name
        if set(inputs) != {reads, QUESTION}:
            raise ValueError(f"inputs: expected {reads} and {QUESTION}. Received: {list(inputs)}")
        check_labels(network.outputs_count, target)
        super().__init__(network, inputs, target)

    @property
    def attention_maps(self) -> Mapping[str, Sequence[str]]:
        """The attention of each hop to the facts."""
        return {f"{self.network.encoder.input_name}_lines": [f"hop {k + 1}" for k in range(self.network.memory.hops)]}

    @property
    def extra_outputs(self) -> Mapping[str, Sequence[str]]:
        """The supporting facts in order."""
        return {FACTS: ("",)}

    def infer(self, tensors: Tensors) -> Tensors:
        """Rank all answers by their probability; a row that lacks the story or the question gets an empty answer."""
        encoder = self.network.encoder
        logits, weights, facts = self.network.look(tensors)
        read = (encoder.input_lengths(tensors) > 0) & (row_lengths(tensors[f"{QUESTION}_ids"] != 0) > 0)
        [look] = self.attention_maps
        found = {
            look + ATTENTION: tf.cast(encoder.to_positions(weights, tensors), tf.float32),
            FACTS: facts,
        }
        return only_where(read, {**self.graph_target.decode(tf.cast(logits, tf.float32)), **found})
