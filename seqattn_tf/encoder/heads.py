"""Words joined with their soft heads: self-attention whose weights are those of dependency trees, or of none."""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seqattn_tf.attention import Attention, HeadsAlignment
from seqattn_tf.core.linear import linear
from seqattn_tf.core.masking import masked_mean
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoder.base import Read, Tensors
from seqattn_tf.encoder.symbols import SymbolEncoder

_HEADS = ("none", "softmax", "projective", "spanning")
LEVEL = "heads"  # the look of the words at their heads


class Heads(NamedTuple):
    """What the heads of words are."""

    values: tf.Tensor  # [batch, words, size]: of the head of each
    weights: tf.Tensor  # [batch, words, words]: how much each word is the head of each; the root has the rest
    trees: tf.Tensor | None  # as of a `Read`


@keras.saving.register_keras_serializable("seqattn_tf")
class HeadsEncoder(SymbolEncoder):
    """Reads ids `[batch, source]`; a value is a word beside what its possible heads are (Kim et al., 2017).

        x_i' = [x_i; sum_j alpha_ij x_j]      alpha = align(v . tanh(W h_i + U h_j + b))      h = network(x)

    The network finds heads and nothing else: what is looked at are embeddings. The summary is the mean of the values.

    Args:
        vocabulary: number of ids.
        heads: how `alpha` comes from the scores: `"softmax"`, of all words; `"projective"` or `"spanning"`, the
            marginals of dependency trees; `"none"` for the words alone, without a network.
        width: numbers of a word after a projection of its embedding; 0 for no projection.
        **arguments: of a `SymbolEncoder`.

    >>> encoder = HeadsEncoder(30, heads="projective", units=8, embedding=4)
    >>> read = encoder({"text_ids": tf.ones([2, 5], tf.int32)})
    >>> read.values.shape.as_list(), read.looks["heads"].shape.as_list()
    ([2, 5, 8], [2, 5, 5])
    """

    name_in_registry = "heads"
    both_ways = True

    def __init__(self, vocabulary: int, heads: str = "projective", width: int = 0, **arguments: Any) -> None:
        super().__init__(vocabulary, **arguments)
        if heads not in _HEADS:
            raise ValueError(f"heads: expected one of {_HEADS}. Received: {heads!r}")
        self.heads, self.width = heads, width and check_count("width", width)
        alike = {"dtype": self.dtype_policy}
        self.attention: Attention | None = None
        if heads != "none":
            align = heads if heads == "softmax" else HeadsAlignment(heads, **alike)
            self.attention = Attention("additive", align, units=self.units, **alike)

    def build(self, input_shape: Any = None) -> None:
        """Build every part; the shapes follow from the arguments."""
        self.embedding.build((None, None))
        if self.width:
            self.projection = self.add_weight(name="projection", shape=(self.embedding.output_dim, self.width))
        if self.attention is not None:
            self.network.build((None, None, self.embedded_size))
            found = (None, None, self.network.output_size)
            self.attention.build(found, found)
        self.built = True

    @property
    def embedded_size(self) -> int:
        """Numbers of a word by itself."""
        return self.width or self.embedding.output_dim

    @property
    def output_size(self) -> int:
        """Of a word, and of its head."""
        return self.embedded_size * (2 if self.looks_within else 1)

    @property
    def summary_size(self) -> int:
        """Of the mean."""
        return self.output_size

    @property
    def looks_within(self) -> tuple[str, ...]:
        """The words look at their heads."""
        return () if self.attention is None else (LEVEL,)

    @property
    def finds_trees(self) -> bool:
        """Whether the heads are those of trees."""
        return self.attention is not None and isinstance(self.attention.align, HeadsAlignment)

    def embed(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """The words by themselves: `[batch, source, embedded_size]`."""
        words = super().embed(tensors, training)
        return linear(words, self.projection) if self.width else words

    def find_heads(self, words: tf.Tensor, mask: tf.Tensor, tensors: Tensors, training: bool) -> Heads | None:
        """The heads of words; none where words stand for themselves alone."""
        if self.attention is None:
            return None
        states = self.drop(self.network.read(words, mask=mask, training=training).outputs, training=training)
        memory = self.attention.prepare(states, mask)._replace(values=words)
        found, weights, _ = self.attention.attend(states, memory, training=training, query_mask=mask)
        trees, align = None, self.attention.align
        if isinstance(align, HeadsAlignment) and not training:
            trees = align.argmax(self.attention.logits(states, memory), mask)
        return Heads(found, weights, trees)

    def call(self, tensors: Tensors, training: bool = False) -> Read:
        """A value for each word."""
        mask = tf.not_equal(self.part(tensors, "ids"), 0)
        words = self.symbols_of(tensors, training)
        heads = self.find_heads(words, mask, tensors, training)
        if heads is None:
            return Read(words, mask, masked_mean(words, mask))
        values = tf.concat([words, heads.values], axis=2)
        return Read(values, mask, masked_mean(values, mask), {LEVEL: heads.weights}, heads.trees)

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().arguments, "heads": self.heads, "width": self.width}
