"""The network of classifiers: the encodings of words, lines or nodes, pooled into logits."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.pooling import pooling
from seqattn_tf.core.linear import linear
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoders import Encoder, EncoderOutput
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.models.networks.base import ReadingNetwork


@keras.saving.register_keras_serializable("seqattn_tf")
class ClassifierNetwork(ReadingNetwork):
    """A network that computes the logits of labels from the outputs of an encoder, pooled into one vector.

    Args:
        encoder: The encoder.
        outputs: The number of labels.
        pool: How the values are pooled: `"last"`, by the encoder's own summary; `"average"`; `"attention"`.
        dropout: The dropout rate of the pooled vector in training.
        everywhere: Whether a label is predicted for each value, the first being that of the whole: for trees whose
            nodes all have labels.

    Call arguments: a dict with the tensors that the encoder reads; returns `[batch, outputs]`, or
    `[batch, positions, outputs]` if `everywhere`.

    >>> from seqattn_tf.encoders import BidirectionalEncoder
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
            raise ValueError(f"pool: expected 'last' for a network that labels every position. Received: {pool!r}")
        self.outputs_count, self.pool, self.everywhere = check_count("outputs", outputs), pool, everywhere
        alike = {"dtype": self.dtype_policy}
        self.drop = keras.layers.Dropout(dropout, **alike)
        self.pooling = pooling(pool, encoder.output_size, **alike)

    def build(self, input_shape: Any = None) -> None:
        super().build()
        width = self.encoder.summary_size if self.pooling is None else self.encoder.output_size
        if self.pooling is not None and not self.pooling.built:
            self.pooling.build((None, None, width))
        self.kernel = self.add_weight(name="kernel", shape=(width, self.outputs_count))
        self.bias = self.add_weight(name="bias", shape=(self.outputs_count,), initializer="zeros")

    def _pooled(self, read: EncoderOutput) -> tuple[tf.Tensor, tf.Tensor | None]:
        """Return the input of the output layer, and the weights of the values in it."""
        if self.everywhere:
            return read.values, None
        return (read.summary, None) if self.pooling is None else self.pooling(read.values, mask=read.mask)

    def _logits(self, vector: tf.Tensor, training: bool = False) -> tf.Tensor:
        return linear(self.drop(vector, training=training), self.kernel, self.bias)

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        return self._logits(self._pooled(self.encoder(tensors, training=training))[0], training)

    def look(self, tensors: Tensors) -> tuple[tf.Tensor, Tensors, tf.Tensor | None]:
        """Return the logits, the attention weights by level of the input or map within it, and the best trees."""
        read = self.encoder(tensors, training=False)
        vector, weights = self._pooled(read)
        looks = dict(read.attention)
        if weights is not None and self.pool == "attention":
            looks[self.encoder.level] = self.encoder.to_positions(weights[:, None], tensors)
        return self._logits(vector), looks, read.trees

    @property
    def levels(self) -> list[str]:
        """The levels of the input that have attention weights."""
        return [*self.encoder.attention_levels, *([self.encoder.level] if self.pool == "attention" else [])]

    @property
    def arguments(self) -> dict[str, Any]:
        return {
            "outputs": self.outputs_count,
            "pool": self.pool,
            "dropout": self.drop.rate,
            "everywhere": self.everywhere,
        }
