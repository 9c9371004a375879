"""Models that answer questions about an image, with attention maps over the image."""

from collections.abc import Mapping

import tensorflow as tf

from seqattn_tf.lite.answer import ATTENTION
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import Label
from seqattn_tf.models.base import Model, Tensors, check_labels, only_where
from seqattn_tf.models.networks.image_answer import ImageAnswerNetwork


class ImageAnswerer(Model):
    """A model that answers a question about an image, with an attention map for each word of the question.

    >>> from seqattn_tf.encoders import BidirectionalEncoder, GridEncoder
    >>> from seqattn_tf.lite.fields import Image, Text
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> words = SymbolRules(("what", "colour", "is", "it"), "spaces", unknown=True)
    >>> question = BidirectionalEncoder(words.size, units=8, input_name="question")
    >>> network = ImageAnswerNetwork(GridEncoder("cnn", 32, 32), question, outputs=2, units=8)
    >>> image = Image(32, 32)
    >>> model = ImageAnswerer(network, {"image": image, "question": Text(words)}, Label(("blue", "red")))
    >>> [answer] = model.answer([{"image": image.sample_inputs(1)[0], "question": "what colour is it"}])
    >>> answer.attention["image"].queries, answer.attention["image"].weights.shape
    (('what', 'colour', 'is', 'it'), (4, 4, 4))
    """

    name_in_registry = "image_answerer"
    target: Label
    network: ImageAnswerNetwork

    def __init__(self, network: ImageAnswerNetwork, inputs: Mapping[str, Field], target: Label) -> None:
        reads = {network.encoder.input_name, network.question.input_name}
        if set(inputs) != reads:
            raise ValueError(f"inputs: expected {' and '.join(sorted(reads))}. Received: {list(inputs)}")
        check_labels(network.outputs_count, target)
        super().__init__(network, inputs, target)

    @property
    def attention_maps(self) -> Mapping[str, str]:
        """The attention from each word of the question to the image."""
        return {self.network.encoder.input_name: self.network.question.input_name} if self.network.use_attention else {}

    def infer(self, tensors: Tensors) -> Tensors:
        """Rank all answers by their probability; a row without a question gets an empty answer."""
        logits, weights = self.network.look(tensors)
        found = {look + ATTENTION: tf.cast(weights, tf.float32) for look in self.attention_maps}
        asked = self.network.question.input_lengths(tensors) > 0
        return only_where(asked, {**self.graph_target.decode(tf.cast(logits, tf.float32)), **found})
