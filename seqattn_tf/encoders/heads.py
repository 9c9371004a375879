"""Words joined with their soft heads, by self-attention whose weights may be marginals of dependency trees."""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seqattn_tf.attention import Attention, HeadsAlignment
from seqattn_tf.core.linear import linear
from seqattn_tf.core.masking import masked_mean
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoders.base import EncoderOutput, Tensors
from seqattn_tf.encoders.symbols import SymbolEncoder

_HEADS = ("none", "softmax", "projective", "spanning")
LEVEL = "heads"  # the attention of the words to their heads


class Heads(NamedTuple):
    """The heads of all words."""

    values: tf.Tensor  # [batch, words, size], the head of each word
    weights: tf.Tensor  # [batch, words, words], head probabilities of each word; the rest is the root's
    trees: tf.Tensor | None  # as in `EncoderOutput`


@keras.saving.register_keras_serializable("seqattn_tf")
class HeadsEncoder(SymbolEncoder):
    """An encoder of ids `[batch, source]` that joins each word with the mean of its possible heads (Kim et al., 2017).

        x_i' = [x_i; sum_j alpha_ij x_j]      alpha = align(v . tanh(W h_i + U h_j + b))      h = network(x)

    The network serves only to find heads; the values consist of embeddings. The summary is the mean of the values.

    Args:
        vocabulary: The number of ids.
        head_attention: How to compute `alpha` from the scores: `"softmax"` over all words; `"projective"` or
            `"spanning"`, the marginals of dependency trees; `"none"` for the words alone, without a network.
        projection_units: The size of a word after a projection of its embedding; 0 for no projection.
        **arguments: The arguments of a `SymbolEncoder`.

    >>> encoder = HeadsEncoder(30, head_attention="projective", units=8, embedding=4)
    >>> read = encoder({"text_ids": tf.ones([2, 5], tf.int32)})
    >>> read.values.shape.as_list(), read.attention["heads"].shape.as_list()
    ([2, 5, 8], [2, 5, 5])
    """

    name_in_registry = "heads"
    both_ways = True

    def __init__(
        self, vocabulary: int, head_attention: str = "projective", projection_units: int = 0, **arguments: Any
    ) -> None:
        super().__init__(vocabulary, **arguments)
        if head_attention not in _HEADS:
            raise ValueError(f"head_attention: expected one of {_HEADS}. Received: {head_attention!r}")
        self.head_attention, self.projection_units = (
            head_attention,
            projection_units and check_count("projection_units", projection_units),
        )
        alike = {"dtype": self.dtype_policy}
        self.attention: Attention | None = None
        if head_attention != "none":
            align = "softmax" if head_attention == "softmax" else HeadsAlignment(head_attention, **alike)
            self.attention = Attention("additive", align, units=self.units, **alike)

    def build(self, input_shape: Any = None) -> None:
        self.embedding.build((None, None))
        if self.projection_units:
            self.projection = self.add_weight(
                name="projection", shape=(self.embedding.output_dim, self.projection_units)
            )
        if self.attention is not None:
            self.network.build((None, None, self.embedded_size))
            found = (None, None, self.network.output_size)
            self.attention.build(found, found)
        self.built = True

    @property
    def embedded_size(self) -> int:
        """The size of a word without its head."""
        return self.projection_units or self.embedding.output_dim

    @property
    def output_size(self) -> int:
        """The size of a word and, with head attention, of its head."""
        return self.embedded_size * (2 if self.self_attention_maps else 1)

    @property
    def summary_size(self) -> int:
        return self.output_size

    @property
    def self_attention_maps(self) -> tuple[str, ...]:
        """The attention of the words to their heads, if there is any."""
        return () if self.attention is None else (LEVEL,)

    @property
    def gives_trees(self) -> bool:
        """Whether the heads come from trees."""
        return self.attention is not None and isinstance(self.attention.align, HeadsAlignment)

    def embed(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """Return the words without their heads: `[batch, source, embedded_size]`."""
        words = super().embed(tensors, training)
        return linear(words, self.projection) if self.projection_units else words

    def find_heads(self, words: tf.Tensor, mask: tf.Tensor, tensors: Tensors, training: bool) -> Heads | None:
        """Return the heads of the words, or None without head attention."""
        if self.attention is None:
            return None
        states = self.drop(self.network.read(words, mask=mask, training=training).outputs, training=training)
        memory = self.attention.prepare(states, mask)._replace(values=words)
        found, weights, _ = self.attention.attend(states, memory, training=training, query_mask=mask)
        trees, align = None, self.attention.align
        if isinstance(align, HeadsAlignment) and not training:
            trees = align.argmax(self.attention.logits(states, memory), mask)
        return Heads(found, weights, trees)

    def call(self, tensors: Tensors, training: bool = False) -> EncoderOutput:
        """Return one value per word."""
        mask = tf.not_equal(self.part(tensors, "ids"), 0)
        words = self.symbols_of(tensors, training)
        heads = self.find_heads(words, mask, tensors, training)
        if heads is None:
            return EncoderOutput(words, mask, masked_mean(words, mask))
        values = tf.concat([words, heads.values], axis=2)
        return EncoderOutput(values, mask, masked_mean(values, mask), {LEVEL: heads.weights}, heads.trees)

    @property
    def arguments(self) -> dict[str, Any]:
        return {**super().arguments, "head_attention": self.head_attention, "projection_units": self.projection_units}
