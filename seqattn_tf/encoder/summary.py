"""A summary in place of all that was read: what encoder-decoders saw before there was attention."""

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.encoder.base import Encoder, Read, Tensors


@keras.saving.register_keras_serializable("seqattn_tf")
class SummaryEncoder(Encoder):
    """The summary of another encoder, in the decoder's first state, and at every step as the one place to look at.

    Args:
        encoder: what reads.
        every_step: whether the summary is seen at every step; else there is nothing to look at.
        dropout: rate on what is seen at every step, in training.

    >>> from seqattn_tf.encoder import BidirectionalEncoder
    >>> encoder = SummaryEncoder(BidirectionalEncoder(30, units=8))
    >>> encoder({"text_ids": tf.ones([2, 5], tf.int32)}).values.shape.as_list()
    [2, 1, 16]
    """

    looked_at = one_each = False

    def __init__(self, encoder: Encoder, every_step: bool = True, dropout: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "reads": encoder.reads})
        self.encoder, self.every_step = encoder, every_step
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, input_shape: Any = None) -> None:
        """Build what reads."""
        if not self.encoder.built:
            self.encoder.build()
        self.built = True

    @property
    def output_size(self) -> int:
        """Of the summary."""
        return self.encoder.summary_size

    @property
    def summary_size(self) -> int:
        """Of the summary."""
        return self.encoder.summary_size

    def call(self, tensors: Tensors, training: bool = False) -> Read:
        """One place."""
        read = self.encoder(tensors, training=training)
        mask = tf.reduce_any(read.mask, axis=1, keepdims=True) & self.every_step
        return Read(self.drop(read.summary[:, None], training=training), mask, read.summary)

    def places_read(self, tensors: Tensors) -> tf.Tensor:
        """Of what reads."""
        return self.encoder.places_read(tensors)

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments."""
        encoder = keras.saving.serialize_keras_object(self.encoder)
        return {"encoder": encoder, "every_step": self.every_step, "dropout": self.drop.rate}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "SummaryEncoder":
        """Rebuild, what reads included."""
        return cls(**{**config, "encoder": keras.saving.deserialize_keras_object(config["encoder"])})


CONTEXTS: dict[str, Callable[..., Encoder]] = {  # what a decoder sees of the source, by `(encoder, dropout)`
    "attention": lambda encoder, dropout: encoder,
    "input": lambda encoder, dropout: SummaryEncoder(encoder, True, dropout),
    "state": lambda encoder, dropout: SummaryEncoder(encoder, False),
}
