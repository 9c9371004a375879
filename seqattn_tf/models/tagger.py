"""Taggers: a tag for each word, by a conditional random field over what a recurrent network read."""

from collections.abc import Mapping, Sequence

from seqattn_tf.core.registry import check_count
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import ChainTags
from seqattn_tf.models.networks.tagger import TaggerNetwork
from seqattn_tf.models.reading import StructuredReader


class Tagger(StructuredReader):
    """A tag for each word of a text.

    The look at the text has a row for each tag: how probable it is at each word.

    Args:
        network: the Keras network.
        inputs: the text.
        target: the tags.
        alternatives: how many other sequences of tags are given beside the best.

    >>> from seqattn_tf.encoder import BidirectionalEncoder
    >>> from seqattn_tf.lite.fields import Text
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> words = Text(SymbolRules(("the", "dog", "barks"), split="spaces", unknown=True))
    >>> network = TaggerNetwork(BidirectionalEncoder(words.rules.size, units=8), ("D", "N", "V"))
    >>> [answer] = Tagger(network, {"text": words}, ChainTags(("D", "N", "V"))).answer(["the dog barks"])
    >>> len(answer.tokens), answer.looks["text"].rows, answer.looks["text"].places
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
    def answers(self) -> int:
        """The best sequence of tags, and the others."""
        return self.alternatives + 1

    @property
    def looks(self) -> Mapping[str, Sequence[str]]:
        """Every tag at every word."""
        return {self.network.encoder.reads: self.target.tags}
