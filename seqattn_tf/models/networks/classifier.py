"""The network of classifiers: words, lines or nodes are read and pooled."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.pooling import pooling
from seqattn_tf.core.linear import linear
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoder import Encoder, Read
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.models.networks.base import ReadingNetwork


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
