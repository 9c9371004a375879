"""Words joined with the parent that a parser gives each: what soft heads are held against."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.encoder.base import Tensors
from seqattn_tf.encoder.heads import LEVEL, Heads, HeadsEncoder
from seqattn_tf.structured import ProjectiveTree


@keras.saving.register_keras_serializable("seqattn_tf")
class ParentsEncoder(HeadsEncoder):
    """Reads ids `[batch, source]` and what a parser reads; a value is a word beside its parent, the root's being zero.

    The parser does not learn with the rest: it travels with the encoder as it is.

    Args:
        vocabulary: number of ids.
        parser: the network of a `Parser`, whose projective tree is taken.
        **arguments: of a `HeadsEncoder`, but for `heads`.

    >>> from seqattn_tf.encoder import WordEncoder
    >>> from seqattn_tf.models import ParserNetwork
    >>> parser = ParserNetwork(WordEncoder(20, letters=9, units=4, embedding=4), relations=2)
    >>> encoder = ParentsEncoder(30, parser, embedding=4)
    >>> ids = tf.ones([2, 5], tf.int32)
    >>> letters = tf.ones([2, 5, 6], tf.int32)
    >>> read = encoder({"text_ids": ids, "text_parsed_ids": ids, "text_letters": letters})
    >>> read.values.shape.as_list(), read.trees.shape.as_list(), len(encoder.trainable_variables)
    ([2, 5, 8], [2, 5], 1)
    """

    name_in_registry = "parents"
    takes = "parsed_words"
    looks_within = (LEVEL,)
    finds_trees = True

    def __init__(self, vocabulary: int, parser: keras.Model, **arguments: Any) -> None:
        super().__init__(vocabulary, heads="none", **arguments)
        self.parser = parser
        for layer in parser._flatten_layers():  # each: a model that was loaded tells its layers nothing
            layer.trainable = False

    def build(self, input_shape: Any = None) -> None:
        """Build every part; the shapes follow from the arguments."""
        if not self.parser.built:
            self.parser.build()
        super().build(input_shape)

    def find_heads(self, words: tf.Tensor, mask: tf.Tensor, tensors: Tensors, training: bool) -> Heads:
        """The parent of each word in the parser's tree."""
        trees = self.parse(tensors)
        weights = tf.one_hot(trees - 1, tf.shape(words)[1], dtype=words.dtype)  # of the root none
        return Heads(tf.matmul(weights, words), weights, trees)

    def parse(self, tensors: Tensors) -> tf.Tensor:
        """The parent of each word in the parser's answer: `int32 [batch, words]` from 1, 0 for the root and no word."""
        reads = self.parser.encoder.reads
        read = {f"{reads}_ids": self.part(tensors, "parsed_ids"), f"{reads}_letters": self.part(tensors, "letters")}
        found = self.parser(read, training=False)
        marginals = ProjectiveTree(found["arcs"], found["lengths"]).marginals
        labelled = marginals * tf.exp(tf.reduce_max(found["relations"], axis=-1))  # as `GraphTree` decides
        return ProjectiveTree(labelled, found["lengths"]).argmax

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments."""
        own = {name: value for name, value in super().arguments.items() if name != "heads"}
        return {**own, "parser": keras.saving.serialize_keras_object(self.parser)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "ParentsEncoder":
        """Rebuild, the parser included."""
        return cls(**{**config, "parser": keras.saving.deserialize_keras_object(config["parser"])})
