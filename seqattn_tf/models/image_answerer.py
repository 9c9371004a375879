"""Answers to questions about a picture, with what was looked at on the way."""

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.answer import ATTENTION
from seqattn_tf.attention import Attention
from seqattn_tf.encoder import Encoder, Read
from seqattn_tf.fields import Field
from seqattn_tf.models.base import Model, Tensors, check_labels, only_where
from seqattn_tf.models.reading import ReadingNetwork
from seqattn_tf.named import check_count
from seqattn_tf.targets import Label


@keras.saving.register_keras_serializable("seqattn_tf")
class ImageAnswerNetwork(ReadingNetwork):
    """The logits of answers, from a picture and a question.

        s_0 = W q    c_k = attend(s_k-1, v)    s_k = relu(W_k [s_k-1; c_k])
        y = H [s_K; mean_j relu(A v_j + B q)]

    Without looks, `[CNN(I); RNN(q)]`: the mean of the map beside the question.

    Args:
        encoder: what reads the picture.
        question: what reads the question.
        outputs: how many answers there are.
        looks: `K`, how many looks at the picture, each asking with what the last one found; 0 for none.
        units: width of all between.
        dropout: rate before the answer, in training.

    Call arguments: a dict with the tensors that both encoders read; returns `[batch, outputs]`.

    >>> from seqattn_tf.encoder import BidirectionalEncoder, GridEncoder
    >>> question = BidirectionalEncoder(30, units=8, reads="question")
    >>> network = ImageAnswerNetwork(GridEncoder("cnn", 32, 32), question, outputs=4, looks=2, units=8)
    >>> network({"image_pixels": tf.zeros([1, 32, 32, 3]), "question_ids": tf.constant([[5, 6]])}).shape.as_list()
    [1, 4]
    """

    def __init__(
        self,
        encoder: Encoder,
        question: Encoder,
        outputs: int,
        looks: int = 2,
        units: int = 128,
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(encoder, **kwargs)
        if looks < 0:
            raise ValueError(f"looks: expected at least 0. Received: {looks}")
        self.question, self.outputs_count, self.units = question, check_count("outputs", outputs), units
        alike = {"dtype": self.dtype_policy}
        self.attentions = [Attention("additive", "softmax", units=units, **alike) for _ in range(looks)]
        self.ask = keras.layers.Dense(units, **alike)
        self.found = [keras.layers.Dense(units, "relu", **alike) for _ in range(looks)]
        self.seen, self.sought = (keras.layers.Dense(units, use_bias=bias, **alike) for bias in (True, False))
        self.hidden, self.decide = keras.layers.Dense(units, "relu", **alike), keras.layers.Dense(outputs, **alike)
        self.drop = keras.layers.Dropout(dropout, **alike)

    def build(self, input_shape: Any = None) -> None:
        """Build every part."""
        super().build()
        if not self.question.built:
            self.question.build()
        cells, asked, units = self.encoder.output_size, self.question.summary_size, self.units
        shapes = [(self.ask, asked), (self.seen, cells), (self.sought, asked), (self.hidden, 2 * units)]
        shapes += [(layer, units + cells) for layer in self.found]
        for layer, size in [*shapes, (self.decide, units)]:
            if not layer.built:
                layer.build((None, size))
        for attention in self.attentions:
            if not attention.built:
                attention.build((None, units), (None, None, cells))

    @property
    def pictures(self) -> Any:
        """What reads pictures."""
        return self.encoder

    def _find(self, read: Read, asked: tf.Tensor, training: bool) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """The logits, and the weights `[batch, places]` of each look."""
        state, weights = self.ask(asked), []
        for attention, found in zip(self.attentions, self.found, strict=True):
            seen, looked, _ = attention.attend(state, attention.prepare(read.values, read.mask), training=training)
            state = found(tf.concat([state, seen], axis=-1))
            weights.append(looked)
        fitting = tf.nn.relu(self.seen(read.values) + self.sought(asked)[:, None])
        both = tf.concat([state, tf.reduce_mean(fitting, axis=1)], axis=-1)
        return self.decide(self.drop(self.hidden(both), training=training)), weights

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """The logits."""
        asked = self.question(tensors, training=training).summary
        return self._find(self.encoder(tensors, training=training), asked, training)[0]

    def look(self, tensors: Tensors) -> tuple[tf.Tensor, tf.Tensor | None]:
        """The logits, and all looks as of the places of the picture."""
        asked = self.question(tensors, training=False).summary
        logits, weights = self._find(self.encoder(tensors, training=False), asked, False)
        return logits, self.encoder.at_places(tf.stack(weights, axis=1), tensors) if weights else None

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {
            "question": keras.saving.serialize_keras_object(self.question),
            "outputs": self.outputs_count,
            "looks": len(self.attentions),
            "units": self.units,
            "dropout": self.drop.rate,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> "ImageAnswerNetwork":
        """Rebuild, both encoders included."""
        parts = {name: keras.saving.deserialize_keras_object(config[name]) for name in ("encoder", "question")}
        return cls(**{**config, **parts})


class ImageAnswerer(Model):
    """An answer to a question about a picture, and where each look at the picture was.

    >>> from seqattn_tf.encoder import BidirectionalEncoder, GridEncoder
    >>> from seqattn_tf.fields import Image, Text
    >>> from seqattn_tf.text import SymbolRules
    >>> words = SymbolRules(("what", "colour", "is", "it"), "spaces", unknown=True)
    >>> question = BidirectionalEncoder(words.size, units=8, reads="question")
    >>> network = ImageAnswerNetwork(GridEncoder("cnn", 32, 32), question, outputs=2, looks=2, units=8)
    >>> image = Image(32, 32)
    >>> model = ImageAnswerer(network, {"image": image, "question": Text(words)}, Label(("blue", "red")))
    >>> [answer] = model.answer([{"image": image.made_up(1)[0], "question": "what colour is it"}])
    >>> answer.looks["image"].rows, answer.looks["image"].weights.shape
    (('look 1', 'look 2'), (2, 4, 4))
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
    def looks(self) -> Mapping[str, Sequence[str]]:
        """Each look at the picture."""
        count = len(self.network.attentions)
        return {self.network.encoder.reads: [f"look {k + 1}" for k in range(count)]} if count else {}

    def infer(self, tensors: Tensors) -> Tensors:
        """All answers by their probability; a row without a question gets nothing."""
        logits, weights = self.network.look(tensors)
        found = {look + ATTENTION: tf.cast(weights, tf.float32) for look in self.looks}
        asked = self.network.question.places_read(tensors) > 0
        return only_where(asked, {**self.says.decide(tf.cast(logits, tf.float32)), **found})
