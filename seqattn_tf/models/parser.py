"""Parsers: a dependency tree over the words, by a distribution over all trees."""

from collections.abc import Mapping

from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import Tree
from seqattn_tf.models.networks.parser import ParserNetwork
from seqattn_tf.models.reading import StructuredReader


class Parser(StructuredReader):
    """A head for each word of a text, and the relation to it.

    The look of the text at itself says how probable each word is as the head of each; what a row lacks to 1 is the
    probability of the root.

    >>> from seqattn_tf.encoder import BidirectionalEncoder
    >>> from seqattn_tf.lite.fields import Text
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> words = Text(SymbolRules(("the", "dog", "barks"), split="spaces", unknown=True))
    >>> network = ParserNetwork(BidirectionalEncoder(words.rules.size, units=8), relations=2)
    >>> [answer] = Parser(network, {"text": words}, Tree(("dep", "root"))).answer(["the dog barks"])
    >>> sum(token.startswith("0:") for token in answer.tokens), answer.looks["text"].weights.shape
    (1, (3, 3))
    """

    name_in_registry = "parser"
    target: Tree

    def __init__(self, network: ParserNetwork, inputs: Mapping[str, Field], target: Tree) -> None:
        if network.relations != target.size:
            raise ValueError(f"target: expected {network.relations} relations. Received: {target.size}")
        super().__init__(network, inputs, target)

    @property
    def looks(self) -> Mapping[str, str]:
        """The words look at the words."""
        return {self.network.encoder.reads: self.network.encoder.reads}
