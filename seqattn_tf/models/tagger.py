"""Taggers: a tag for each word, by a conditional random field over the outputs of a recurrent network."""

from collections.abc import Mapping, Sequence

from seqattn_tf.core.registry import check_count
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import ChainTags
from seqattn_tf.models.networks.tagger import TaggerNetwork
from seqattn_tf.models.reading import StructuredReader


class Tagger(StructuredReader):
    """A model that predicts a tag for each word of a text.

    The attention map of the text has one row for each tag: the probability of that tag at each word.

    Args:
        network: The Keras network.
        inputs: The input text.
        target: The tags.
        alternatives: The number of tag sequences returned besides the best.

    >>> from seqattn_tf.encoders import BidirectionalEncoder
    >>> from seqattn_tf.lite.fields import Text
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> words = Text(SymbolRules(("the", "dog", "barks"), tokenizer="spaces", unknown=True))
    >>> network = TaggerNetwork(BidirectionalEncoder(words.rules.size, units=8), ("D", "N", "V"))
    >>> [answer] = Tagger(network, {"text": words}, ChainTags(("D", "N", "V"))).answer(["the dog barks"])
    >>> len(answer.tokens), answer.attention["text"].queries, answer.attention["text"].keys
    (3, ('D', 'N', 'V'), ('the', 'dog', 'barks'))
    """

    name_in_registry = "tagger"
    target: ChainTags

    def __init__(
        self, network: TaggerNetwork, inputs: Mapping[str, Field], target: ChainTags, *, alternatives: int = 0
    ) -> None:
        self.alternatives = check_count("alternatives", alternatives + 1) - 1
        if list(target.tags) != network.tags:
            raise ValueError(f"target: expected the network's tags {network.tags}. Received: {list(target.tags)}")
        super().__init__(network, inputs, target)

    @property
    def answer_count(self) -> int:
        """The number of tag sequences to return: the best one and the alternatives."""
        return self.alternatives + 1

    @property
    def attention_maps(self) -> Mapping[str, Sequence[str]]:
        """The probability of every tag at every word."""
        return {self.network.encoder.input_name: self.target.tags}
