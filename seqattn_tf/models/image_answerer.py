"""Answers to questions about a picture, with what was looked at on the way."""

from collections.abc import Mapping

import tensorflow as tf

from seqattn_tf.lite.answer import ATTENTION
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import Label
from seqattn_tf.models.base import Model, Tensors, check_labels, only_where
from seqattn_tf.models.networks.image_answer import ImageAnswerNetwork


class ImageAnswerer(Model):
    """An answer to a question about a picture, and where each word of the question looked.

    >>> from seqattn_tf.encoder import BidirectionalEncoder, GridEncoder
    >>> from seqattn_tf.lite.fields import Image, Text
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> words = SymbolRules(("what", "colour", "is", "it"), "spaces", unknown=True)
    >>> question = BidirectionalEncoder(words.size, units=8, reads="question")
    >>> network = ImageAnswerNetwork(GridEncoder("cnn", 32, 32), question, outputs=2, units=8)
    >>> image = Image(32, 32)
    >>> model = ImageAnswerer(network, {"image": image, "question": Text(words)}, Label(("blue", "red")))
    >>> [answer] = model.answer([{"image": image.made_up(1)[0], "question": "what colour is it"}])
    >>> answer.looks["image"].rows, answer.looks["image"].weights.shape
    (('what', 'colour', 'is', 'it'), (4, 4, 4))
    """

    name_in_registry = "image_answerer"
    target: Label
    network: ImageAnswerNetwork

    def __init__(self, network: ImageAnswerNetwork, inputs: Mapping[str, Field], target: Label) -> None:
        reads = {network.encoder.reads, network.question.reads}
        if set(inputs) != reads:
            raise ValueError(f"inputs: expected {' and '.join(sorted(reads))}. Received: {list(inputs)}")
        check_labels(network.outputs_count, target)
        super().__init__(network, inputs, target)

    @property
    def looks(self) -> Mapping[str, str]:
        """Every word of the question, at the picture."""
        return {self.network.encoder.reads: self.network.question.reads} if self.network.looks else {}

    def infer(self, tensors: Tensors) -> Tensors:
        """All answers by their probability; a row without a question gets nothing."""
        logits, weights = self.network.look(tensors)
        found = {look + ATTENTION: tf.cast(weights, tf.float32) for look in self.looks}
        asked = self.network.question.places_read(tensors) > 0
        return only_where(asked, {**self.says.decide(tf.cast(logits, tf.float32)), **found})
