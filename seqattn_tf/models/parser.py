"""Dependency parsers: the best tree over the words of a text, from a distribution over all trees."""

from collections.abc import Mapping

from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import Tree
from seqattn_tf.models.networks.parser import ParserNetwork
from seqattn_tf.models.reading import StructuredReader


class Parser(StructuredReader):
    """A model that predicts the head of each word of a text and the relation to it.

    The attention map from the text to itself contains the probability of each word as the head of each word. The
    probability of the root is what a row lacks to 1.

    >>> from seqattn_tf.encoders import BidirectionalEncoder
    >>> from seqattn_tf.lite.fields import Text
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> words = Text(SymbolRules(("the", "dog", "barks"), tokenizer="spaces", unknown=True))
    >>> network = ParserNetwork(BidirectionalEncoder(words.rules.size, units=8), relations=2)
    >>> [answer] = Parser(network, {"text": words}, Tree(("dep", "root"))).answer(["the dog barks"])
    >>> sum(token.startswith("0:") for token in answer.tokens), answer.attention["text"].weights.shape
    (1, (3, 3))
    """

    name_in_registry = "parser"
    target: Tree

    def __init__(self, network: ParserNetwork, inputs: Mapping[str, Field], target: Tree) -> None:
        if network.relations != target.size:
            raise ValueError(
                f"target: expected {network.relations} relations, as in the network. Received: {target.size}"
            )
        super().__init__(network, inputs, target)

    @property
    def attention_maps(self) -> Mapping[str, str]:
        return {self.network.encoder.input_name: self.network.encoder.input_name}
