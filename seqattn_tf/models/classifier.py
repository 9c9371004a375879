"""Classifiers: one label for a text, a document or a tree, with the words and the lines that it was seen in."""

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.pooling import pooling
from seqattn_tf.core.linear import linear
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoder import Encoder, Read
from seqattn_tf.lite.answer import ATTENTION
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import Label
from seqattn_tf.models.base import (
    TOKENS,
    Model,
    Tensors,
    check_inputs,
    check_labels,
    looks_within,
    only_where,
    trees_within,
)
from seqattn_tf.models.reading import ReadingNetwork


@keras.saving.register_keras_serializable("seqattn_tf")
class ClassifierNetwork(ReadingNetwork):
    """The logits of labels, from all that an encoder read in one vector.

    Args:
        encoder: what reads.
        outputs: how many labels there are.
        pool: what makes one vector of its values: `"last"`, the encoder's own summary; `"average"`; `"attention"`.
        dropout: rate on that vector, in training.
        everywhere: whether a label is learned for each value by itself, the first being that of the whole: for trees
            whose nodes all have labels.

    Call arguments: a dict with the tensors that the encoder reads; returns `[batch, outputs]`, everywhere `[batch,
    places, outputs]`.

    >>> from seqattn_tf.encoder import BidirectionalEncoder
    >>> network = ClassifierNetwork(BidirectionalEncoder(30, units=8), outputs=2, pool="attention")
    >>> network({"text_ids": tf.ones([2, 5], tf.int32)}).shape.as_list()
    [2, 2]
    """

    def __init__(
        self,
        encoder: Encoder,
        outputs: int,
        pool: str = "last",
        dropout: float = 0.0,
        everywhere: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(encoder, **kwargs)
        if everywhere and pool != "last":
            raise ValueError(f"pool: expected 'last' where every value has a label. Received: {pool!r}")
        self.outputs_count, self.pool, self.everywhere = check_count("outputs", outputs), pool, everywhere
        alike = {"dtype": self.dtype_policy}
        self.drop = keras.layers.Dropout(dropout, **alike)
        self.pooling = pooling(pool, encoder.output_size, **alike)

    def build(self, input_shape: Any = None) -> None:
        """Build every part."""
        super().build()
        width = self.encoder.summary_size if self.pooling is None else self.encoder.output_size
        if self.pooling is not None and not self.pooling.built:
            self.pooling.build((None, None, width))
        self.kernel = self.add_weight(name="kernel", shape=(width, self.outputs_count))
        self.bias = self.add_weight(name="bias", shape=(self.outputs_count,), initializer="zeros")

    def _pooled(self, read: Read) -> tuple[tf.Tensor, tf.Tensor | None]:
        """What the logits come from, and the weights of the values in it."""
        if self.everywhere:
            return read.values, None
        return (read.summary, None) if self.pooling is None else self.pooling(read.values, mask=read.mask)

    def _logits(self, vector: tf.Tensor, training: bool = False) -> tf.Tensor:
        return linear(self.drop(vector, training=training), self.kernel, self.bias)

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """The logits."""
        return self._logits(self._pooled(self.encoder(tensors, training=training))[0], training)

    def look(self, tensors: Tensors) -> tuple[tf.Tensor, Tensors, tf.Tensor | None]:
        """The logits, what was looked at on the way, by level of the input or name within it, and the best trees."""
        read = self.encoder(tensors, training=False)
        vector, weights = self._pooled(read)
        looks = dict(read.looks)
        if weights is not None and self.pool == "attention":
            looks[self.encoder.level] = self.encoder.at_places(weights[:, None], tensors)
        return self._logits(vector), looks, read.trees

    @property
    def levels(self) -> list[str]:
        """The levels of the input that are looked at."""
        return [*self.encoder.looks_at, *([self.encoder.level] if self.pool == "attention" else [])]

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {
            "outputs": self.outputs_count,
            "pool": self.pool,
            "dropout": self.drop.rate,
            "everywhere": self.everywhere,
        }


class Classifier(Model):
    """One label for a text.

    With attention, the look at the text, and that at its lines where it has several, say how much each place counted;
    a tree whose nodes all have labels says instead how probable each label is at each node.

    >>> from seqattn_tf.encoder import BidirectionalEncoder
    >>> from seqattn_tf.lite.fields import Text
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> words = Text(SymbolRules(("good", "bad"), split="spaces"))
    >>> network = ClassifierNetwork(BidirectionalEncoder(words.rules.size, units=8), outputs=2, pool="attention")
    >>> [answer] = Classifier(network, {"text": words}, Label(("neg", "pos"))).answer(["good good bad"])
    >>> answer.text in ("neg", "pos"), answer.looks["text"].weights.shape
    (True, (1, 3))
    """

    name_in_registry = "classifier"
    target: Label
    network: ClassifierNetwork

    def __init__(self, network: ClassifierNetwork, inputs: Mapping[str, Field], target: Label) -> None:
        check_inputs(network.encoder.reads, inputs)
        check_labels(network.outputs_count, target)
        super().__init__(network, inputs, target)

    def _look(self, level: str) -> str:
        return f"{self.network.encoder.reads}_{level}" if level else self.network.encoder.reads

    @property
    def looks(self) -> Mapping[str, str | Sequence[str]]:
        """The label at what it was seen in; or every label at every node."""
        if self.network.everywhere:
            return {self._look(self.network.encoder.level): self.target.labels}
        return {**{self._look(level): TOKENS for level in self.network.levels}, **self.looked_at}

    @property
    def looked_at(self) -> Mapping[str, str]:
        """Within the text, the text."""
        return looks_within(self.network.encoder, self.network.encoder.reads)

    @property
    def parts(self) -> Mapping[str, tuple[str, ...]]:
        """The best tree of the text, where its words look for their heads."""
        return trees_within(self.network.encoder, self.network.encoder.reads)

    @property
    def explaining(self) -> Sequence[str]:
        """None where every node has labels: their probabilities are no weights."""
        return [] if self.network.everywhere else super().explaining

    def infer(self, tensors: Tensors) -> Tensors:
        """All labels by their probability; a row with nothing to read gets nothing."""
        logits, looks, trees = self.network.look(tensors)
        logits = tf.cast(logits, tf.float32)
        read = self.network.encoder.places_read(tensors) > 0
        found = {self._look(level) + ATTENTION: tf.cast(weights, tf.float32) for level, weights in looks.items()}
        if self.network.everywhere:
            [look] = self.looks
            found[look + ATTENTION] = tf.transpose(tf.nn.softmax(logits), [0, 2, 1])
            logits = tf.pad(logits, [[0, 0], [0, 1], [0, 0]])[:, 0]
        return only_where(read, {**self.says.decide(logits), **found, **dict.fromkeys(self.parts, trees)})
