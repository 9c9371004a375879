"""Taggers: a tag for each word, by a conditional random field over what a recurrent network read."""

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.masking import row_lengths
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoder import Encoder
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import ChainTags
from seqattn_tf.models.base import Tensors
from seqattn_tf.models.reading import ReadingNetwork, StructuredReader
from seqattn_tf.structured import CRF

OUTPUTS = ("crf", "softmax")


@keras.saving.register_keras_serializable("seqattn_tf")
class TaggerNetwork(ReadingNetwork):
    """Potentials of a chain of tags.

        p(tags) ~ exp(sum_t scores[t, tags[t]] + sum_t transitions[tags[t], tags[t+1]])

    Args:
        encoder: what reads; it gives a value for each place.
        tags: their names, in the order of the target.
        output: `"crf"`, with transitions that are learned; or `"softmax"`, every place for itself.
        scheme: `"BIO"` or `"BIOES"`: only sequences that the scheme allows; empty for all. For a `"crf"`.

    Call arguments: a dict with the tensors that the encoder reads; returns `unary [batch, places, tags]`, `pairwise
    [batch, tags, tags]` and `lengths [batch]`.

    >>> from seqattn_tf.encoder import BidirectionalEncoder
    >>> network = TaggerNetwork(BidirectionalEncoder(30, units=8), ["D", "N", "V"])
    >>> network({"text_ids": tf.ones([2, 5], tf.int32)})["unary"].shape.as_list()
    [2, 5, 3]
    """

    def __init__(
        self, encoder: Encoder, tags: Sequence[str], output: str = "crf", scheme: str = "", **kwargs: Any
    ) -> None:
        super().__init__(encoder, **kwargs)
        if output not in OUTPUTS:
            raise ValueError(f"output: expected one of {OUTPUTS}. Received: {output!r}")
        if scheme and output != "crf":
            raise ValueError(f"scheme: expected none for a softmax, which knows no neighbours. Received: {scheme!r}")
        self.tags, self.output_layer, self.scheme = list(tags), output, scheme
        self.crf = CRF(self.tags, scheme or None, boundaries=output == "crf", dtype=self.dtype_policy)

    def build(self, input_shape: Any = None) -> None:
        """Build both parts."""
        super().build()
        if not self.crf.built:
            self.crf.build((None, None, self.encoder.output_size))
        if self.output_layer == "softmax":
            self.crf.transitions.trainable = False  # zero, and stay so

    def call(self, tensors: Tensors, training: bool = False) -> Tensors:
        """The potentials."""
        read = self.encoder(tensors, training=training)
        lengths = row_lengths(read.mask)
        unary, pairwise = self.crf.potentials(self.crf.scores(read.values), lengths)
        rows = tf.shape(unary)[0]
        return {
            "unary": unary,
            "pairwise": tf.broadcast_to(pairwise, [rows, len(self.tags), len(self.tags)]),
            "lengths": lengths,
        }

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {"tags": self.tags, "output": self.output_layer, "scheme": self.scheme}


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
