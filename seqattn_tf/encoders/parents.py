"""Words joined with the parents that a parser assigns: the baseline for soft heads."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.encoders.base import Tensors
from seqattn_tf.encoders.heads import LEVEL, Heads, HeadsEncoder
from seqattn_tf.structured import ProjectiveTree


@keras.saving.register_keras_serializable("seqattn_tf")
class ParentsEncoder(HeadsEncoder):
    """An encoder of ids `[batch, source]` that joins each word with its parent from a parser; the root gets zeros.

    The parser is not trained with the rest of the model; it is saved with the encoder.

    Args:
        vocabulary: The number of ids.
        parser: The network of a `Parser`, whose projective tree is used.
        **arguments: The arguments of a `HeadsEncoder` except `head_attention`.

    >>> from seqattn_tf.encoders import WordEncoder
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
    field_type = "parsed_words"
    self_attention_maps = (LEVEL,)
    gives_trees = True

    def __init__(self, vocabulary: int, parser: keras.Model, **arguments: Any) -> None:
        super().__init__(vocabulary, head_attention="none", **arguments)
        self.parser = parser
        for layer in parser._flatten_layers():  # set on each layer, because a loaded model does not propagate it
            layer.trainable = False

    def build(self, input_shape: Any = None) -> None:
        if not self.parser.built:
            self.parser.build()
        super().build(input_shape)

    def find_heads(self, words: tf.Tensor, mask: tf.Tensor, tensors: Tensors, training: bool) -> Heads:
        """Return the parent of each word in the parser's tree."""
        trees = self.parse(tensors)
        weights = tf.one_hot(trees - 1, tf.shape(words)[1], dtype=words.dtype)  # the root gets zeros
        return Heads(tf.matmul(weights, words), weights, trees)

    def parse(self, tensors: Tensors) -> tf.Tensor:
        """Return the parent of each word as predicted by the parser: `int32 [batch, words]`.

        Positions count from 1; the root and padding get 0.
        """
        reads = self.parser.encoder.input_name
        read = {f"{reads}_ids": self.part(tensors, "parsed_ids"), f"{reads}_letters": self.part(tensors, "letters")}
        found = self.parser(read, training=False)
        marginals = ProjectiveTree(found["arcs"], found["lengths"]).marginals
        labelled = marginals * tf.exp(tf.reduce_max(found["relations"], axis=-1))  # the criterion of `GraphTree`
        return ProjectiveTree(labelled, found["lengths"]).argmax

    @property
    def arguments(self) -> dict[str, Any]:
        own = {name: value for name, value in super().arguments.items() if name != "head_attention"}
        return {**own, "parser": keras.saving.serialize_keras_object(self.parser)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "ParentsEncoder":
        return cls(**{**config, "parser": keras.saving.deserialize_keras_object(config["parser"])})
